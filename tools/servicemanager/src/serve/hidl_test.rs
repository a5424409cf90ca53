// SPDX-License-Identifier: Apache-2.0
//! Requests of HIDL as a driver delivers them: the buffers of a parcel are at addresses.
use super::hidl_methods::add_with_chain;
use super::test_manager::TestManager;
use super::work::{Answer, PendingAdd, Work};
use crate::wire::hidl::interface::{base_code, Method, INTERFACE_CHAIN, METHODS};
use crate::wire::hidl::names::{full, BASE, CHAIN, NOTIFICATION};
use crate::wire::hidl::{is_hidl, read_chain};
use crate::wire::reply::Reply;
use anybinder_driver::hidl_parcel::Reader;
use anybinder_driver::level::{Stability, StabilityForm};
use anybinder_driver::parcel::{Parcel, Target};
use anybinder_driver::receive_map::Memory;
use std::collections::BTreeMap;

pub const LIGHT: &str = "android.hardware.light@2.1::ILight";
const LIGHT_2_0: &str = "android.hardware.light@2.0::ILight";
const BUFFERS: u64 = 0x7000_0000;
const BUFFER_OBJECT_SIZE: usize = 40;

/// A parcel after the driver copied it.
pub struct Delivered {
    data: Vec<u8>,
    offsets: Vec<u64>,
    memory: Vec<u8>,
}

impl Memory for Delivered {
    fn bytes(&self, address: u64, size: u64) -> Option<&[u8]> {
        let start = usize::try_from(address.checked_sub(BUFFERS)?).ok()?;
        self.memory.get(start..start.checked_add(size as usize)?)
    }
}

/// What the driver does: copies the buffers, and writes each address into the object and into the
/// parent.
pub fn deliver(parcel: &Parcel) -> Delivered {
    let mut all = Delivered {
        data: parcel.data.clone(),
        offsets: parcel.offsets.clone(),
        memory: Vec::new(),
    };
    let mut starts = BTreeMap::new();
    for (at, bytes) in &parcel.buffers {
        let start = all.memory.len();
        let address = (BUFFERS + start as u64).to_ne_bytes();
        all.memory.extend_from_slice(bytes);
        all.memory
            .resize((start + bytes.len()).next_multiple_of(8), 0);
        all.data[at + 8..at + 16].copy_from_slice(&address);
        let word = |place: usize| -> u64 {
            let bytes = &all.data[at + place..at + place + 8];
            u64::from_ne_bytes(bytes.try_into().unwrap())
        };
        let index = all.offsets.iter().position(|offset| *offset == *at as u64);
        starts.insert(index.unwrap() as u64, start);
        if all.data[at + 4] == 1 {
            let place = starts[&word(24)] + word(32) as usize;
            all.memory[place..place + 8].copy_from_slice(&address);
        }
    }
    all
}

fn bench() -> TestManager {
    TestManager::of_hidl()
}

fn request() -> Parcel {
    Parcel::hidl_call(CHAIN[0])
}

pub fn code(method: Method) -> u32 {
    let number = METHODS.iter().position(|one| *one == method).unwrap();
    number as u32 + 1
}

pub fn handle(parcel: &mut Parcel, handle: u32) {
    let binder = Some((Target::Handle(handle), Stability::UNDECLARED));
    parcel.binder(binder, StabilityForm::Absent);
}

pub fn names(interface: &str, instance: &str) -> Parcel {
    let mut parcel = request();
    parcel.hidl_string(interface).hidl_string(instance);
    parcel
}

impl TestManager {
    pub fn send_hidl(&mut self, code: u32, all: &Delivered) -> Answer {
        self.answer(code, &all.data, &all.offsets, all)
    }

    /// The reply after its status.
    fn call_hidl(&mut self, code: u32, parcel: &Parcel) -> Parcel {
        match self.send_hidl(code, &deliver(parcel)).reply() {
            Reply::Parcel(reply) => {
                assert_eq!(reply.data[..4], [0; 4]);
                reply
            }
            other => panic!("{other:?}"),
        }
    }

    pub fn is_done(&mut self, method: Method, parcel: &Parcel) -> bool {
        let reply = self.call_hidl(code(method), parcel);
        assert_eq!(reply.data.len(), 8);
        reply.data[4] == 1
    }

    pub fn add(&mut self, instance: &str, service: u32, chain: &[&str]) -> bool {
        let mut parcel = request();
        parcel.hidl_string(instance);
        handle(&mut parcel, service);
        parcel.hidl_strings(chain);
        self.is_done(Method::AddWithChain, &parcel)
    }

