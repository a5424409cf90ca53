// SPDX-License-Identifier: Apache-2.0
//! What `anybinder call` is asked for, and the call that is made of it.
use super::callback::{self, Calls};
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::time_limit::seconds;
use anybinder_client::device::{self, DeviceOption};
use anybinder_client::raw::{is_rpc, Reply, Request};
use anybinder_driver::level::Level;
use anybinder_driver::parcel::Speaker;
use anybinder_mount::context::Context;
use anybinder_parcel::aidl::Roots;
use anybinder_parcel::encode::{Format, Parcel};
use anybinder_parcel::status::Exception;
use anybinder_rpc::dialect::registrant;
use anybinder_rpc::relay::descriptor_of;
use anybinder_rpc::status_text::explain;
use rsbinder::{SIBinder, StatusCode};
use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "\
Without --aidl, arguments are TYPE VALUE pairs:
  i8 i16 i32 i64 u8 u16 u32 u64 N   f32 f64 N   bool true|false
  s16 TEXT (the strings of AIDL)   s8 TEXT   bytes HEX|@FILE
  array of TYPE A,B,...|JSON|@FILE   handle of SERVICE   file PATH   raw-file PATH
  null (a binder)   null-s16

With --aidl, an argument is a value of its type: a number, a text, the name of an enumerator, the
path of a file, the name of a service for a binder, null, and JSON for arrays, parcelables and
unions, or @FILE with these (@-: standard input); byte arrays are hex:00ff, or what is in @FILE. For
a binder, `new` is an object that prints the calls that it gets and answers with zeros and empty
values: of the interface of the argument, or of another one with `new INTERFACE`.";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Arguments {
    /// The service's name
    pub name: String,

    /// The method: its name with --aidl, or of `manager`; else its transaction code, decimal, as
    /// 0x... or as one of PING, INTERFACE, DUMP, ... (1 is the first method of an AIDL interface)
    #[arg(value_name = "METHOD")]
    pub method: String,

    #[command(flatten)]
    pub aidl: Roots,

    /// The interface in the .aidl files, if it is not the one that the service names; without
    /// --aidl, of a one-way call: the interface of the service, which is then not asked for it
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,

    /// Android API level of the service, if it is not the one by which it was registered: 28 is
    /// what libgbinder speaks where its gbinder.conf names none
    #[arg(long, value_name = "LEVEL")]
    level: Option<Level>,

    /// The types of the reply, e.g. status,i32,array of s16 (status: the exception of AIDL)
    #[arg(long, value_name = "TYPES", conflicts_with = "aidl")]
    pub reply: Option<String>,

    /// Do not wait for a reply. The service is still asked for its interface first, but with
    /// --interface and without --aidl it is not: it may be stopped
    #[arg(long)]
    pub oneway: bool,

    /// Send no interface header before the arguments
    #[arg(long, conflicts_with = "aidl")]
    pub no_header: bool,

    /// Write the contents of a file that the service returns there, of further ones to PATH.2 and
    /// so on; `-`: print them, and nothing else
    #[arg(long, value_name = "PATH")]
    pub save: Option<PathBuf>,

    /// Stay for so long after the reply, for calls of `new` objects
    #[arg(long, value_name = "SECONDS", requires = "aidl", value_parser = seconds)]
    pub listen: Option<Duration>,

    #[command(flatten)]
    pub device: DeviceOption,

    /// The arguments; after `--` if a text begins with a hyphen
    #[arg(allow_negative_numbers = true, value_name = "ARGUMENT")]
    pub arguments: Vec<String>,
}

impl Arguments {
    /// A call by code of a service on a device, with words of types and values.
    pub fn of(name: &str, code: u32, device: &DeviceOption, words: Vec<String>) -> Arguments {
        Arguments {
            name: name.to_string(),
            method: code.to_string(),
            aidl: Roots::default(),
            interface: None,
            level: None,
            reply: None,
            oneway: false,
            no_header: false,
            save: None,
            listen: None,
            device: device.clone(),
            arguments: words,
        }
    }

    /// How the service reads calls: as is `told`, but for a level that the command line says.
    pub fn speaker(&self, told: Speaker) -> Speaker {
        Speaker {
            level: self.level.unwrap_or(told.level),
            ..told
        }
    }

