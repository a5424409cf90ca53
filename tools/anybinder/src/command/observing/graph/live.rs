// SPDX-License-Identifier: Apache-2.0
//! `anybinder graph --serve`: the page on a loopback address, which looks again each second as long
//! as it is open. A word in its address, which nobody can guess, lets in who was told it.
use super::gone::Gone;
use super::model::{self, Graph};
use super::{page, Arguments};
use crate::command::observing::page_server::{Asked, Page, Server};
use crate::command::observing::system::known::Known;
use crate::command::observing::system::methods;
use crate::command::observing::top::sample::{Sampler, Wanted};
use anybinder_cli::error::{Doing, Result};
use anybinder_cli::interrupt;
use anybinder_mount::context::Context;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How old a look may be that is shown.
const FRESH: Duration = Duration::from_millis(900);
/// After how long a call counts as hanging.
const HANGING_MS: u64 = 2000;
const TOKEN_BYTES: usize = 16;

/// A word that nobody can guess.
fn token() -> Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.doing(|| "reading /dev/urandom".to_string())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compares in a time that does not tell how much is right.
fn is_token(given: &str, token: &str) -> bool {
    let pairs = given.bytes().zip(token.bytes());
    given.len() == token.len() && pairs.fold(0, |sum, (one, other)| sum | (one ^ other)) == 0
}

struct Live<'a> {
    arguments: &'a Arguments,
    sampler: Sampler,
    gone: Gone,
    /// The last look: when, and the graph.
    last: Option<(Instant, Graph)>,
}

impl Live<'_> {
    fn graph(&mut self) -> Result<&Graph> {
        let is_fresh = |(taken, _): &(Instant, Graph)| taken.elapsed() < FRESH;
        if !self.last.as_ref().is_some_and(is_fresh) {
            let mut graph = Graph::default();
            let sample = self.sampler.sample_seen(|look| {
                let measured = Some(look.measured);
                graph = model::build(look.processes, look.names, &[], measured, &Known::Now);
                graph.name_methods(look.methods);
            })?;
            graph.add_marks(&sample);
            self.gone.look(&mut graph);
            if !self.arguments.manager {
                graph.without_manager();
            }
            graph.put_in_order();
            self.last = Some((Instant::now(), graph));
        }
        let (_, graph) = self.last.as_ref().expect("it was made");
        Ok(graph)
    }

    fn answer(&mut self, asked: &Asked, token: &str) -> Result<Page> {
        let given = asked
            .query
            .split('&')
            .find_map(|pair| pair.strip_prefix("token="));
        if !given.is_some_and(|given| is_token(given, token)) {
            let why = "the token is missing or wrong: take the address that was printed";
            return Ok(Page::refusal("403 Forbidden", why));
        }
        let only = &self.arguments.only;
        let mut graph = self.graph()?.clone();
        if !only.is_empty() {
            // What it names may come and go.
            graph.keep_neighbours(only);
        }
        match asked.path.as_str() {
            "/" => Ok(Page::of(
                "text/html; charset=utf-8",
                page::live_html(&graph)?,
            )),
            "/graph" => Ok(Page::of("application/json", page::update(&graph)?)),
            _ => Ok(Page::refusal("404 Not Found", "the page is /")),
        }
    }
}

pub fn serve(context: &Context, arguments: &Arguments, address: SocketAddr) -> Result<ExitCode> {
    let wanted = Wanted {
        services: true,
        commands: true,
        latencies: true,
        is_lean: false,
    };
    let library = methods::library(&arguments.aidl)?;
    let device = &arguments.device.device;
    let mut live = Live {
        arguments,
        sampler: Sampler::new(context, device, HANGING_MS, &wanted, library)?,
        gone: Gone::default(),
        last: None,
    };
    let token = token()?;
    interrupt::defer();
    let server = Server::start(address, &format!("/?token={token}"), "who calls whom")?;
    while interrupt::check().is_ok() {
        let due = Instant::now() + Duration::from_secs(60);
        server.answer_until(due, |asked| live.answer(asked, &token))?;
    }
    Ok(ExitCode::SUCCESS)
}