    pub fn get(&mut self, interface: &str, instance: &str) -> Option<u32> {
        let reply = self.call_hidl(code(Method::Get), &names(interface, instance));
        let word = u32::from_ne_bytes(reply.data[12..16].try_into().unwrap());
        (!reply.offsets.is_empty()).then_some(word)
    }

    fn strings(&mut self, code: u32, parcel: &Parcel) -> Vec<String> {
        let reply = deliver(&self.call_hidl(code, parcel));
        read_chain(&reply.data, &reply.offsets, &reply).unwrap()
    }

    fn list(&mut self) -> Vec<String> {
        self.strings(code(Method::List), &request())
    }

    pub fn watch(
        &mut self,
        method: Method,
        interface: &str,
        instance: &str,
        callback: u32,
    ) -> bool {
        let mut parcel = names(interface, instance);
        handle(&mut parcel, callback);
        self.is_done(method, &parcel)
    }

    /// The notifications since the last call: callback, full name, whether it was there before.
    pub fn notified(&mut self) -> Vec<(u32, String, bool)> {
        let sent = std::mem::take(&mut self.port.sent);
        sent.iter()
            .map(|(callback, parcel)| {
                let all = deliver(parcel);
                let mut reader = Reader::new(&all.data, &all.offsets, &all);
                assert_eq!(reader.interface(), Ok(NOTIFICATION));
                let (interface, instance) = (reader.string().unwrap(), reader.string().unwrap());
                let is_old = reader.i32().unwrap() == 1;
                (*callback, full(&interface, &instance), is_old)
            })
            .collect()
    }
}

#[test]
fn a_service_is_found_as_each_of_its_interfaces() {
    let mut bench = bench();
    let chain = [LIGHT, LIGHT_2_0, BASE];
    assert!(bench.add("default", 5, &chain));
    assert_eq!(bench.get(LIGHT, "default"), Some(5));
    assert_eq!(bench.get(LIGHT_2_0, "default"), Some(5));
    assert_eq!(bench.get(LIGHT, "other"), None);
    let own = CHAIN.len() - 1;
    assert_eq!(bench.list().len(), own + chain.len());
    let by_interface = code(Method::ListByInterface);
    let mut parcel = request();
    parcel.hidl_string(LIGHT);
    assert_eq!(bench.strings(by_interface, &parcel), ["default"]);
    // A service that is no 2.1 takes its place, and leaves no 2.1.
    assert!(bench.add("default", 6, &[LIGHT_2_0, BASE]));
    assert_eq!(bench.get(LIGHT_2_0, "default"), Some(6));
    assert_eq!(bench.get(LIGHT, "default"), None);
    bench.caller.uid += 1;
    assert!(!bench.add("default", 8, &[LIGHT, LIGHT_2_0, BASE]));
    assert_eq!(bench.get(LIGHT, "default"), None);
    assert!(bench.add("default", 8, &[LIGHT, BASE]));
}

#[test]
fn a_service_of_version_1_0_is_asked_for_its_interfaces() {
    let mut bench = bench();
    let mut parcel = request();
    parcel.hidl_string("default");
    handle(&mut parcel, 5);
    let asked = bench.send_hidl(code(Method::Add), &deliver(&parcel));
    let Work::AskChain(pending) = asked.work() else {
        panic!("it was not asked");
    };
    let expected = PendingAdd {
        caller: bench.caller,
        instance: "default".to_string(),
        handle: 5,
    };
    assert_eq!(pending, expected);
    let chain = [LIGHT.to_string(), BASE.to_string()];
    let TestManager { port, manager, .. } = &mut bench;
    add_with_chain(&mut manager.state, port, &pending, None);
    assert_eq!(bench.get(LIGHT, "default"), None);
    let TestManager { port, manager, .. } = &mut bench;
    add_with_chain(&mut manager.state, port, &pending, Some(&chain));
    assert_eq!(bench.get(LIGHT, "default"), Some(5));
}

#[test]
fn callbacks_are_for_an_instance_or_for_all() {
    let mut bench = bench();
    assert!(bench.add("old", 5, &[LIGHT, BASE]));
    let on = Method::RegisterForNotifications;
    let off = Method::UnregisterForNotifications;
    assert!(bench.watch(on, LIGHT, "", 6));
    assert_eq!(bench.notified(), [(6, full(LIGHT, "old"), true)]);
    assert!(bench.watch(on, LIGHT, "new", 7));
    assert_eq!(bench.notified(), []);
    assert!(bench.add("new", 5, &[LIGHT, BASE]));
    let new = full(LIGHT, "new");
    let expected = [(7, new.clone(), false), (6, new.clone(), false)];
    assert_eq!(bench.notified(), expected);
    assert!(!bench.watch(off, LIGHT, "none", 7));
    assert!(bench.watch(off, LIGHT, "", 7));
    assert!(bench.watch(off, "", "", 6));
    assert!(!bench.watch(off, "", "", 6));
    assert!(bench.add("new", 5, &[LIGHT, BASE]));
    assert_eq!(bench.notified(), []);
    let cookie = bench.port.kept[&5];
    bench.manager.died(&mut bench.port, cookie);
    assert_eq!(bench.get(LIGHT, "new"), None);
    assert!(bench.port.kept.is_empty());
    // What is left is the manager's own.
    assert_eq!(bench.manager.state.registry.size(), (0, CHAIN.len()));
}

