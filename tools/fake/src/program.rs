// SPDX-License-Identifier: Apache-2.0
//! A process with fakes: everything is read and written as parcels first, then the names are
//! registered, then calls are served until the process is ended.
use crate::answers_file::{collect, Script};
use crate::bus::Bus;
use crate::journal::{Journal, Outputs};
use crate::json_lines::Controlled;
use crate::methods::Interface;
use crate::prepared::Behaviour;
use crate::recording::answer_from;
use crate::serve::{lock, Fake};
use anybinder_cli::error::{Error, Result};
use anybinder_client::device::no_device;
use anybinder_driver::driver::Driver;
use anybinder_mount::mount::Mount;
use anybinder_parcel::aidl::Library;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

pub struct Options<'a> {
    pub mount: &'a Mount,
    pub device: &'a str,
    pub outputs: Outputs,
    /// A recording that the first service answers by, where nothing else is said.
    pub from: Option<&'a Path>,
    /// Another program says what is done (`control`).
    pub is_controlled: bool,
    /// The most threads that take calls.
    pub threads: usize,
}

/// Serves until the process ends, or until standard input does.
pub fn run(options: Options, library: Library, script: &Script) -> Result<ExitCode> {
    let (mount, device) = (options.mount, options.device);
    let services = &script.services;
    let names: Vec<String> = services.iter().map(|one| one.name.clone()).collect();
    let behaviours = services.iter().map(|one| {
        let interface = Interface::of_service(&library, &one.name, one.interface.as_deref())?;
        Ok(Arc::new(Behaviour::new(interface, options.is_controlled)))
    });
    let behaviours = behaviours.collect::<Result<Vec<_>>>()?;
    let bus = Bus::open(mount, device, &names)?;
    let driver = Driver::open(&mount.file(device));
    let mut driver = driver.map_err(|err| no_device(mount, device, &err.to_string()))?;
    if let (Some(path), Some(name), Some(behaviour)) =
        (options.from, names.first(), behaviours.first())
    {
        answer_from(path, name, &library, behaviour)?;
    }
    let library = Arc::new(Mutex::new(library));
    let journal = Journal::start(library.clone(), options.outputs);
    let fake = Arc::new(Fake::new(bus, library, journal, options.threads));
    collect(
        script,
        (&fake, &lock(&fake.library), &mut driver),
        &behaviours,
    )?
    .set();
    let objects = services.iter().zip(&behaviours);
    let numbers: Vec<usize> = objects
        .map(|(one, behaviour)| fake.bus.add_object(Some(&one.name), behaviour))
        .collect();
    for number in numbers {
        fake.bus
            .register(&mut driver, number, &mut |driver, event| {
                fake.event(driver, event)
            })?;
    }
    fake.journal.line(
        format!("serving {}", names.join(", ")),
        json!({ "serving": names }),
    );
    fake.start(&driver)?;
    if !options.is_controlled {
        loop {
            std::thread::park();
        }
    }
    let why = Controlled::run(&fake, &driver, behaviours.first().cloned());
    fake.journal.flush();
    match why {
        None => Ok(ExitCode::SUCCESS),
        Some(why) => Err(Error::new(format!("It ends, since {why}."))),
    }
}
