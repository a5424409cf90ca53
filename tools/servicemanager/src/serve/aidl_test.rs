// SPDX-License-Identifier: Apache-2.0
//! Requests of every level, written from the tables: what libbinder of that level sends.
use super::test_manager::TestManager;
use super::work::Answer;
use crate::registry::MAX_CALLBACKS;
use crate::wire::level::numbering::{self, Method, Shape};
use crate::wire::reply::Reply;
use anybinder_driver::level::{Level, Stability, StabilityForm, LEVELS};
use anybinder_driver::parcel::{Parcel, Reader, Target};
use anybinder_driver::receive_map::Memory;
use rsbinder::{ExceptionCode, StatusCode};

pub const NAME: &str = "anybinder.test";

/// AIDL has no buffers.
struct NoMemory;

impl Memory for NoMemory {
    fn bytes(&self, _: u64, _: u64) -> Option<&[u8]> {
        None
    }
}

pub fn bench(level: Level) -> TestManager {
    TestManager::of_aidl(level)
}

/// The header that libbinder of a level writes.
pub fn header(level: Level) -> Parcel {
    let mut parcel = Parcel::default();
    match level {
        Level::A9 => parcel.i32(0x40 << 16),
        Level::A10 => parcel.i32(0x40 << 16).i32(-1),
        _ => parcel
            .i32(i32::MIN)
            .i32(-1)
            .i32(i32::from_be_bytes(*b"SYST")),
    };
    parcel.string16("android.os.IServiceManager");
    parcel
}

pub fn binder(handle: u32) -> Option<(Target, Stability)> {
    Some((Target::Handle(handle), Stability::SYSTEM))
}

/// A request with the arguments that a method has; handle 5 is the service, 6 the callback.
fn request(level: Level, method: Method) -> Parcel {
    let form = level.stability_form();
    let mut parcel = header(level);
    let code = numbering::code(level, method).unwrap();
    match numbering::method(level, code).unwrap().1 {
        Shape::Nothing => {}
        Shape::Name => drop(parcel.string16(NAME)),
        Shape::Priority if level.is_legacy() => drop(parcel.i32(0).i32(0x0f)),
        Shape::Priority => drop(parcel.i32(0x0f)),
        Shape::Add => {
            parcel.string16(NAME).binder(binder(5), form).i32(0).i32(8);
        }
        Shape::NameBinder => {
            let handle = match method {
                Method::TryUnregisterService => 5,
                _ => 6,
            };
            parcel.string16(NAME).binder(binder(handle), form);
        }
        Shape::NameBinderBinder => {
            parcel
                .string16(NAME)
                .binder(binder(5), form)
                .binder(binder(6), form);
        }
    }
    parcel
}

impl TestManager {
    pub fn ask(&mut self, code: u32, parcel: &Parcel) -> Answer {
        self.answer(code, &parcel.data, &parcel.offsets, &NoMemory)
    }

    /// Sends what is answered at once.
    pub fn send(&mut self, code: u32, parcel: &Parcel) -> Reply {
        self.ask(code, parcel).reply()
    }

    pub fn call(&mut self, level: Level, method: Method) -> Reply {
        let code = numbering::code(level, method).unwrap();
        self.send(code, &request(level, method))
    }

    pub fn data(&mut self, level: Level, method: Method) -> Parcel {
        match self.call(level, method) {
            Reply::Parcel(parcel) => parcel,
            other => panic!("{level} {method:?}: {other:?}"),
        }
    }
}

/// The handle in a lookup's reply, as libbinder of that level reads it; None for null.
fn found(level: Level, method: Method, reply: &Parcel) -> Option<u32> {
    let mut reader = Reader::new(&reply.data, &reply.offsets);
    if level.is_legacy() {
        return reader.binder(false).ok().map(handle_of);
    }
    assert_eq!(reader.i32(), Ok(0), "exception");
    match numbering::found(level, method) {
        numbering::Found::Binder => {}
        numbering::Found::Union => {
            assert_eq!((reader.i32(), reader.i32()), (Ok(1), Ok(0)));
        }
        numbering::Found::UnionWithMetadata => {
            assert_eq!((reader.i32(), reader.i32()), (Ok(1), Ok(0)));
            assert_eq!(reader.i32(), Ok(1), "not null");
            let size = reader.i32().unwrap();
            assert_eq!(
                size as usize,
                reply.data.len() - 16,
                "size of the parcelable"
            );
        }
    }
    let binder = reader.binder(true).ok()?;
    assert_eq!(
        binder.stability,
        Some((Stability::SYSTEM, level.stability_form()))
    );
    Some(handle_of(binder))
}

