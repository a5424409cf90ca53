// SPDX-License-Identifier: Apache-2.0
//! A service manager without a driver, for the unit tests of AIDL and of HIDL.
use super::device_state::Settings;
use super::dispatch::Manager;
use super::work::{Answer, Work};
use crate::policy::Policy;
use crate::wire::caller::{Caller, Transaction};
use crate::wire::port::Port;
use crate::wire::reply::Reply;
use anybinder_driver::level::Level;
use anybinder_driver::parcel::Parcel;
use anybinder_driver::receive_map::Memory;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A driver that writes down what is asked of it.
#[derive(Default)]
pub struct FakeDriver {
    pub kept: BTreeMap<u32, u64>,
    pub sent: Vec<(u32, Parcel)>,
    /// References to each object, beside those that the service manager counts as its own.
    pub clients: u32,
    /// How many questions about references there were.
    pub counted: usize,
    own: u32,
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
        Some(self.own + self.clients)
    }

    fn send(&mut self, handle: u32, code: u32, parcel: Parcel) {
        assert_eq!(code, 1);
        self.sent.push((handle, parcel));
    }
}

impl Answer {
    pub fn reply(self) -> Reply {
        match self {
            Answer::Reply(reply) => reply,
            Answer::Work(work) => panic!("it takes long: {work:?}"),
        }
    }

    pub fn work(self) -> Work {
        match self {
            Answer::Work(work) => work,
            Answer::Reply(reply) => panic!("it was done at once: {reply:?}"),
        }
    }
}

/// A service manager, its driver, and who calls.
pub struct TestManager {
    pub port: FakeDriver,
    pub manager: Manager,
    pub caller: Caller,
}

impl TestManager {
    fn of(settings: Settings, own: u32, caller: Caller) -> TestManager {
        let mut port = FakeDriver {
            own,
            ..FakeDriver::default()
        };
        let policy = Arc::new(Policy::load(None, None, false).unwrap());
        let manager = Manager::new("test", settings, policy, &mut port);
        TestManager {
            port,
            manager,
            caller,
        }
    }

    /// Process 0 is not remembered, so that each call stands alone.
    pub fn of_aidl(level: Level) -> TestManager {
        let settings = Settings {
            level,
            is_hidl: false,
            per_user: 20_000,
            allow_replacing_others: false,
        };
        let caller = Caller {
            pid: 0,
            uid: 1000,
            charged: 1000,
            context: 0,
        };
        TestManager::of(settings, 1, caller)
    }

    pub fn of_hidl() -> TestManager {
        let settings = Settings {
            level: Level::A16,
            is_hidl: true,
            per_user: 20_000,
            allow_replacing_others: false,
        };
        let caller = Caller {
            pid: 7,
            uid: 1_000_000,
            charged: 1_000_000,
            context: 0,
        };
        TestManager::of(settings, 2, caller)
    }

    /// Counts the clients of all objects. Returns in how many slices.
    pub fn count_clients(&mut self) -> usize {
        let TestManager { port, manager, .. } = self;
        let registry = &mut manager.state.registry;
        // Outside of a call there is no reference of its parcel.
        let own = std::mem::replace(&mut port.own, 1);
        registry.begin_count();
        let mut slices = 0;
        while registry.is_counting() {
            let before = port.counted;
            registry.count_clients(port);
            assert!(port.counted - before <= 8);
            slices += 1;
        }
        port.own = own;
        slices
    }

    /// Calls all callbacks that wait. Returns in how many slices, of which none is long.
    pub fn call_back(&mut self) -> usize {
        let TestManager { port, manager, .. } = self;
        let registry = &mut manager.state.registry;
        let mut slices = 0;
        while registry.has_notices() {
            let before = port.sent.len();
            registry.send_notices(port);
            assert!(port.sent.len() - before <= 8);
            slices += 1;
        }
        slices
    }

    pub fn answer(
        &mut self,
        code: u32,
        data: &[u8],
        offsets: &[u64],
        memory: &dyn Memory,
    ) -> Answer {
        let transaction = Transaction {
            code,
            caller: self.caller,
            data,
            offsets,
            memory,
        };
        self.manager.answer(&mut self.port, &transaction)
    }
}
