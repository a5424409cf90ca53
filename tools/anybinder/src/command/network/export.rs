// SPDX-License-Identifier: Apache-2.0
//! `anybinder export NAME... --listen ADDRESS`: serves local services to other machines.
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_client::device::{self, DeviceOption};
use anybinder_driver::level::Level;
use anybinder_mount::context::Context;
use anybinder_parcel::aidl::Roots;
use anybinder_rpc::access::Rules;
use anybinder_rpc::address::Address;
use anybinder_rpc::call_turns;
use anybinder_rpc::dialect::Form;
use anybinder_rpc::export::{self, Options};
use anybinder_rpc::tls::Credentials;
use rsbinder::{Endpoint, ProcessState};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// What both ends of a link have.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// The certificate of this machine, in PEM format, and those that lead to who signed it
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,

    /// The key of the certificate
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

    /// Accept certificates that one of these authorities signed
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// How many calls may run at the same time over one link
    #[arg(long, value_name = "COUNT", default_value_t = 4,
        value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,

    /// The largest call and reply, in bytes of data
    #[arg(long, value_name = "BYTES", default_value_t = 1_040_384)]
    pub max_size: usize,

    #[command(flatten)]
    pub aidl: Roots,

    /// Android API level of the programs on this machine: 31 or 32 where clients of Android 12 get
    /// objects, 28 or 29 where objects of such a program are called that no call of it has shown
    #[arg(long, value_name = "LEVEL", default_value = "newest")]
    level: Level,

    /// How long the other machine may take to connect and to answer a call, in seconds, before the
    /// link counts as lost; 0 for as long as it wants
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u32,
}

impl Common {
    pub fn credentials(&self, pins: Vec<[u8; 32]>) -> Credentials {
        Credentials {
            certificate: self.cert.clone(),
            key: self.key.clone(),
            authorities: self.ca.clone(),
            pins,
        }
    }

    pub fn form(&self) -> Form {
        self.level.into()
    }

    pub fn patience(&self) -> Option<Duration> {
        (self.patience > 0).then(|| Duration::from_secs(self.patience.into()))
    }
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The names of the services; of several, `link` chooses one with ADDRESS#NAME, and each is
    /// exported while it lives
    #[arg(required = true)]
    name: Vec<String>,

    /// Where to listen: tls://HOST:PORT, unix:///PATH or vsock://CID:PORT
    #[arg(long, value_name = "ADDRESS")]
    listen: Address,

    /// Who may call what: lines with a peer (cert=FINGERPRINT, uid=NUMBER, cid=NUMBER or any) and
    /// names [default: tls, all that --ca vouches for; unix, this user and root]
    #[arg(long, value_name = "FILE", conflicts_with = "anyone")]
    allow: Option<PathBuf>,

    /// All that reach the address may call everything, without a certificate
    #[arg(long)]
    anyone: bool,

    /// The most connections of known peers, of which one peer leaves a quarter to others; one that
    /// exceeds them waits
    #[arg(long, value_name = "COUNT", default_value_t = 128,
        value_parser = clap::value_parser!(u32).range(1..=4096))]
    max_connections: u32,

    #[command(flatten)]
    common: Common,

    #[command(flatten)]
    device: DeviceOption,
}

/// Who may call what, if it is said or clear from the kind of address.
fn rules(arguments: &Arguments) -> Result<Rules> {
    match (&arguments.allow, &arguments.listen.endpoint) {
        _ if arguments.anyone => Ok(Rules::anyone()),
        (Some(path), _) => Rules::read(path),
        (None, Endpoint::Unix(_)) => Ok(Rules::own_user()),
        // TLS itself lets in only those with a certificate.
        (None, Endpoint::Tls { .. }) => Ok(Rules::anyone()),
        (None, _) => Err(Error::with_advice(
            format!("Nothing says who may call over {}.", arguments.listen),
            "Give rules (--allow), or let all call that reach the address (--anyone).",
        )
        .of(Kind::Usage)),
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let common = &arguments.common;
    let rules = rules(arguments)?;
    let options = Options {
        names: arguments.name.clone(),
        listen: arguments.listen.clone(),
        credentials: common.credentials(rules.certificates()),
        rules,
        anyone: arguments.anyone,
        threads: common.threads,
        connections: arguments.max_connections as usize,
        max_size: common.max_size,
        aidl: common.aidl.clone(),
        form: common.form(),
        patience: common.patience(),
    };
    options.check()?;
    let threads = call_turns::threads(common.threads);
    device::open(&context.mount, &arguments.device.device, threads)?;
    let manager = device::manager(&context.mount, &arguments.device.device)?;
    ProcessState::start_thread_pool();
    match export::run(manager, &options)? {}
}
