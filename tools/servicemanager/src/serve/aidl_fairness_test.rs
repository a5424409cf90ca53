// SPDX-License-Identifier: Apache-2.0
//! Work that takes long is cut and bounded; clients of every libbinder are served.
use super::aidl_test::{add_numbered, bench, binder, exception, header, NAME};
use super::test_manager::TestManager;
use super::work::{Answer, Work};
use crate::wire::level::numbering::{self, Method};
use crate::wire::reply::Reply;
use anybinder_driver::level::{Level, StabilityForm};
use anybinder_driver::parcel::{Parcel, Reader};

/// Watches NAME with a callback that has a handle of its own.
fn watch(bench: &mut TestManager, handle: u32) {
    let mut parcel = header(Level::A16);
    parcel
        .string16(NAME)
        .binder(binder(handle), StabilityForm::Plain);
    let code = numbering::code(Level::A16, Method::RegisterForNotifications).unwrap();
    assert_eq!(exception(&bench.send(code, &parcel)), 0);
}

#[test]
fn many_callbacks_wait_and_each_is_called_once() {
    let mut bench = bench(Level::A16);
    for handle in 100..200 {
        watch(&mut bench, handle);
    }
    bench.data(Level::A16, Method::AddService);
    assert_eq!(bench.port.sent.len(), 8);
    // Another callback for the same service waits behind them.
    watch(&mut bench, 200);
    assert_eq!(bench.port.sent.len(), 8);
    let mut gone = header(Level::A16);
    gone.string16(NAME)
        .binder(binder(150), StabilityForm::Plain);
    let code = numbering::code(Level::A16, Method::UnregisterForNotifications).unwrap();
    assert_eq!(exception(&bench.send(code, &gone)), 0);
    assert!(bench.call_back() >= 11);
    let called: Vec<u32> = bench.port.sent.iter().map(|(handle, _)| *handle).collect();
    let wanted: Vec<u32> = (100..=200).filter(|handle| *handle != 150).collect();
    assert_eq!(called, wanted);
}

#[test]
fn callbacks_that_wait_are_not_told_of_a_service_that_is_gone() {
    let mut bench = bench(Level::A16);
    for handle in 100..120 {
        watch(&mut bench, handle);
    }
    bench.data(Level::A16, Method::AddService);
    let cookie = bench.port.kept[&5];
    bench.manager.died(&mut bench.port, cookie);
    assert_eq!(bench.port.sent.len(), 8);
    bench.call_back();
    assert_eq!(bench.port.sent.len(), 8);
}

#[test]
fn a_dead_object_with_many_names_is_forgotten_in_turns() {
    let mut bench = bench(Level::A16);
    let code = numbering::code(Level::A16, Method::AddService).unwrap();
    let mut add = |uid: u32, name: &str, handle: u32| {
        bench.caller.uid = uid;
        let mut parcel = header(Level::A16);
        parcel
            .string16(name)
            .binder(binder(handle), StabilityForm::Plain)
            .i32(0)
            .i32(8);
        assert_eq!(exception(&bench.send(code, &parcel)), 0);
    };
    for number in 0..1000 {
        add(1001, &format!("many{number}"), 10);
    }
    add(1002, "one", 20);
    let all = bench.manager.state.registry.len();
    let cookies = [10, 20].map(|handle| bench.port.kept[&handle]);
    let registry = &mut bench.manager.state.registry;
    for cookie in cookies {
        registry.died(cookie);
    }
    assert_eq!(registry.len(), all);
    let mut slices = 0;
    while registry.has_dead() {
        let before = registry.len();
        registry.forget_dead(&mut bench.port);
        assert!(before - registry.len() <= 16);
        slices += 1;
        assert!(
            registry.service("one").is_none(),
            "it waits for another user"
        );
        assert_eq!(
            bench.port.kept.contains_key(&10),
            registry.len() > all - 1001
        );
    }
    assert!(slices >= 1001 / 16, "{slices}");
    assert_eq!(registry.len(), all - 1001);
}

/// A list as the thread that makes it does.
fn list(bench: &mut TestManager) -> Vec<String> {
    let mut parcel = header(Level::A16);
    parcel.i32(0x0f);
    let code = numbering::code(Level::A16, Method::ListServices).unwrap();
    let Work::List(mut listing) = bench.ask(code, &parcel).work() else {
        panic!("no list");
    };
    while listing.step(&bench.manager.state) {}
    let left_out = listing.left_out();
    let Reply::Parcel(reply) = listing.reply() else {
        panic!("no list");
    };
    assert!(reply.data.len() <= 520 * 1024);
    let mut reader = Reader::new(&reply.data, &reply.offsets);
    assert_eq!(reader.i32(), Ok(0));
    let count = reader.i32().unwrap();
    let names: Vec<String> = (0..count).map(|_| reader.string16().unwrap()).collect();
    let all = bench.manager.state.registry.len();
    assert_eq!(names.len() + left_out, all);
    names
}

