// SPDX-License-Identifier: Apache-2.0
//! Generates the interface from its AIDL.
use std::path::PathBuf;

fn main() {
    let generated = rsbinder_aidl::Builder::new()
        .source(PathBuf::from("../aidl/example/IBoard.aidl"))
        .output(PathBuf::from("board_aidl.rs"))
        .generate();
    if let Err(err) = generated {
        eprintln!("IBoard.aidl: {err:?}");
        std::process::exit(1);
    }
}
