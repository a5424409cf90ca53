// SPDX-License-Identifier: Apache-2.0
//! Processes that die: who is told, who is not, and what calls to them return.
use super::cases;
use crate::callback::Callback;
use crate::stage::{fails_with, holds, same, until, Stage, Verdict, PATIENCE};
use rsbinder::{hub, DeathRecipient, Interface, StatusCode, WIBinder};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

cases![
    a_killed_service_is_told,
    an_exited_service_is_told,
    every_watcher_is_told_once,
    a_withdrawn_watch_stays_silent,
    a_watch_on_the_dead_fails_or_is_told,
    calls_to_the_dead_fail,
    a_call_in_flight_fails,
    a_service_sees_its_client_die,
    a_dead_service_is_forgotten,
    a_name_can_be_taken_again,
];

struct Mourner(Mutex<Sender<()>>);

impl DeathRecipient for Mourner {
    fn binder_died(&self, _who: &WIBinder) {
        // A case that has ended listens no more.
        let _ = self.0.lock().unwrap().send(());
    }
}

fn mourner() -> (Arc<Mourner>, Receiver<()>) {
    let (sender, news) = channel();
    (Arc::new(Mourner(Mutex::new(sender))), news)
}

fn told(news: &Receiver<()>) -> bool {
    news.recv_timeout(PATIENCE).is_ok()
}

fn silent(news: &Receiver<()>) -> bool {
    news.recv_timeout(Duration::from_millis(300)).is_err()
}

fn a_killed_service_is_told(stage: &Stage) -> Verdict {
    let (mut service, peer) = stage.peer()?;
    let (mourner, news) = mourner();
    peer.as_binder().link_to_death_arc(&mourner)?;
    holds("alive so far", silent(&news))?;
    service.kill()?;
    holds("told", told(&news))
}

fn an_exited_service_is_told(stage: &Stage) -> Verdict {
    let (mut service, peer) = stage.peer()?;
    let (mourner, news) = mourner();
    peer.as_binder().link_to_death_arc(&mourner)?;
    fails_with("the last call", peer.exitNow(7), StatusCode::DeadObject)?;
    holds("told", told(&news))?;
    same("exit status", service.child.wait()?.code(), Some(7))
}

fn every_watcher_is_told_once(stage: &Stage) -> Verdict {
    let (mut service, peer) = stage.peer()?;
    let counter = peer.makeCounter()?;
    let watchers: Vec<_> = (0..10).map(|_| mourner()).collect();
    for (mourner, _) in &watchers {
        peer.as_binder().link_to_death_arc(mourner)?;
    }
    let (other, other_news) = mourner();
    counter.as_binder().link_to_death_arc(&other)?;
    service.kill()?;
    for (_, news) in &watchers {
        holds("told", told(news))?;
    }
    holds("told about the other object", told(&other_news))?;
    for (_, news) in &watchers {
        holds("only once", silent(news))?;
    }
    Ok(())
}

fn a_withdrawn_watch_stays_silent(stage: &Stage) -> Verdict {
    let (mut service, peer) = stage.peer()?;
    let (stays, news) = mourner();
    let (goes, no_news) = mourner();
    peer.as_binder().link_to_death_arc(&stays)?;
    peer.as_binder().link_to_death_arc(&goes)?;
    peer.as_binder().unlink_to_death_arc(&goes)?;
    service.kill()?;
    holds("the one that stayed is told", told(&news))?;
    holds("the other is not", silent(&no_news))
}

fn a_watch_on_the_dead_fails_or_is_told(stage: &Stage) -> Verdict {
    let (mut service, peer) = stage.peer()?;
    service.kill()?;
    let (mourner, news) = mourner();
    // The driver may not have told this process yet: then the watch is taken, and told at once.
    match peer.as_binder().link_to_death_arc(&mourner) {
        Ok(()) => holds("told", told(&news)),
        Err(status) => same("status", status, StatusCode::DeadObject),
    }
}

fn calls_to_the_dead_fail(stage: &Stage) -> Verdict {
    let (mut service, peer) = stage.peer()?;
    let counter = peer.makeCounter()?;
    service.kill()?;
    for _ in 0..3 {
        fails_with("add", peer.add(1, 1), StatusCode::DeadObject)?;
        fails_with("onValue", counter.onValue(1), StatusCode::DeadObject)?;
    }
    let (_other, other) = stage.peer()?;
    same("another service", other.add(1, 1)?, 2)
}

fn a_call_in_flight_fails(stage: &Stage) -> Verdict {
    let (service, peer) = stage.peer()?;
    let pid = service.pid();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        let pid = rustix::process::Pid::from_raw(pid).expect("a child has a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)
    });
    fails_with("the call", peer.crowd(60_000), StatusCode::DeadObject)?;
    killer.join().map_err(|_| "the killer panicked")??;
    Ok(())
}

fn a_service_sees_its_client_die(stage: &Stage) -> Verdict {
    let (_watching, watching) = stage.peer()?;
    let (mut owner, owning) = stage.peer()?;
    watching.hold(&owning.makeCounter()?)?;
    watching.hold(&Callback::binder(|value| value))?;
    same("nobody died yet", watching.deaths()?, 0)?;
    watching.hold(&owning.makeCounter()?)?;
    owner.kill()?;
    let deaths = until(|| watching.deaths().unwrap_or(-1), |count| *count == 1);
    same("deaths seen by the service", deaths, 1)
}

fn a_dead_service_is_forgotten(stage: &Stage) -> Verdict {
    let (mut service, _peer) = stage.peer()?;
    holds("known", hub::check_service(&service.name).is_some())?;
    service.kill()?;
    let gone = until(|| hub::check_service(&service.name).is_none(), |gone| *gone);
    holds("forgotten", gone)
}

fn a_name_can_be_taken_again(stage: &Stage) -> Verdict {
    let (mut first, _peer) = stage.peer()?;
    first.kill()?;
    until(|| hub::check_service(&first.name).is_none(), |gone| *gone);
    let (_second, second) = stage.peer()?;
    hub::add_service(&first.name, second.as_binder())?;
    let found = hub::check_service(&first.name).ok_or("not found")?;
    holds("the new owner", found == second.as_binder())
}
