// SPDX-License-Identifier: Apache-2.0
//! Work that takes long is cut into slices and bounded, and no user's names go with another's.
use super::device_state::{Settings, State, PRIORITY_DEFAULT};
use super::listing::{Begun, Listing, Wanted};
use crate::policy::Policy;
use crate::registry::{Callback, Removal, Service};
use crate::wire::caller::Caller;
use crate::wire::hidl::names::{full, BASE};
use crate::wire::level::LevelSet;
use crate::wire::notification::Dialect;
use crate::wire::port::Port;
use crate::wire::reply::{Format, Reply, LEGACY_FAILURE};
use anybinder_driver::level::{Level, Stability, StabilityForm};
use anybinder_driver::parcel::{Parcel, Reader, Target};
use std::collections::BTreeMap;
use std::sync::Arc;

const NAME: &str = "anybinder.test";
const LIGHT: &str = "android.hardware.light@2.1::ILight";
const OTHER: &str = "a.b@1.0::IC";
/// Names of one HIDL object.
const COUNT: usize = 500;
/// The priorities of all services.
const ALL: i32 = 0x0f;

/// A driver that writes down what is asked of it.
#[derive(Default)]
pub struct FakeDriver {
    kept: BTreeMap<u32, u64>,
    sent: Vec<(u32, Parcel)>,
    /// References to each object.
    references: u32,
    /// How many questions about references there were.
    counted: usize,
}

impl Port for FakeDriver {
    fn keep(&mut self, handle: u32, cookie: u64) {
        assert_eq!(self.kept.insert(handle, cookie), None);
    }

    fn drop_handle(&mut self, handle: u32, cookie: u64, _: bool) {
        assert_eq!(self.kept.remove(&handle), Some(cookie));
    }

    fn strong_count(&mut self, _: u32) -> Option<u32> {
        self.counted += 1;
        Some(self.references)
    }

    fn send(&mut self, handle: u32, code: u32, parcel: Parcel) {
        assert_eq!(code, 1);
        self.sent.push((handle, parcel));
    }
}

pub fn settings(is_hidl: bool) -> Settings {
    Settings {
        level: Level::A16,
        is_hidl,
        per_user: 20_000,
        allow_replacing_others: false,
    }
}

pub fn policy() -> Arc<Policy> {
    Arc::new(Policy::load(None, None, false).unwrap())
}

/// What a service manager works on, its driver, and who calls.
struct Bench {
    port: FakeDriver,
    state: State,
    caller: Caller,
}

impl Bench {
    fn new(is_hidl: bool) -> Bench {
        let mut port = FakeDriver::default();
        Bench {
            state: State::new("test", settings(is_hidl), policy(), &mut port),
            port,
            caller: Caller {
                pid: 0,
                uid: 1_000_000,
                charged: 1_000_000,
                context: 0,
            },
        }
    }

    /// An object of HIDL with many names.
    fn with_instances() -> Bench {
        let mut bench = Bench::new(true);
        for number in 0..COUNT {
            assert!(bench.add_chain(&format!("n{number}"), 5, &[LIGHT]));
        }
        bench
    }

    /// Another user calls from now on.
    fn be_user(&mut self, uid: u32) {
        (self.caller.uid, self.caller.charged) = (uid, uid);
    }

    fn add(&mut self, name: &str, handle: u32) {
        let target = Target::Handle(handle);
        let service = Service::new(target, Stability::SYSTEM, self.caller, PRIORITY_DEFAULT);
        let added = self.state.registry.add(&mut self.port, name, service);
        assert!(added.is_ok(), "{name}");
    }

    fn add_numbered(&mut self, count: u32) {
        for number in 0..count {
            self.add(&format!("service.{number}"), number + 10);
        }
    }

    fn add_chain(&mut self, instance: &str, handle: u32, chain: &[&str]) -> bool {
        let (owner, target) = (self.caller, Target::Handle(handle));
        let service = || Service::new(target, Stability::UNDECLARED, owner, PRIORITY_DEFAULT);
        let chain: Vec<String> = chain.iter().map(|one| one.to_string()).collect();
        let registry = &mut self.state.registry;
        let added = registry.add_chain(&mut self.port, instance, &chain, service);
        added.is_ok()
    }

    fn get(&mut self, interface: &str, instance: &str) -> Option<Target> {
        let name = full(interface, instance);
        let found = self.state.registry.find(&mut self.port, &name)?;
        found.binder.map(|(target, _)| target)
    }

