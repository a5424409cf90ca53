// SPDX-License-Identifier: Apache-2.0
//! `anybinder ping NAME`: whether a service answers, and how long the smallest call takes.
use anybinder_client::device::{self, DeviceOption};
use anybinder_client::place::Place;
use anybinder_mount::context::Context;
use anybinder_mount::error::Result;
use anybinder_mount::harmless::say;
use anybinder_rpc::relay::descriptor_of;
use serde::Serialize;
use std::process::ExitCode;
use std::time::Instant;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The service's name
    name: String,

    /// How many calls to make
    #[arg(long, value_name = "COUNT", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,

    #[command(flatten)]
    device: DeviceOption,
}

#[derive(Serialize)]
struct Answer {
    name: String,
    descriptor: String,
    #[serde(flatten)]
    place: Place,
    round_trip_us: Vec<f64>,
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let name = &arguments.name;
    let service = device::find(&context.mount, &arguments.device.device, name)?;
    let mut answer = Answer {
        name: name.clone(),
        descriptor: descriptor_of(&service)
            .map_err(|err| device::call_error(&format!("{name} does not answer"), err))?,
        place: Place::of_service(name),
        round_trip_us: Vec::new(),
    };
    for _ in 0..arguments.count {
        let start = Instant::now();
        service
            .ping_binder()
            .map_err(|err| device::call_error(&format!("{name} does not answer"), err))?;
        answer
            .round_trip_us
            .push(start.elapsed().as_nanos() as f64 / 1000.0);
    }
    context.show(&answer, |answer| {
        for took_us in &answer.round_trip_us {
            say(format_args!(
                "{} ({}) answers in {took_us:.1} us{}",
                answer.name,
                answer.descriptor,
                answer.place.suffix()
            ));
        }
    });
    Ok(ExitCode::SUCCESS)
}
