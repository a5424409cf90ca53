// SPDX-License-Identifier: Apache-2.0
//! `anybinder fake NAME METHOD=ANSWER...`: a service that answers as told, by its .aidl files.
use crate::command::services::interface_files::open;
use anybinder_cli::error::{Error, Result};
use anybinder_client::device::DeviceOption;
use anybinder_fake::answers_file::{collect, Script};
use anybinder_fake::bus::Bus;
use anybinder_fake::journal::Journal;
use anybinder_fake::json_lines::Controlled;
use anybinder_fake::prepared::Behaviour;
use anybinder_fake::recording::answer_from;
use anybinder_fake::serve::Fake;
use anybinder_fake::{answer_text, lock};
use anybinder_mount::context::Context;
use anybinder_parcel::aidl::{Library, Roots};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

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
    serve(context, arguments, library, &script, is_controlled)
}

/// Everything is read and written as parcels first, then the names are registered, then calls are
/// served until the process ends, or standard input does if a program says what is done.
fn serve(
    context: &Context,
    arguments: &Arguments,
    library: Library,
    script: &Script,
    is_controlled: bool,
) -> Result<ExitCode> {
    let services = &script.services;
    let names: Vec<String> = services.iter().map(|one| one.name.clone()).collect();
    let behaviours = services
        .iter()
        .map(|one| Ok(Behaviour::new(one.interface(&library)?, is_controlled)));
    let behaviours = behaviours.collect::<Result<Vec<_>>>()?;
    let bus = Bus::open(&context.mount, &arguments.device.device, &names)?;
    let mut driver = bus.manager.open()?;
    if let (Some(path), [name, ..], [first, ..]) = (&arguments.from, &names[..], &behaviours[..]) {
        answer_from(path, name, &library, first)?;
    }
    let library = Arc::new(Mutex::new(library));
    let journal = Journal::start(&library, context.json, arguments.log.as_deref())?;
    let fake = Arc::new(Fake::new(bus, library, journal));
    let read = collect(
        script,
        (&fake, &lock(&fake.library), &mut driver),
        &behaviours,
    )?;
    read.set();
    let objects = names.iter().zip(&behaviours);
    let numbers: Vec<usize> = objects
        .map(|(name, behaviour)| fake.bus.add_object(Some(name), behaviour))
        .collect();
    for number in numbers {
        fake.register(&mut driver, number)?;
    }
    fake.journal.line(
        format!("serving {}", names.join(", ")),
        json!({ "serving": names }),
    );
    fake.start(&driver, arguments.threads.into())?;
    // This thread takes no calls, so it is none of those that the driver knows.
    let readers = driver.for_another_thread();
    driver.leave();
    if !is_controlled {
        loop {
            std::thread::park();
        }
    }
    let why = Controlled::run(&fake, &readers, behaviours.first().cloned());
    fake.journal.flush();
    match why {
        None => Ok(ExitCode::SUCCESS),
        Some(why) => Err(Error::new(format!("It ends, since {why}."))),
    }
}
