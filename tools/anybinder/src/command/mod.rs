// SPDX-License-Identifier: Apache-2.0
//! One file for each command of the command line.
pub mod call;
pub mod container;
pub mod demo;
pub mod demo_client;
pub mod doctor;
pub mod down;
pub mod generate;
pub mod list;
pub mod manager_check;
pub mod ping;
pub mod ps;
pub mod run;
pub mod servicemanager;
pub mod status;
pub mod up;
