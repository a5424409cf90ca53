// SPDX-License-Identifier: Apache-2.0
//! Frozen processes: what their callers get, and notifications.
use super::cases;
use crate::fixture::{holds, same, until, Failure, Fixture, Verdict, PATIENCE};
use rsbinder::{
    FrozenState, FrozenStateChangeCallback, Interface, ProcessState, StatusCode, WIBinder,
};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

cases![
    a_frozen_service_fails_calls,
    one_way_calls_wait_for_the_thaw,
    freezing_is_notified,
    a_busy_service_does_not_freeze,
];

const FREEZE_PATIENCE: Duration = Duration::from_secs(1);

fn freeze(pid: i32, on: bool) -> rsbinder::Result<()> {
    // An undelivered reply counts as pending; then the driver returns EAGAIN.
    until(
        || ProcessState::as_self().freeze_process(pid, on, FREEZE_PATIENCE),
        |result| *result != Err(StatusCode::WouldBlock),
    )
}

fn a_frozen_service_fails_calls(fixture: &Fixture) -> Verdict {
    let (service, peer) = fixture.peer()?;
    freeze(service.pid(), true)?;
    holds("a call fails", peer.add(1, 1).is_err())?;
    let info = ProcessState::as_self().process_freeze_info(service.pid())?;
    holds("the driver noted the call", info.sync_received)?;
    freeze(service.pid(), false)?;
    same("a call after the thaw", peer.add(1, 1)?, 2)
}

fn one_way_calls_wait_for_the_thaw(fixture: &Fixture) -> Verdict {
    let (service, peer) = fixture.peer()?;
    freeze(service.pid(), true)?;
    for value in 0..5 {
        peer.post(value)?;
    }
    let info = ProcessState::as_self().process_freeze_info(service.pid())?;
    holds("the driver noted the calls", info.async_received)?;
    freeze(service.pid(), false)?;
    let posted = until(
        || peer.posted().unwrap_or_default(),
        |posted| posted.len() == 5,
    );
    same("posted", posted, (0..5).collect())
}

struct Watcher(Mutex<Sender<FrozenState>>);

impl FrozenStateChangeCallback for Watcher {
    fn on_state_changed(&self, _who: &WIBinder, state: FrozenState) {
        // The case may have ended.
        let _ = self.0.lock().unwrap().send(state);
    }
}

fn freezing_is_notified(fixture: &Fixture) -> Verdict {
    let feature = fixture.device("features/freeze_notification");
    if std::fs::read_to_string(feature).ok().as_deref() != Some("1\n") {
        return Err(Failure::Skipped(
            "the driver has no freeze notifications".to_string(),
        ));
    }
    let (service, peer) = fixture.peer()?;
    let (sender, notices) = channel();
    let watcher = Arc::new(Watcher(Mutex::new(sender)));
    peer.as_binder()
        .add_frozen_state_change_callback_arc(&watcher)?;
    same(
        "at first",
        notices.recv_timeout(PATIENCE)?,
        FrozenState::Unfrozen,
    )?;
    freeze(service.pid(), true)?;
    same(
        "frozen",
        notices.recv_timeout(PATIENCE)?,
        FrozenState::Frozen,
    )?;
    freeze(service.pid(), false)?;
    same(
        "thawed",
        notices.recv_timeout(PATIENCE)?,
        FrozenState::Unfrozen,
    )
}

fn a_busy_service_does_not_freeze(fixture: &Fixture) -> Verdict {
    let (service, peer) = fixture.peer()?;
    let busy = std::thread::spawn({
        let peer = peer.clone();
        move || {
            peer.maxConcurrent(1500)
                .map_err(|status| status.to_string())
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    let brief = Duration::from_millis(100);
    let result = ProcessState::as_self().freeze_process(service.pid(), true, brief);
    same("the freeze", result, Err(StatusCode::WouldBlock))?;
    same(
        "the call",
        busy.join().map_err(|_| "the caller panicked")?,
        Ok(1),
    )?;
    same("the next call", peer.add(1, 1)?, 2)
}