    fn callback(&self, handle: u32) -> Callback {
        Callback::new(handle, Dialect::Hidl, LevelSet::default(), self.caller)
    }

    fn watch(&mut self, name: &str, handle: u32) {
        let callback = self.callback(handle);
        let registry = &mut self.state.registry;
        let watched = registry.watch(&mut self.port, name, callback);
        assert!(watched.is_ok(), "{name}");
    }

    fn watch_clients(&mut self, name: &str, object: u32, handle: u32) {
        let (target, callback) = (Target::Handle(object), self.callback(handle));
        let registry = &mut self.state.registry;
        let watched = registry.watch_clients(&mut self.port, name, target, callback);
        assert!(watched.is_ok(), "{name}");
    }

    fn try_unregister(&mut self, name: &str, object: u32) -> bool {
        let target = Target::Handle(object);
        let registry = &mut self.state.registry;
        let outcome = registry.try_unregister(&mut self.port, self.caller, name, target);
        outcome.is_ok()
    }

    /// Counts the clients of all objects. Returns in how many slices, of which none is long.
    fn count_clients(&mut self) -> usize {
        let (registry, port) = (&mut self.state.registry, &mut self.port);
        registry.begin_count();
        let mut slices = 0;
        while registry.is_counting() {
            let before = port.counted;
            registry.count_clients(port);
            assert!(port.counted - before <= 8);
            slices += 1;
        }
        slices
    }

    /// Calls all callbacks that wait. Returns in how many slices, of which none is long.
    fn call_back(&mut self) -> usize {
        let (registry, port) = (&mut self.state.registry, &mut self.port);
        let mut slices = 0;
        while registry.has_notices() {
            let before = port.sent.len();
            registry.send_notices(port);
            assert!(port.sent.len() - before <= 8);
            slices += 1;
        }
        slices
    }
}

#[test]
fn many_callbacks_wait_and_each_is_called_once() {
    let mut bench = Bench::new(false);
    for handle in 100..200 {
        bench.watch(NAME, handle);
    }
    bench.add(NAME, 5);
    assert_eq!(bench.port.sent.len(), 8);
    // Another callback for the same service waits behind them.
    bench.watch(NAME, 200);
    assert_eq!(bench.port.sent.len(), 8);
    let registry = &mut bench.state.registry;
    assert!(registry.unwatch(&mut bench.port, NAME, 150).is_ok());
    assert!(bench.call_back() >= 11);
    let called: Vec<u32> = bench.port.sent.iter().map(|(handle, _)| *handle).collect();
    let wanted: Vec<u32> = (100..=200).filter(|handle| *handle != 150).collect();
    assert_eq!(called, wanted);
}

#[test]
fn callbacks_that_wait_are_not_told_of_a_service_that_is_gone() {
    let mut bench = Bench::new(false);
    for handle in 100..120 {
        bench.watch(NAME, handle);
    }
    bench.add(NAME, 5);
    let registry = &mut bench.state.registry;
    registry.died(bench.port.kept[&5]);
    registry.forget_dead(&mut bench.port);
    assert!(!registry.has_dead());
    assert_eq!(bench.port.sent.len(), 8);
    bench.call_back();
    assert_eq!(bench.port.sent.len(), 8);
}

#[test]
fn a_dead_object_with_many_names_is_forgotten_in_turns() {
    let mut bench = Bench::new(false);
    for number in 0..1000 {
        bench.add(&format!("many{number}"), 10);
    }
    bench.be_user(1_000_001);
    bench.add("one", 20);
    let Bench { port, state, .. } = &mut bench;
    let registry = &mut state.registry;
    let all = registry.len();
    for handle in [10, 20] {
        registry.died(port.kept[&handle]);
    }
    assert_eq!(registry.len(), all);
    let mut slices = 0;
    while registry.has_dead() {
        let before = registry.len();
        registry.forget_dead(port);
        assert!(before - registry.len() <= 16);
        slices += 1;
        assert!(
            registry.service("one").is_none(),
            "it waits for another user"
        );
        assert_eq!(port.kept.contains_key(&10), registry.len() > all - 1001);
    }
    assert!(slices >= 1001 / 16, "{slices}");
    assert_eq!(registry.len(), all - 1001);
}

