// SPDX-License-Identifier: Apache-2.0
//! The service manager, as clients use it.
use super::cases;
use crate::callback::Callback;
use crate::fixture::{holds, same, Fixture, Verdict, PATIENCE};
use rsbinder::hub::android_16::{BnServiceCallback, IServiceCallback};
use rsbinder::{hub, BinderResult, Interface, SIBinder};
use std::sync::mpsc::{channel, Sender};
use std::sync::Mutex;

cases![
    a_registered_service_is_listed,
    an_unknown_name_is_not_found,
    a_waiting_client_is_notified,
    a_client_registers_its_own_object,
    debug_information_names_the_process,
];

fn a_registered_service_is_listed(fixture: &Fixture) -> Verdict {
    let (service, _peer) = fixture.peer()?;
    let names = hub::list_services(hub::DUMP_FLAG_PRIORITY_ALL);
    holds("listed", names.contains(&service.name))?;
    holds(
        "so is the manager",
        names.iter().any(|name| name == "manager"),
    )
}

fn an_unknown_name_is_not_found(_fixture: &Fixture) -> Verdict {
    // Not the same as a service manager that does not answer.
    let found = hub::try_get_service("anybinder.test.unregistered")?;
    holds("no service", found.is_none())
}

struct Listener(Mutex<Sender<String>>);

impl Interface for Listener {}

impl IServiceCallback for Listener {
    fn onRegistration(&self, name: &str, _service: &SIBinder) -> BinderResult<()> {
        // The case may have ended.
        let _ = self.0.lock().unwrap().send(name.to_string());
        Ok(())
    }
}

fn a_waiting_client_is_notified(fixture: &Fixture) -> Verdict {
    let name = format!("anybinder.test.awaited.{}", std::process::id());
    let (sender, notices) = channel();
    let listener = BnServiceCallback::new_binder(Listener(Mutex::new(sender)));
    hub::register_for_notifications(&name, &listener)?;
    let (_service, peer) = fixture.peer()?;
    hub::add_service(&name, peer.as_binder())?;
    same("the name", notices.recv_timeout(PATIENCE)?, name)
}

fn a_client_registers_its_own_object(_fixture: &Fixture) -> Verdict {
    let name = format!("anybinder.test.own.{}", std::process::id());
    let mine = Callback::binder(|value| value).as_binder();
    hub::add_service(&name, mine.clone())?;
    let found = hub::check_service(&name).ok_or("not found")?;
    holds("found as the local object", found == mine)
}

fn debug_information_names_the_process(fixture: &Fixture) -> Verdict {
    let (service, _peer) = fixture.peer()?;
    let all = hub::get_service_debug_info()?;
    let info = all
        .iter()
        .find(|info| info.name == service.name)
        .ok_or("not in the list")?;
    same("pid", info.debugPid, service.pid())
}