fn handle_of(binder: anybinder_driver::parcel::Binder) -> u32 {
    match binder.target {
        Target::Handle(handle) => handle,
        Target::Own => u32::MAX,
    }
}

pub fn exception(reply: &Reply) -> i32 {
    match reply {
        Reply::Parcel(parcel) => Reader::new(&parcel.data, &[]).i32().unwrap(),
        other => panic!("{other:?}"),
    }
}

const LOOKUPS: [Method; 4] = [
    Method::GetService,
    Method::GetService2,
    Method::CheckService,
    Method::CheckService2,
];

#[test]
fn a_service_of_each_level_is_found_at_each_level() {
    for adds in LEVELS {
        let mut one = bench(adds);
        one.data(adds, Method::AddService);
        for finds in LEVELS {
            // The device is set to the level of the client: all of its calls are certain.
            let mut other = bench(finds);
            other.data(adds, Method::AddService);
            for method in LOOKUPS {
                if numbering::code(finds, method).is_some() {
                    let reply = other.data(finds, method);
                    assert_eq!(found(finds, method, &reply), Some(5), "{adds} {finds}");
                }
            }
        }
    }
}

#[test]
fn adding_and_listing_are_certain_whatever_the_device_is_set_to() {
    for device in LEVELS {
        for client in LEVELS {
            let mut bench = bench(device);
            let added = bench.data(client, Method::AddService);
            assert_eq!(added.data, [0, 0, 0, 0]);
            assert!(bench.manager.state.registry.service(NAME).is_some());
            let listed = bench.data(client, Method::ListServices);
            let mut reader = Reader::new(&listed.data, &listed.offsets);
            if !client.is_legacy() {
                assert_eq!((reader.i32(), reader.i32()), (Ok(0), Ok(2)));
            }
            assert_eq!(reader.string16().as_deref(), Ok(NAME));
        }
    }
}

#[test]
fn a_call_that_could_be_of_two_levels_is_never_answered_by_guess() {
    // Code 3 with a name: checkService of Android 15 or of 16.
    let code = numbering::code(Level::A16, Method::CheckService).unwrap();
    let lookup = request(Level::A16, Method::CheckService);
    let status = bench(Level::A11).send(code, &lookup);
    assert_eq!(status, StatusCode::UnknownTransaction.into());
    for device in [Level::A15R6, Level::A15R20, Level::A16] {
        let reply = bench(device).send(code, &lookup);
        let Reply::Parcel(reply) = reply else {
            panic!("{reply:?}");
        };
        assert_eq!(found(device, Method::CheckService, &reply), None);
    }
}

#[test]
fn a_process_is_answered_at_its_own_level_once_that_is_known() {
    for client in LEVELS.into_iter().filter(|level| *level >= Level::A11) {
        let mut bench = bench(Level::A16);
        bench.caller.pid = std::process::id() as i32;
        bench.data(client, Method::AddService);
        let numbering_is_known = client <= Level::A14 || client == Level::A16;
        let method = Method::CheckService;
        if numbering_is_known && client != Level::A12 {
            let reply = bench.data(client, method);
            assert_eq!(found(client, method, &reply), Some(5), "{client}");
        }
    }
}