    /// How a service that was looked up reads calls, and how its parcels are written. Fails for a
    /// service over a socket, which has no level.
    pub fn format(&self, service: &SIBinder) -> Result<(Speaker, Format)> {
        let speaker = self.speaker(device::speaker_of(&self.name));
        match (is_rpc(service), self.level) {
            (true, Some(_)) => Err(Error::usage(format!(
                "Only an accessor leads to {}, and calls over sockets have no level: leave --level \
                 out.",
                self.name
            ))),
            (true, None) => Ok((speaker, Format::Rpc)),
            (false, _) => Ok((speaker, Format::Driver(speaker.level))),
        }
    }
}

/// What stands before the interface of an object that is made for the call.
pub const NEW: &str = "new ";

/// A call whose arguments are written.
pub struct Call {
    pub service: SIBinder,
    /// How the service reads it.
    pub speaker: Speaker,
    pub code: u32,
    pub flags: u32,
    pub parcel: Parcel,
    pub has_header: bool,
    pub objects: Vec<ObjectArgument>,
    /// Where the calls of new objects go that are not to be printed.
    pub calls: Option<Calls>,
}

/// An argument that is an object: its name, that of the service which it is, if any, and the
/// interface that the method takes, if it takes one.
pub struct ObjectArgument {
    pub name: String,
    pub service: Option<String>,
    pub interface: Option<String>,
}

impl Call {
    /// Why the service does not accept the objects; None if that is not known.
    fn refused_object(
        &self,
        (context, device): (&Context, &str),
        status: StatusCode,
    ) -> Option<String> {
        self.objects
            .iter()
            .find_map(|one| match (status, &one.service) {
                (StatusCode::UnexpectedNull, None) => {
                    Some(format!("{} must not be null", one.name))
                }
                (StatusCode::BadType, Some(service)) => {
                    let wanted = one.interface.as_ref()?;
                    let object = device::look_up(&context.mount, device, service).ok()?;
                    let own = descriptor_of(&object).ok()?;
                    (own != *wanted)
                        .then(|| format!("{} has to be {wanted}, and {service} is {own}", one.name))
                }
                _ => None,
            })
    }

    pub fn send(&self, context: &Context, arguments: &Arguments) -> Result<Reply> {
        if is_rpc(&self.service) && !self.parcel.objects.is_empty() {
            return Err(Error::with_advice(
                format!(
                    "Files and services cannot be sent to a service that only an accessor leads \
                     to, as {} is.",
                    arguments.name
                ),
                "Call it on its own machine.",
            )
            .of(Kind::CallFailed));
        }
        let mut request = match self.has_header {
            true => Request::with_header(&self.service, self.speaker.into())?,
            false => Request::default(),
        };
        let device = &arguments.device.device;
        request.append(&self.parcel, &|name| match name.strip_prefix(NEW) {
            Some(interface) => callback::new(&arguments.aidl, interface, self.calls.as_ref()),
            None => device::look_up(&context.mount, device, name),
        })?;
        request
            .send(&self.service, self.code, self.flags)
            .map_err(|status| {
                let what = format!("{} failed", arguments.name);
                match self.refused_object((context, device), status) {
                    Some(why) => Error::new(format!("{what}: {why}.")).of(Kind::CallFailed),
                    None if status == StatusCode::BadType => {
                        let what = format!("{what}: {}.", explain(status));
                        let advice = called_as(&arguments.name, self.speaker.level);
                        Error::with_advice(what, advice).of(Kind::CallFailed)
                    }
                    None => device::call_error(&what, status),
                }
            })
    }
}

/// How a service was called that perhaps reads another format.
pub fn called_as(name: &str, level: Level) -> String {
    match registrant(name).map(|told| told.level) {
        Some(told) if told != level => format!(
            "A program of {told} registered it, and it was called as one of {level}: leave --level \
             out."
        ),
        _ => format!("It was called as one of {level}; --level says another."),
    }
}

/// The error of a service that answered with an exception.
pub fn exception_error(name: &str, exception: &Exception) -> Error {
    let fields = serde_json::json!({
        "code": exception.code,
        "name": exception.aidl_name(),
        "service_code": exception.service_code,
        "message": exception.message,
    });
    let error = Error::new(format!("{name} answered with {exception}."));
    error.of(Kind::Exception).with_detail("exception", fields)
}
