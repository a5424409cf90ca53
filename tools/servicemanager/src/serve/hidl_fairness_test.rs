// SPDX-License-Identifier: Apache-2.0
//! HIDL: one object has many names. What that takes is cut, and no user's names go with another's.
use super::hidl_methods::removal_done;
use super::hidl_test::{code, deliver, handle, names, LIGHT};
use super::test_manager::TestManager;
use super::work::Work;
use crate::wire::hidl::interface::Method;
use crate::wire::hidl::names::{full, BASE};
use crate::wire::reply::Reply;

const OTHER: &str = "a.b@1.0::IC";

/// Names of one object.
const COUNT: usize = 500;

fn bench_with_instances() -> TestManager {
    let mut bench = TestManager::of_hidl();
    for number in 0..COUNT {
        assert!(bench.add(&format!("n{number}"), 5, &[LIGHT]));
    }
    bench
}

#[test]
fn all_instances_are_told_in_slices_and_each_once() {
    let mut bench = bench_with_instances();
    assert!(bench.watch(Method::RegisterForNotifications, LIGHT, "", 6));
    assert_eq!(bench.port.sent.len(), 8);
    // The service z is new, also for callbacks that are told later.
    assert!(bench.add("z", 5, &[LIGHT]));
    assert!(bench.add("n1", 5, &[LIGHT]));
    assert!(bench.call_back() > COUNT / 8 - 2);
    let told = bench.notified();
    for (name, is_old, count) in [("z", false, 1), ("n1", false, 1), ("n2", true, 1)] {
        let is_it = |one: &&(u32, String, bool)| one.1 == full(LIGHT, name) && one.2 == is_old;
        assert_eq!(told.iter().filter(is_it).count(), count, "{name}");
    }
    // The callback of n1 was told before n1 was registered again.
    assert_eq!(told.len(), COUNT + 2);
}

#[test]
fn a_lookup_asks_once_whatever_the_number_of_names() {
    let mut bench = bench_with_instances();
    for number in 0..COUNT {
        let mut parcel = names(LIGHT, &format!("n{number}"));
        handle(&mut parcel, 5);
        handle(&mut parcel, 6);
        assert!(bench.is_done(Method::RegisterClientCallback, &parcel));
    }
    assert_eq!(bench.port.sent.len(), 0);
    let before = bench.port.counted;
    assert_eq!(bench.get(LIGHT, "n7"), Some(5));
    assert_eq!(bench.port.counted - before, 1);
    assert_eq!(bench.port.sent.len(), 8);
    bench.call_back();
    assert_eq!(bench.port.sent.len(), COUNT);
    assert_eq!(bench.get(LIGHT, "n8"), Some(5));
    assert_eq!(bench.port.counted - before, 1);
    // All of them are one object, which a client of each has.
    let mut unregister = names(LIGHT, "n9");
    handle(&mut unregister, 5);
    assert!(!bench.is_done(Method::TryUnregister, &unregister));
    assert_eq!(bench.count_clients(), 1);
    assert_eq!(bench.count_clients(), 1);
    bench.call_back();
    assert_eq!(bench.port.sent.len(), 2 * COUNT);
}

#[test]
fn a_callback_is_removed_from_many_names_in_slices() {
    let mut bench = TestManager::of_hidl();
    let before = bench.manager.state.registry.size();
    let on = Method::RegisterForNotifications;
    for number in 0..COUNT {
        assert!(bench.watch(on, LIGHT, &format!("n{number}"), 6));
    }
    assert!(bench.watch(on, OTHER, "one", 6));
    let mut parcel = names(LIGHT, "");
    handle(&mut parcel, 6);
    let method = code(Method::UnregisterForNotifications);
    let Work::Remove(mut removal) = bench.send_hidl(method, &deliver(&parcel)).work() else {
        panic!("no removal");
    };
    let mut slices = 1;
    let TestManager { port, manager, .. } = &mut bench;
    while manager.state.registry.remove_some(&mut removal, port) {
        slices += 1;
    }
    assert!(slices >= COUNT / 16, "{slices}");
    let Reply::Parcel(reply) = removal_done(&removal) else {
        panic!("no reply");
    };
    assert_eq!(reply.data[4], 1);
    // The callback for another interface is left.
    assert_eq!(manager.state.registry.size().1, before.1 + 1);
    assert!(bench.watch(Method::UnregisterForNotifications, "", "", 6));
    assert_eq!(bench.manager.state.registry.size(), before);
}

#[test]
fn a_base_removes_no_service() {
    let mut bench = TestManager::of_hidl();
    assert!(bench.add("default", 5, &[LIGHT, BASE]));
    bench.caller.uid += 1;
    assert!(!bench.add("default", 6, &[BASE]));
    assert!(bench.add("default", 6, &[BASE, OTHER]));
    assert_eq!(bench.get(LIGHT, "default"), Some(5));
    assert_eq!(bench.get(OTHER, "default"), Some(6));
    // Nor the service manager itself.
    assert!(bench
        .get("android.hidl.manager@1.0::IServiceManager", "default")
        .is_some());
}

#[test]
fn an_object_keeps_the_names_that_other_users_gave_it() {
    let mut bench = TestManager::of_hidl();
    assert!(bench.add("default", 5, &[LIGHT, BASE]));
    // Another user registers the same object as something else, then another object instead.
    bench.caller.uid += 1;
    assert!(bench.add("default", 5, &[OTHER]));
    assert!(bench.add("default", 6, &[OTHER]));
    assert_eq!(bench.get(LIGHT, "default"), Some(5));
    assert_eq!(bench.get(OTHER, "default"), Some(6));
    // Or removes it.
    assert!(bench.add("other", 5, &[OTHER]));
    bench.caller.uid -= 1;
    assert!(bench.add("other", 5, &[LIGHT]));
    bench.caller.uid += 1;
    let mut parcel = names(OTHER, "other");
    handle(&mut parcel, 5);
    handle(&mut parcel, 7);
    assert!(bench.is_done(Method::RegisterClientCallback, &parcel));
    bench.count_clients();
    bench.count_clients();
    let mut parcel = names(OTHER, "other");
    handle(&mut parcel, 5);
    assert!(bench.is_done(Method::TryUnregister, &parcel));
    assert_eq!(bench.get(OTHER, "other"), None);
    assert_eq!(bench.get(LIGHT, "other"), Some(5));
}

#[test]
fn an_object_has_so_many_interfaces() {
    let mut bench = TestManager::of_hidl();
    for number in 0..64 {
        assert!(bench.add("default", 5, &[&format!("a.b@1.0::I{number}")]));
    }
    assert!(!bench.add("default", 5, &[LIGHT]));
    assert!(bench.add("default", 5, &["a.b@1.0::I7"]));
    assert!(bench.add("other", 5, &[LIGHT]));
}