/// Android 15 is numbered as 14 up to r5, and has getService2 from r6 on: programs of both are of
/// API level 35. rsbinder asks which one it is by getServiceDebugInfo, the last code of each.
#[test]
fn both_numberings_of_api_level_35_are_served_on_one_device() {
    let numberings = [Level::A14, Level::A15R6];
    for device in [Level::A14, Level::A15R6, Level::A15R20, Level::A16] {
        for (client, last) in numberings.into_iter().zip([14, 15]) {
            let mut bench = bench(device);
            bench.caller.pid = std::process::id() as i32;
            assert!(matches!(
                bench.send(last, &header(client)),
                Reply::Parcel(_)
            ));
            bench.data(client, Method::AddService);
            for method in [Method::GetService, Method::CheckService] {
                // r6 and r20 return it in other forms, which the device's level decides.
                if client == Level::A14 || method == Method::GetService || device == client {
                    let reply = bench.data(client, method);
                    assert_eq!(
                        found(client, method, &reply),
                        Some(5),
                        "{client} at {device}"
                    );
                }
            }
        }
    }
}

#[test]
fn libgbinder_is_known_by_its_header() {
    // libgbinder looks up by code 2 up to Android 14, and by 3 from 15 on; a plain binder is
    // returned.
    let mut parcel = Parcel::default();
    parcel
        .i32(0x40 << 16)
        .i32(-1)
        .i32(i32::from_be_bytes(*b"SYST"))
        .string16("android.os.IServiceManager")
        .string16(NAME);
    for code in [1, 2, 3] {
        let mut bench = bench(Level::A16);
        bench.data(Level::A16, Method::AddService);
        let Reply::Parcel(reply) = bench.send(code, &parcel) else {
            panic!("code {code}");
        };
        assert_eq!(found(Level::A11, Method::CheckService, &reply), Some(5));
    }
}

#[test]
fn callbacks_are_sent_in_the_format_of_their_client() {
    for level in LEVELS.into_iter().filter(|level| !level.is_legacy()) {
        let mut bench = bench(level);
        bench.data(level, Method::RegisterForNotifications);
        // Registered twice, it is called once.
        bench.data(level, Method::RegisterForNotifications);
        bench.data(level, Method::AddService);
        let [(6, sent)] = &bench.port.sent[..] else {
            panic!("{level}: {:?}", bench.port.sent);
        };
        let mut reader = Reader::new(&sent.data, &sent.offsets);
        assert_eq!((reader.i32(), reader.i32()), (Ok(0), Ok(-1)));
        assert_eq!(reader.i32(), Ok(i32::from_be_bytes(*b"SYST")));
        let descriptor = reader.string16();
        assert_eq!(descriptor.as_deref(), Ok("android.os.IServiceCallback"));
        assert_eq!(reader.string16().as_deref(), Ok(NAME));
        let service = reader.binder(true).unwrap();
        let form = level.stability_form();
        assert_eq!(service.stability, Some((Stability::SYSTEM, form)));
        bench.port.sent.clear();
        bench.data(level, Method::UnregisterForNotifications);
        bench.data(level, Method::AddService);
        assert_eq!(bench.port.sent, []);
        let again = bench.call(level, Method::UnregisterForNotifications);
        assert_ne!(again, Reply::Parcel(Parcel::default()));
    }
}

#[test]
fn a_lazy_service_is_told_of_its_clients_and_unregisters() {
    for level in LEVELS.into_iter().filter(|level| !level.is_legacy()) {
        let mut bench = bench(level);
        bench.data(level, Method::AddService);
        bench.data(level, Method::RegisterClientCallback);
        bench.data(level, Method::GetService);
        assert_eq!(bench.port.sent.len(), 1, "{level}");
        bench.port.clients = 2;
        let refused = bench.call(level, Method::TryUnregisterService);
        assert_eq!(exception(&refused), ExceptionCode::IllegalState as i32);
        bench.port.clients = 0;
        for _ in 0..2 {
            bench.count_clients();
        }
        let (6, gone) = bench.port.sent.pop().unwrap() else {
            panic!();
        };
        let has_clients = gone.data.last_chunk::<4>();
        assert_eq!(has_clients, Some(&[0, 0, 0, 0]));
        let done = bench.data(level, Method::TryUnregisterService);
        assert_eq!(done.data, [0, 0, 0, 0], "{level}");
        let reply = bench.data(level, Method::GetService);
        assert_eq!(found(level, Method::GetService, &reply), None);
        bench.caller.uid = 7;
        bench.data(level, Method::AddService);
        bench.caller.uid = 8;
        let other = bench.call(level, Method::TryUnregisterService);
        assert_eq!(
            exception(&other),
            ExceptionCode::UnsupportedOperation as i32
        );
    }
}

