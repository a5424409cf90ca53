// SPDX-License-Identifier: Apache-2.0
//! Processes that die: which watchers are notified, and what calls to them return.
use super::cases;
use crate::callback::Callback;
use crate::fixture::{fails_with, holds, same, until, Fixture, Verdict, PATIENCE};
use rsbinder::{hub, DeathRecipient, Interface, StatusCode, WIBinder};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

cases![
    the_death_of_a_killed_service_is_notified,
    the_death_of_an_exited_service_is_notified,
    every_watcher_is_notified_once,
    a_cleared_watch_is_not_notified,
    a_watch_on_the_dead_fails_or_is_notified,
    calls_to_the_dead_fail,
    a_call_in_flight_fails,
    a_service_sees_its_client_die,
    a_dead_service_is_removed,
    a_name_can_be_taken_again,
];

struct DeathWatcher(Mutex<Sender<()>>);

impl DeathRecipient for DeathWatcher {
    fn binder_died(&self, _who: &WIBinder) {
        // The case may have ended.
        let _ = self.0.lock().unwrap().send(());
    }
}

fn watcher() -> (Arc<DeathWatcher>, Receiver<()>) {
    let (sender, notices) = channel();
    (Arc::new(DeathWatcher(Mutex::new(sender))), notices)
}

fn notified(notices: &Receiver<()>) -> bool {
    notices.recv_timeout(PATIENCE).is_ok()
}

fn silent(notices: &Receiver<()>) -> bool {
    notices.recv_timeout(Duration::from_millis(300)).is_err()
}

fn the_death_of_a_killed_service_is_notified(fixture: &Fixture) -> Verdict {
    let (mut service, peer) = fixture.peer()?;
    let (watcher, notices) = watcher();
    peer.as_binder().link_to_death_arc(&watcher)?;
    holds("alive so far", silent(&notices))?;
    service.kill()?;
    holds("notified", notified(&notices))
}

fn the_death_of_an_exited_service_is_notified(fixture: &Fixture) -> Verdict {
    let (mut service, peer) = fixture.peer()?;
    let (watcher, notices) = watcher();
    peer.as_binder().link_to_death_arc(&watcher)?;
    fails_with("the last call", peer.exitNow(7), StatusCode::DeadObject)?;
    holds("notified", notified(&notices))?;
    same("exit status", service.child.wait()?.code(), Some(7))
}

fn every_watcher_is_notified_once(fixture: &Fixture) -> Verdict {
    let (mut service, peer) = fixture.peer()?;
    let counter = peer.makeCounter()?;
    let watchers: Vec<_> = (0..10).map(|_| watcher()).collect();
    for (watcher, _) in &watchers {
        peer.as_binder().link_to_death_arc(watcher)?;
    }
    let (other, other_notices) = watcher();
    counter.as_binder().link_to_death_arc(&other)?;
    service.kill()?;
    for (_, notices) in &watchers {
        holds("notified", notified(notices))?;
    }
    holds("notified about the other object", notified(&other_notices))?;
    for (_, notices) in &watchers {
        holds("only once", silent(notices))?;
    }
    Ok(())
}

fn a_cleared_watch_is_not_notified(fixture: &Fixture) -> Verdict {
    let (mut service, peer) = fixture.peer()?;
    let (stays, notices) = watcher();
    let (goes, no_notices) = watcher();
    peer.as_binder().link_to_death_arc(&stays)?;
    peer.as_binder().link_to_death_arc(&goes)?;
    peer.as_binder().unlink_to_death_arc(&goes)?;
    service.kill()?;
    holds("the remaining watch is notified", notified(&notices))?;
    holds("the other is not", silent(&no_notices))
}

fn a_watch_on_the_dead_fails_or_is_notified(fixture: &Fixture) -> Verdict {
    let (mut service, peer) = fixture.peer()?;
    service.kill()?;
    let (watcher, notices) = watcher();
    // If the driver has not notified this process yet, the watch is accepted, and notified at once.
    match peer.as_binder().link_to_death_arc(&watcher) {
        Ok(()) => holds("notified", notified(&notices)),
        Err(status) => same("status", status, StatusCode::DeadObject),
    }
}

fn calls_to_the_dead_fail(fixture: &Fixture) -> Verdict {
    let (mut service, peer) = fixture.peer()?;
    let counter = peer.makeCounter()?;
    service.kill()?;
    for _ in 0..3 {
        fails_with("add", peer.add(1, 1), StatusCode::DeadObject)?;
        fails_with("onValue", counter.onValue(1), StatusCode::DeadObject)?;
    }
    let (_other, other) = fixture.peer()?;
    same("another service", other.add(1, 1)?, 2)
}

fn a_call_in_flight_fails(fixture: &Fixture) -> Verdict {
    let (service, peer) = fixture.peer()?;
    let pid = service.pid();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        let pid = rustix::process::Pid::from_raw(pid).expect("a child has a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL)
    });
    fails_with(
        "the call",
        peer.maxConcurrent(60_000),
        StatusCode::DeadObject,
    )?;
    killer.join().map_err(|_| "the killer panicked")??;
    Ok(())
}

fn a_service_sees_its_client_die(fixture: &Fixture) -> Verdict {
    let (_watching, watching) = fixture.peer()?;
    let (mut owner, owning) = fixture.peer()?;
    watching.hold(&owning.makeCounter()?)?;
    watching.hold(&Callback::binder(|value| value))?;
    same("no deaths yet", watching.deaths()?, 0)?;
    watching.hold(&owning.makeCounter()?)?;
    owner.kill()?;
    let deaths = until(|| watching.deaths().unwrap_or(-1), |count| *count == 1);
    same("deaths seen by the service", deaths, 1)
}

fn a_dead_service_is_removed(fixture: &Fixture) -> Verdict {
    let (mut service, _peer) = fixture.peer()?;
    holds("known", hub::check_service(&service.name).is_some())?;
    service.kill()?;
    let gone = until(|| hub::check_service(&service.name).is_none(), |gone| *gone);
    holds("forgotten", gone)
}

fn a_name_can_be_taken_again(fixture: &Fixture) -> Verdict {
    let (mut first, _peer) = fixture.peer()?;
    first.kill()?;
    until(|| hub::check_service(&first.name).is_none(), |gone| *gone);
    let (_second, second) = fixture.peer()?;
    hub::add_service(&first.name, second.as_binder())?;
    let found = hub::check_service(&first.name).ok_or("not found")?;
    holds("the new owner", found == second.as_binder())
}
