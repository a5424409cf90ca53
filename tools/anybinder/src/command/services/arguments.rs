// SPDX-License-Identifier: Apache-2.0
//! A service, and words for it that only the service understands.
use anybinder_client::device::DeviceOption;
use anybinder_client::stream::MostOutput;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The service's name
    pub name: String,

    #[command(flatten)]
    pub device: DeviceOption,

    #[command(flatten)]
    pub most: MostOutput,

    /// Arguments for the service
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    pub arguments: Vec<String>,
}