#[test]
fn what_is_declared_is_answered_at_every_level() {
    for level in LEVELS.into_iter().filter(|level| !level.is_legacy()) {
        let mut bench = bench(level);
        for (method, wanted) in [
            (Method::IsDeclared, vec![0, 0]),
            (Method::GetDeclaredInstances, vec![0, 0]),
            (Method::UpdatableViaApex, vec![0, -1]),
            (Method::GetUpdatableNames, vec![0, 0]),
            (Method::GetConnectionInfo, vec![0, 0]),
        ] {
            if numbering::code(level, method).is_none() {
                continue;
            }
            let reply = bench.data(level, method);
            let mut reader = Reader::new(&reply.data, &reply.offsets);
            for word in wanted {
                assert_eq!(reader.i32(), Ok(word), "{level} {method:?}");
            }
            assert!(reader.is_at_end());
        }
        if numbering::code(level, Method::GetServiceDebugInfo).is_some() {
            let reply = bench.data(level, Method::GetServiceDebugInfo);
            let mut reader = Reader::new(&reply.data, &reply.offsets);
            for word in [0, 1, 1] {
                assert_eq!(reader.i32(), Ok(word));
            }
            reader.i32().unwrap();
            assert_eq!(reader.string16().as_deref(), Ok("manager"));
            assert_eq!(reader.i32(), Ok(std::process::id() as i32));
        }
    }
}

#[test]
fn a_parcel_cut_at_any_byte_changes_nothing() {
    for level in LEVELS {
        for code in 1.. {
            let Some((method, shape)) = numbering::method(level, code) else {
                break;
            };
            let whole = request(level, method);
            // Before Android 11 the last words of addService and listServices may be missing.
            let optional = match (level.is_legacy(), shape) {
                (true, Shape::Add) => 8,
                (true, Shape::Priority) => 4,
                _ => 0,
            };
            for size in 0..whole.data.len() - optional {
                let mut bench = bench(level);
                let mut cut = whole.clone();
                cut.data.truncate(size);
                cut.offsets.retain(|offset| offset + 24 <= size as u64);
                let reply = bench.send(code, &cut);
                // A whole call of another level may be left, as registerForNotifications of
                // Android 14 of addService of 16; never one that adds or removes a service.
                assert!(bench.manager.state.registry.service(NAME).is_none());
                if size % 4 != 0 || size < header(level).data.len() {
                    assert!(
                        matches!(reply, Reply::Status(..0)),
                        "{level} {method:?} {size}"
                    );
                }
            }
        }
    }
}

#[test]
fn wrong_types_have_the_status_of_libbinder() {
    let level = Level::A16;
    let add = numbering::code(level, Method::AddService).unwrap();
    let status = |parcel: &Parcel, code| bench(level).send(code, parcel);
    let mut other = Parcel::default();
    other
        .i32(0)
        .i32(-1)
        .i32(i32::from_be_bytes(*b"SYST"))
        .string16("a.b.c");
    assert_eq!(status(&other, 1), StatusCode::BadType.into());
    assert_eq!(
        status(&Parcel::default(), 1),
        StatusCode::NotEnoughData.into()
    );
    let mut null_name = header(level);
    null_name.i32(-1);
    assert_eq!(status(&null_name, 1), StatusCode::UnexpectedNull.into());
    let mut null_service = header(level);
    null_service
        .string16(NAME)
        .binder(None, StabilityForm::Plain)
        .i32(0)
        .i32(8);
    assert_eq!(
        status(&null_service, add),
        StatusCode::UnexpectedNull.into()
    );
    let mut no_object = header(level);
    no_object.string16(NAME).i32(1).i32(2).i32(0).i32(8);
    no_object.string16("a string where the object should be");
    assert_eq!(status(&no_object, add), StatusCode::BadType.into());
    let unknown = header(level);
    assert_eq!(status(&unknown, 17), StatusCode::UnknownTransaction.into());
    assert_eq!(
        status(&unknown, 0x00ff_ffff),
        StatusCode::UnknownTransaction.into()
    );
}