/// A list as the thread that makes it does.
fn list(bench: &mut Bench) -> Vec<String> {
    let format = Format {
        is_legacy: false,
        stability: StabilityForm::Plain,
    };
    let priority = ALL;
    let listing = Listing::new(bench.caller, Wanted::Names { format, priority });
    let Begun::Long(mut listing) = listing.begin(&mut bench.state) else {
        panic!("it was made at once");
    };
    while listing.step(&bench.state) {}
    let left_out = listing.left_out();
    let Reply::Parcel(reply) = listing.reply() else {
        panic!("no list");
    };
    assert!(reply.data.len() <= 520 * 1024);
    let mut reader = Reader::new(&reply.data, &reply.offsets);
    assert_eq!(reader.i32(), Ok(0));
    let count = reader.i32().unwrap();
    let names: Vec<String> = (0..count).map(|_| reader.string16().unwrap()).collect();
    assert_eq!(names.len() + left_out, bench.state.registry.len());
    names
}

#[test]
fn a_long_list_is_cut_and_each_user_keeps_a_share() {
    let mut bench = Bench::new(false);
    bench.add_numbered(600);
    // The manager is one of them.
    assert_eq!(list(&mut bench).len(), 601);
    bench.be_user(1_000_001);
    for number in 0..4000 {
        bench.add(&format!("a{number:0>126}"), number + 10_000);
    }
    let names = list(&mut bench);
    let of_other = names.iter().filter(|name| name.starts_with("a0")).count();
    assert!(of_other > 1000 && of_other < 4000, "{of_other}");
    assert_eq!(names.len() - of_other, 601);
}

#[test]
fn clients_are_counted_in_slices() {
    let mut bench = Bench::new(false);
    bench.add_numbered(1000);
    for number in 0..1000 {
        bench.watch_clients(&format!("service.{number}"), number + 10, 5000);
    }
    assert_eq!(bench.port.sent, []);
    bench.port.references = 3;
    assert!(bench.count_clients() >= 1000 / 8);
    bench.call_back();
    bench.port.references = 1;
    bench.count_clients();
    bench.call_back();
    // Each is told that there are clients, then that there are none.
    assert_eq!(bench.port.sent.len(), 2000);
}

/// Asks for the name at a place, as before Android 11.
fn name_at(bench: &mut Bench, index: usize) -> Begun {
    let listing = Listing::name_at(&bench.state, bench.caller, index, ALL);
    listing.begin(&mut bench.state)
}

