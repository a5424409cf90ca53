// SPDX-License-Identifier: Apache-2.0
//! `anybinder fake NAME METHOD=ANSWER...`: a service that answers as told, by its .aidl files.
use crate::command::services::interface_files::open;
use anybinder_cli::error::{Error, Result};
use anybinder_client::device::DeviceOption;
use anybinder_fake::answer_text;
use anybinder_fake::answers_file::Script;
use anybinder_fake::journal::Outputs;
use anybinder_fake::program::{self, Options};
use anybinder_mount::context::Context;
use anybinder_parcel::aidl::Roots;
use std::path::PathBuf;
use std::process::ExitCode;

/// Among the answers: the program on standard input is asked for others.
const CONTROL: &str = "-";

#[derive(Debug, clap::Args)]
#[command(after_help = answer_text::HELP)]
pub struct Arguments {
    /// The name to register; further ones come from --answers
    name: Option<String>,

    /// METHOD=ANSWER. With `--json -` a program answers all other calls by lines of JSON on
    /// standard input
    #[arg(value_name = "METHOD=ANSWER")]
    answers: Vec<String>,

    #[command(flatten)]
    aidl: Roots,

    /// The interface of NAME, if the name does not begin with it and there are several
    #[arg(long, value_name = "NAME", requires = "name")]
    interface: Option<String>,

    /// Lines of METHOD = ANSWER, and [NAME INTERFACE] before those of another service
    #[arg(long = "answers", id = "file", value_name = "FILE")]
    file: Option<PathBuf>,

    /// Answer as NAME did in a recording of `anybinder trace --record FILE --payload=all`
    #[arg(long, value_name = "RECORDING", requires = "name")]
    from: Option<PathBuf>,

    /// Add each call that comes to this file, as a line of JSON
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,

    /// How many threads take calls at most: calls that find none wait
    #[arg(long, value_name = "COUNT", default_value_t = 64,
        value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,

    #[command(flatten)]
    device: DeviceOption,
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    if arguments.aidl.paths.is_empty() {
        return Err(Error::usage(
            "Give --aidl the directory with the .aidl files.",
        ));
    }
    let library = open(&arguments.aidl)?;
    let mut script = Script::default();
    let words = arguments.name.iter().chain(&arguments.answers).cloned();
    let (control, mut words): (Vec<String>, Vec<String>) = words.partition(|word| word == CONTROL);
    let is_controlled = !control.is_empty();
    if is_controlled && !context.json {
        return Err(Error::usage(
            "A program is asked by lines of JSON: --json -.",
        ));
    }
    if !words.is_empty() {
        let name = words.remove(0);
        let service = script.service(&name, arguments.interface.as_deref());
        script.add(service, &words);
    }
    if let Some(path) = &arguments.file {
        script.read(path)?;
    }
    if script.services.is_empty() && !is_controlled {
        return Err(Error::usage(
            "Say which name to register, or give --answers.",
        ));
    }
    let options = Options {
        mount: &context.mount,
        device: &arguments.device.device,
        outputs: Outputs::new(context.json, arguments.log.as_deref())?,
        from: arguments.from.as_deref(),
        is_controlled,
        threads: arguments.threads.into(),
    };
    program::run(options, library, &script)
}
