// SPDX-License-Identifier: Apache-2.0
//! `anybinder cmd`: what `shell` does.
use super::{not_found, print_names, Asked};
use crate::command::services::arguments::Arguments as Words;
use crate::command::services::shell;
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_mount::context::Context;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    asked: Asked,
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let asked = &arguments.asked;
    if asked.list {
        return print_names(context, &asked.device.device).map(|_| ExitCode::SUCCESS);
    }
    let Some((name, words)) = asked.words.split_first() else {
        let advice = "Use -l to list all services.";
        return Err(Error::with_advice("No service is named.", advice).of(Kind::Usage));
    };
    let words = Words {
        name: name.clone(),
        device: asked.device.clone(),
        most: asked.most,
        arguments: words.to_vec(),
    };
    shell::run(context, &words).map_err(|error| not_found(error, name))
}
