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
use rustix::rand::{getrandom, GetRandomFlags};
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
    getrandom(&mut bytes, GetRandomFlags::empty()).doing(|| "asking for a token".to_string())?;
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
    last: Option<Look>,
}

/// What readers are shown who ask at about the same time.
struct Look {
    taken: Instant,
    graph: Graph,
    page: Option<String>,
    update: Option<String>,
}

/// A text that is made once.
fn once(kept: &mut Option<String>, make: impl FnOnce() -> Result<String>) -> Result<String> {
    if kept.is_none() {
        *kept = Some(make()?);
    }
    Ok(kept.clone().unwrap_or_default())
}

impl Live<'_> {
    fn look(&mut self) -> Result<&mut Look> {
        if !matches!(&self.last, Some(last) if last.taken.elapsed() < FRESH) {
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
            if !self.arguments.only.is_empty() {
                // What it names may come and go.
                graph.keep_neighbours(&self.arguments.only);
            }
            self.last = Some(Look {
                taken: Instant::now(),
                graph,
                page: None,
                update: None,
            });
        }
        Ok(self.last.as_mut().expect("it was made"))
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
        let look = self.look()?;
        let graph = &look.graph;
        match asked.path.as_str() {
            "/" => Ok(Page::of(
                "text/html; charset=utf-8",
                once(&mut look.page, || page::live_html(graph))?,
            )),
            "/graph" => Ok(Page::of(
                "application/json",
                once(&mut look.update, || page::update(graph))?,
            )),
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