#[test]
fn a_lazy_service_is_told_of_its_clients_and_leaves() {
    let mut bench = bench();
    assert!(bench.add("default", 5, &[LIGHT, LIGHT_2_0, BASE]));
    let mut parcel = names(LIGHT, "default");
    handle(&mut parcel, 5);
    handle(&mut parcel, 6);
    assert!(bench.is_done(Method::RegisterClientCallback, &parcel));
    // Found as the interface that it extends.
    assert_eq!(bench.get(LIGHT_2_0, "default"), Some(5));
    assert_eq!(bench.port.sent.len(), 1);
    let mut unregister = names(LIGHT, "default");
    handle(&mut unregister, 5);
    assert!(!bench.is_done(Method::TryUnregister, &unregister));
    bench.count_clients();
    bench.port.clients = 0;
    bench.port.sent.clear();
    bench.count_clients();
    let mut parcel = request();
    parcel.binder(None, StabilityForm::Absent);
    handle(&mut parcel, 6);
    assert!(bench.is_done(Method::UnregisterClientCallback, &parcel));
    assert!(!bench.is_done(Method::UnregisterClientCallback, &parcel));
}

#[test]
fn base_methods_are_answered() {
    let mut bench = bench();
    let parcel = Parcel::hidl_call(BASE);
    assert_eq!(bench.strings(INTERFACE_CHAIN, &parcel), CHAIN);
    bench.call_hidl(base_code(*b"PNG"), &parcel);
    let hashes = bench.call_hidl(base_code(*b"HSH"), &parcel);
    assert_eq!(hashes.buffers[1].1.len(), 4 * 32);
    assert_eq!(hashes.buffers[1].1[..2], [0x6f, 0x3a]);
    let info = bench.call_hidl(base_code(*b"REF"), &parcel);
    assert_eq!(info.buffers[0].1[..4], std::process::id().to_ne_bytes());
    let reply = bench.send_hidl(base_code(*b"DBG"), &deliver(&parcel));
    assert!(matches!(reply, Answer::Reply(Reply::Status(_))));
    let dump = bench.call_hidl(code(Method::DebugDump), &request());
    // The vector, its elements, and three members of each.
    assert_eq!(dump.buffers.len(), 2 + 3 * CHAIN.len());
}

#[test]
fn every_cut_and_every_changed_word_is_refused_or_answered() {
    let mut whole = request();
    whole.hidl_string("default");
    handle(&mut whole, 5);
    whole.hidl_strings(&[LIGHT, BASE]);
    let method = code(Method::AddWithChain);
    for size in 0..whole.data.len() {
        let mut all = deliver(&whole);
        all.data.truncate(size);
        let fits = |offset: &u64| *offset as usize + BUFFER_OBJECT_SIZE <= size;
        all.offsets.retain(fits);
        let reply = bench().send_hidl(method, &all);
        assert!(
            matches!(reply, Answer::Reply(Reply::Status(_))),
            "{size}: {reply:?}"
        );
    }
    for at in (0..whole.data.len() - 4).step_by(4) {
        for word in [0, 1, 0x7fff_ffff, u32::MAX] {
            let mut all = deliver(&whole);
            all.data[at..at + 4].copy_from_slice(&u32::to_ne_bytes(word));
            bench().send_hidl(method, &all);
        }
    }
    for at in (0..deliver(&whole).memory.len() - 4).step_by(4) {
        let mut all = deliver(&whole);
        all.memory[at..at + 4].fill(0xff);
        let mut bench = bench();
        let reply = bench.send_hidl(method, &all);
        let is_added = matches!(&reply, Answer::Reply(Reply::Parcel(reply)) if reply.data[4] == 1);
        // Only padding, and who owns the memory, may have any value.
        let is_right = bench.get(LIGHT, "default") == Some(5);
        assert_eq!(is_added, is_right, "{at}");
    }
    // An object that the driver does not know, and one that is another.
    let mut all = deliver(&whole);
    all.offsets.remove(1);
    assert!(matches!(
        bench().send_hidl(method, &all),
        Answer::Reply(Reply::Status(_))
    ));
    assert!(is_hidl(&all.data) && !is_hidl(&[0; 64]));
}