#[test]
fn names_have_1_to_127_characters() {
    for level in LEVELS {
        let add = numbering::code(level, Method::AddService).unwrap();
        let long = "a".repeat(64 * 1024);
        for name in ["", &long, &long[..128], "a b", "ä"] {
            let mut bench = bench(level);
            let mut parcel = header(level);
            parcel
                .string16(name)
                .binder(binder(5), level.stability_form())
                .i32(0)
                .i32(8);
            match bench.send(add, &parcel) {
                Reply::Status(status) => assert!(level.is_legacy() && status == -1),
                reply => assert_eq!(exception(&reply), ExceptionCode::IllegalArgument as i32),
            }
            assert_eq!(bench.manager.state.registry.size().0, 0);
        }
        let mut bench = bench(level);
        let mut parcel = header(level);
        parcel
            .string16(&long[..127])
            .binder(binder(5), level.stability_form())
            .i32(0)
            .i32(8);
        assert!(matches!(bench.send(add, &parcel), Reply::Parcel(_)));
    }
}

/// Registers a service under its own name with its own handle.
pub fn add_numbered(bench: &mut TestManager, number: u32) -> Reply {
    let mut parcel = header(Level::A16);
    parcel
        .string16(&format!("service.{number}"))
        .binder(binder(number + 10), StabilityForm::Plain)
        .i32(0)
        .i32(8);
    let code = numbering::code(Level::A16, Method::AddService).unwrap();
    bench.send(code, &parcel)
}

#[test]
fn ten_thousand_services_come_and_go() {
    let mut bench = bench(Level::A16);
    let before = bench.manager.state.registry.size();
    for _ in 0..2 {
        for number in 0..10_000 {
            assert!(matches!(add_numbered(&mut bench, number), Reply::Parcel(_)));
        }
        assert_eq!(bench.manager.state.registry.size().0, 10_000);
        for cookie in bench.port.kept.clone().into_values() {
            bench.manager.died(&mut bench.port, cookie);
        }
        assert_eq!(bench.manager.state.registry.size(), before);
        assert_eq!(bench.port.kept.len(), 0);
    }
}

#[test]
fn a_user_at_its_limit_is_refused_and_others_are_not() {
    let mut bench = bench(Level::A16);
    for number in 0..20_000 {
        add_numbered(&mut bench, number);
    }
    let refused = add_numbered(&mut bench, 20_000);
    assert_eq!(exception(&refused), ExceptionCode::IllegalState as i32);
    bench.caller.uid = 1001;
    let other = add_numbered(&mut bench, 20_001);
    assert_eq!(exception(&other), 0);
}

#[test]
fn a_name_has_so_many_callbacks_of_a_user() {
    let mut bench = bench(Level::A16);
    let code = numbering::code(Level::A16, Method::RegisterForNotifications).unwrap();
    let watch = |bench: &mut TestManager, handle| {
        let mut parcel = header(Level::A16);
        parcel
            .string16(NAME)
            .binder(binder(handle), StabilityForm::Plain);
        exception(&bench.send(code, &parcel))
    };
    for handle in 0..MAX_CALLBACKS as u32 {
        assert_eq!(watch(&mut bench, handle), 0);
    }
    let refused = watch(&mut bench, 1000);
    assert_eq!(refused, ExceptionCode::IllegalState as i32);
    bench.caller.uid = 1001;
    assert_eq!(watch(&mut bench, 1001), 0);
}

#[test]
fn a_service_is_not_replaced_by_another_user() {
    let mut bench = bench(Level::A16);
    assert_eq!(exception(&add_numbered(&mut bench, 1)), 0);
    bench.caller.uid = 1001;
    // The same object may be registered again, another one may not.
    assert_eq!(exception(&add_numbered(&mut bench, 1)), 0);
    let mut parcel = header(Level::A16);
    parcel
        .string16("service.1")
        .binder(binder(99), StabilityForm::Plain)
        .i32(0)
        .i32(8);
    let code = numbering::code(Level::A16, Method::AddService).unwrap();
    bench.caller.uid = 1002;
    let refused = bench.send(code, &parcel);
    assert_eq!(exception(&refused), ExceptionCode::Security as i32);
}