#[test]
fn a_long_list_is_cut_and_each_user_keeps_a_share() {
    let mut bench = bench(Level::A16);
    for number in 0..600 {
        add_numbered(&mut bench, number);
    }
    // The manager is one of them.
    assert_eq!(list(&mut bench).len(), 601);
    bench.caller.uid = 1001;
    let code = numbering::code(Level::A16, Method::AddService).unwrap();
    for number in 0..4000 {
        let mut parcel = header(Level::A16);
        let name = format!("a{number:0>126}");
        parcel
            .string16(&name)
            .binder(binder(number + 10_000), StabilityForm::Plain)
            .i32(0)
            .i32(8);
        assert_eq!(exception(&bench.send(code, &parcel)), 0);
    }
    let names = list(&mut bench);
    let of_other = names.iter().filter(|name| name.starts_with("a0")).count();
    assert!(of_other > 1000 && of_other < 4000, "{of_other}");
    assert_eq!(names.len() - of_other, 601);
}

#[test]
fn each_header_word_is_served_and_comes_back_in_callbacks() {
    for word in [b"SYST", b"VNDR", b"RECO", b"UNKN"].map(|text| i32::from_be_bytes(*text)) {
        let mut bench = bench(Level::A16);
        let mut parcel = Parcel::default();
        parcel
            .i32(i32::MIN)
            .i32(-1)
            .i32(word)
            .string16("android.os.IServiceManager")
            .string16(NAME)
            .binder(binder(6), StabilityForm::Plain);
        let code = numbering::code(Level::A16, Method::RegisterForNotifications).unwrap();
        assert_eq!(exception(&bench.send(code, &parcel)), 0);
        bench.data(Level::A16, Method::AddService);
        let [(6, sent)] = &bench.port.sent[..] else {
            panic!("{:?}", bench.port.sent);
        };
        let mut reader = Reader::new(&sent.data, &sent.offsets);
        let words = (reader.i32(), reader.i32(), reader.i32());
        assert_eq!(words, (Ok(0), Ok(-1), Ok(word)));
    }
}

#[test]
fn clients_are_counted_in_slices() {
    let mut bench = bench(Level::A16);
    let code = numbering::code(Level::A16, Method::RegisterClientCallback).unwrap();
    for number in 0..1000 {
        add_numbered(&mut bench, number);
        let mut parcel = header(Level::A16);
        parcel
            .string16(&format!("service.{number}"))
            .binder(binder(number + 10), StabilityForm::Plain)
            .binder(binder(5000), StabilityForm::Plain);
        assert_eq!(exception(&bench.send(code, &parcel)), 0);
    }
    assert_eq!(bench.port.sent, []);
    bench.port.clients = 2;
    assert!(bench.count_clients() >= 1000 / 8);
    bench.call_back();
    bench.port.clients = 0;
    bench.count_clients();
    bench.call_back();
    // Each is told that there are clients, then that there are none.
    assert_eq!(bench.port.sent.len(), 2000);
}

/// Asks for the name at a place, as before Android 11. None: it is behind the last.
fn name_at(bench: &mut TestManager, index: i32) -> Answer {
    let mut parcel = header(Level::A9);
    parcel.i32(index).i32(0x0f);
    let code = numbering::code(Level::A9, Method::ListServices).unwrap();
    bench.ask(code, &parcel)
}

fn name_of(reply: &Reply) -> String {
    match reply {
        Reply::Parcel(parcel) => Reader::new(&parcel.data, &[]).string16().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_list_by_index_goes_on_from_the_last_name() {
    let mut bench = bench(Level::A9);
    for number in 0..3000 {
        add_numbered(&mut bench, number);
    }
    let mut names = Vec::new();
    loop {
        let reply = name_at(&mut bench, names.len() as i32).reply();
        if matches!(reply, Reply::Status(-1)) {
            break;
        }
        // None of these took long.
        names.push(name_of(&reply));
        if names.len() == 1000 {
            let TestManager { port, manager, .. } = &mut bench;
            manager.state.registry.remove(port, &names[999]);
        }
    }
    assert_eq!(names.len(), 3001);
    assert!(names.is_sorted());
    // Out of order it takes long, so that a thread does it.
    let Work::List(mut listing) = name_at(&mut bench, 2000).work() else {
        panic!("no list");
    };
    while listing.step(&bench.manager.state) {}
    listing.note(&mut bench.manager.state);
    assert_eq!(name_of(&listing.reply()), names[2001]);
    assert_eq!(name_of(&name_at(&mut bench, 2001).reply()), names[2002]);
    assert!(matches!(name_at(&mut bench, -1).reply(), Reply::Status(-1)));
}