fn name_of(reply: &Reply) -> String {
    match reply {
        Reply::Parcel(parcel) => Reader::new(&parcel.data, &[]).string16().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_list_by_index_goes_on_from_the_last_name() {
    let mut bench = Bench::new(false);
    bench.add_numbered(3000);
    let mut names = Vec::new();
    loop {
        let Begun::Done(reply) = name_at(&mut bench, names.len()) else {
            panic!("it takes long");
        };
        if reply == LEGACY_FAILURE {
            break;
        }
        names.push(name_of(&reply));
        if names.len() == 1000 {
            let registry = &mut bench.state.registry;
            registry.remove(&mut bench.port, &names[999]);
        }
    }
    assert_eq!(names.len(), 3001);
    assert!(names.is_sorted());
    // Out of order it takes long, so that a thread does it.
    let Begun::Long(mut listing) = name_at(&mut bench, 2000) else {
        panic!("it was found at once");
    };
    while listing.step(&bench.state) {}
    listing.note(&mut bench.state);
    assert_eq!(name_of(&listing.reply()), names[2001]);
    let Begun::Done(reply) = name_at(&mut bench, 2001) else {
        panic!("it takes long");
    };
    assert_eq!(name_of(&reply), names[2002]);
}

#[test]
fn all_instances_are_told_in_slices_and_each_once() {
    let mut bench = Bench::with_instances();
    bench.watch(&full(LIGHT, ""), 6);
    assert_eq!(bench.port.sent.len(), 8);
    // The service z is new, also for callbacks that are told later.
    assert!(bench.add_chain("z", 5, &[LIGHT]));
    assert!(bench.add_chain("n1", 5, &[LIGHT]));
    assert!(bench.call_back() > COUNT / 8 - 2);
    let told = &bench.port.sent;
    let service = (Target::Handle(5), Stability::UNDECLARED);
    for (instance, is_old, count) in [("z", false, 1), ("n1", false, 1), ("n2", true, 1)] {
        let one = Dialect::Hidl.registered(&full(LIGHT, instance), service, is_old);
        let found = told.iter().filter(|(_, parcel)| *parcel == one);
        assert_eq!(found.count(), count, "{instance}");
    }
    // The callback of n1 was told before n1 was registered again.
    assert_eq!(told.len(), COUNT + 2);
}

#[test]
fn a_lookup_asks_once_whatever_the_number_of_names() {
    let mut bench = Bench::with_instances();
    bench.port.references = 2;
    for number in 0..COUNT {
        bench.watch_clients(&full(LIGHT, &format!("n{number}")), 5, 6);
    }
    assert_eq!(bench.port.sent.len(), 0);
    let before = bench.port.counted;
    assert_eq!(bench.get(LIGHT, "n7"), Some(Target::Handle(5)));
    assert_eq!(bench.port.counted - before, 1);
    assert_eq!(bench.port.sent.len(), 8);
    bench.call_back();
    assert_eq!(bench.port.sent.len(), COUNT);
    assert_eq!(bench.get(LIGHT, "n8"), Some(Target::Handle(5)));
    assert_eq!(bench.port.counted - before, 1);
    // All of them are one object, which a client of each has.
    assert!(!bench.try_unregister(&full(LIGHT, "n9"), 5));
    bench.port.references = 1;
    assert_eq!(bench.count_clients(), 1);
    assert_eq!(bench.count_clients(), 1);
    bench.call_back();
    assert_eq!(bench.port.sent.len(), 2 * COUNT);
}

#[test]
fn a_callback_is_removed_from_many_names_in_slices() {
    let mut bench = Bench::new(true);
    let before = bench.state.registry.size();
    for number in 0..COUNT {
        bench.watch(&full(LIGHT, &format!("n{number}")), 6);
    }
    bench.watch(&full(OTHER, "one"), 6);
    let Bench {
        port,
        state,
        caller,
    } = &mut bench;
    let registry = &mut state.registry;
    let mut removal = Removal::of_watch(*caller, 6, full(LIGHT, ""));
    let mut slices = 1;
    while registry.remove_some(&mut removal, port) {
        slices += 1;
    }
    assert!(slices >= COUNT / 16, "{slices}");
    assert!(removal.has_found);
    // The callback for another interface is left.
    assert_eq!(registry.size().1, before.1 + 1);
    let mut removal = Removal::of_watch(*caller, 6, String::new());
    assert!(!registry.remove_some(&mut removal, port) && removal.has_found);
    assert_eq!(registry.size(), before);
}

#[test]
fn a_base_removes_no_service() {
    let mut bench = Bench::new(true);
    assert!(bench.add_chain("default", 5, &[LIGHT, BASE]));
    bench.be_user(1_000_001);
    assert!(!bench.add_chain("default", 6, &[BASE]));
    assert!(bench.add_chain("default", 6, &[BASE, OTHER]));
    assert_eq!(bench.get(LIGHT, "default"), Some(Target::Handle(5)));
    assert_eq!(bench.get(OTHER, "default"), Some(Target::Handle(6)));
    // Nor the service manager itself.
    let own = bench.get("android.hidl.manager@1.0::IServiceManager", "default");
    assert_eq!(own, Some(Target::Own));
}

#[test]
fn an_object_keeps_the_names_that_other_users_gave_it() {
    let mut bench = Bench::new(true);
    assert!(bench.add_chain("default", 5, &[LIGHT, BASE]));
    assert!(bench.add_chain("other", 5, &[LIGHT]));
    // Another user registers the same object as something else, then another object instead.
    bench.be_user(1_000_001);
    assert!(bench.add_chain("default", 5, &[OTHER]));
    assert!(bench.add_chain("default", 6, &[OTHER]));
    assert_eq!(bench.get(LIGHT, "default"), Some(Target::Handle(5)));
    assert_eq!(bench.get(OTHER, "default"), Some(Target::Handle(6)));
    // Or removes it.
    assert!(bench.add_chain("other", 5, &[OTHER]));
    let registry = &mut bench.state.registry;
    registry.remove_instance(&mut bench.port, bench.caller, Target::Handle(5), "other");
    assert_eq!(bench.get(OTHER, "other"), None);
    assert_eq!(bench.get(LIGHT, "other"), Some(Target::Handle(5)));
}

#[test]
fn an_object_has_so_many_interfaces() {
    let mut bench = Bench::new(true);
    for number in 0..64 {
        assert!(bench.add_chain("default", 5, &[&format!("a.b@1.0::I{number}")]));
    }
    assert!(!bench.add_chain("default", 5, &[LIGHT]));
    assert!(bench.add_chain("default", 5, &["a.b@1.0::I7"]));
    assert!(bench.add_chain("other", 5, &[LIGHT]));
}
