// SPDX-License-Identifier: Apache-2.0
//! `hard-rust serve NAME` and `hard-rust call NAME`: what `hard-peer` is, by rsbinder.
use std::fmt::Debug;
use std::os::fd::AsFd;
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;
use std::time::Duration;

use rsbinder::{
    hub, BinderResult, Deserialize, ExceptionCode, Interface, Parcel, ParcelFileDescriptor,
    ProcessState, SIBinder, Serialize, Status, StatusCode, Strong,
};

include!(concat!(env!("OUT_DIR"), "/hard_aidl.rs"));

use hard::Choice::Choice;
use hard::Colour::Colour;
use hard::Everything::{Deep::Deep, Everything};
use hard::ICallback::{BnCallback, ICallback};
use hard::IHard::{
    BnHard, IHard,
    INested::{BnNested, INested, Kind::Kind},
    Inner::Inner,
};
use hard::Pair::Pair;

/// A copy by way of a parcel: not all values can be cloned.
fn copy<S: Serialize + ?Sized, D: Deserialize>(value: &S) -> BinderResult<D> {
    let mut parcel = Parcel::new();
    parcel.write(value)?;
    parcel.set_data_position(0);
    Ok(parcel.read()?)
}

struct Nested;
impl Interface for Nested {}
impl INested for Nested {
    fn other(&self, kind: Kind) -> BinderResult<Kind> {
        Ok(if kind == Kind::A { Kind::B } else { Kind::A })
    }
}

type Texts = Vec<Option<String>>;
type Callback = Strong<dyn ICallback>;
type Everythings = Vec<Option<Everything>>;

macro_rules! echo {
    ($($name:ident($given:ty) -> $got:ty;)*) => {$(
        fn $name(&self, v: $given) -> BinderResult<$got> {
            copy(&v)
        }
    )*};
}

struct Hard;
impl Interface for Hard {}

#[rustfmt::skip]
impl IHard for Hard {
    echo! {
        echoBoolean(bool) -> bool;
        echoByte(i8) -> i8;
        echoChar(u16) -> u16;
        echoInt(i32) -> i32;
        echoLong(i64) -> i64;
        echoFloat(f32) -> f32;
        echoDouble(f64) -> f64;
        echoString(&str) -> String;
        echoNullableString(Option<&str>) -> Option<String>;
        echoUtf8(&str) -> String;
        echoColour(Colour) -> Colour;
        echoColours(&[Colour]) -> Vec<Colour>;
        echoBytes(&[u8]) -> Vec<u8>;
        echoChars(&[u16]) -> Vec<u16>;
        echoBooleans(&[bool]) -> Vec<bool>;
        echoLongs(&[i64]) -> Vec<i64>;
        echoFloats(&[f32]) -> Vec<f32>;
        echoDoubles(&[f64]) -> Vec<f64>;
        echoStrings(&[String]) -> Vec<String>;
        echoNullableInts(Option<&[i32]>) -> Option<Vec<i32>>;
        echoNullableStrings(Option<&[Option<String>]>) -> Option<Texts>;
        echoList(&[String]) -> Vec<String>;
        echoEverythings(Option<&[Option<Everything>]>) -> Option<Everythings>;
        echoNullableEverything(Option<&Everything>) -> Option<Everything>;
        echoChoice(&Choice) -> Choice;
        echoChoices(&[Choice]) -> Vec<Choice>;
        echoFixed(&[[i32; 3]; 2]) -> [[i32; 3]; 2];
        echoFile(&ParcelFileDescriptor) -> ParcelFileDescriptor;
        echoNullableFile(Option<&ParcelFileDescriptor>) -> Option<ParcelFileDescriptor>;
        echoFiles(&[ParcelFileDescriptor]) -> Vec<ParcelFileDescriptor>;
        echoBinder(&SIBinder) -> SIBinder;
        echoNullableBinder(Option<&SIBinder>) -> Option<SIBinder>;
        echoBinders(&[SIBinder]) -> Vec<SIBinder>;
        echoCallback(&Callback) -> Callback;
        echoCallbacks(&[Callback]) -> Vec<Callback>;
        echoPair(&Pair<i32, String>) -> Pair<i32, String>;
        echoInner(&Inner) -> Inner;
    }

    fn echoInts(&self, v: &[i32], twice: &mut Vec<i32>, more: &mut Vec<i32>)
        -> BinderResult<Vec<i32>> {
        *twice = [v, v].concat();
        more.push(4);
        Ok(v.to_vec())
    }

    fn echoEverything(&self, v: &Everything, copied: &mut Everything, both: &mut Everything)
        -> BinderResult<Everything> {
        *copied = copy(v)?;
        both.i += 1;
        copy(v)
    }

    fn call(&self, callback: &Callback, number: i32) -> BinderResult<()> {
        callback.called(number)
    }

    fn later(&self, callback: &Callback, number: i32) -> BinderResult<()> {
        callback.notified(number)
    }

    fn fail(&self, exception: i32, specific: i32, message: &str) -> BinderResult<()> {
        if exception == ExceptionCode::ServiceSpecific as i32 {
            return Err(Status::new_service_specific_error(specific, Some(message.into())));
        }
        match EXCEPTIONS.into_iter().find(|one| *one as i32 == exception) {
            Some(exception) => Err((exception, message).into()),
            None => Ok(()),
        }
    }

    fn nested(&self) -> BinderResult<Strong<dyn INested>> {
        Ok(BnNested::new_binder(Nested))
    }
}

const EXCEPTIONS: [ExceptionCode; 8] = [
    ExceptionCode::Security,
    ExceptionCode::BadParcelable,
    ExceptionCode::IllegalArgument,
    ExceptionCode::NullPointer,
    ExceptionCode::IllegalState,
    ExceptionCode::NetworkMainThread,
    ExceptionCode::UnsupportedOperation,
    ExceptionCode::Parcelable,
];

/// Passes on what it is called with.
struct Noting(Sender<i32>);
impl Interface for Noting {}
impl ICallback for Noting {
    fn called(&self, number: i32) -> BinderResult<()> {
        self.0.send(number).expect("the client waits");
        Ok(())
    }

    fn notified(&self, number: i32) -> BinderResult<()> {
        self.called(number)
    }
}

fn same<T: PartialEq + Debug>(got: BinderResult<T>, wanted: T) {
    assert_eq!(got.expect("an answer"), wanted);
}

/// All but what is of this process alone.
fn shown(value: &Everything) -> String {
    let mut value: Everything = copy(value).unwrap();
    value.file = None;
    value.holder.reset();
    format!("{value:?}")
}

fn everything(hard: &Strong<dyn IHard>, file: &ParcelFileDescriptor) {
    let mut all = Everything {
        list: vec!["l".into()],
        bytes: vec![1, 2, 3],
        booleans: vec![true, false],
        maybe: Some(Deep::default()),
        deeps: vec![Deep::default(), Deep::default()],
        next: Some(Box::new(Everything {
            nints: Some(vec![4]),
            ..Default::default()
        })),
        choice: Choice::Text("chosen".into()),
        file: Some(file.try_clone().unwrap()),
        binder: Some(hard.as_binder()),
        ..Default::default()
    };
    all.holder
        .set_parcelable(Arc::new(Deep {
            depth: 5,
            name: "held".into(),
        }))
        .unwrap();
    let (mut copied, mut both) = (Everything::default(), copy(&all).unwrap());
    let out = hard
        .echoEverything(&all, &mut copied, &mut both)
        .expect("everything");
    assert_eq!(shown(&out), shown(&all));
    assert_eq!(shown(&copied), shown(&all));
    assert_eq!(both.i, all.i + 1);
    assert_eq!(
        out.holder.get_parcelable::<Deep>().unwrap().unwrap().name,
        "held"
    );
    assert!(out.file.is_some());
    assert!(hard.echoNullableEverything(None).unwrap().is_none());
    let list = [None, Some(out)];
    let back = hard.echoEverythings(Some(&list)).unwrap().unwrap();
    assert!(back[0].is_none());
    assert_eq!(shown(back[1].as_ref().unwrap()), shown(&all));
}

fn values(hard: &Strong<dyn IHard>) {
    same(hard.echoBoolean(true), true);
    same(hard.echoByte(-128), -128);
    same(hard.echoChar(0xfffe), 0xfffe);
    same(hard.echoInt(i32::MIN), i32::MIN);
    same(hard.echoLong(i64::MIN), i64::MIN);
    same(hard.echoFloat(1.25e-38), 1.25e-38);
    same(hard.echoDouble(-1.25e300), -1.25e300);
    same(
        hard.echoString("b\u{e4}r \u{1f43b} \0"),
        "b\u{e4}r \u{1f43b} \0".into(),
    );
    same(hard.echoNullableString(None), None);
    same(hard.echoNullableString(Some("")), Some(String::new()));
    same(hard.echoColour(Colour::BLUE), Colour::BLUE);
    same(
        hard.echoColours(&[Colour::RED, Colour::BLUE]),
        vec![Colour::RED, Colour::BLUE],
    );
    same(hard.echoBytes(&[0, 1, 255]), vec![0, 1, 255]);
    same(hard.echoChars(&[97, 0xffff]), vec![97, 0xffff]);
    same(hard.echoBooleans(&[true, false]), vec![true, false]);
    same(hard.echoLongs(&[-1, 1 << 62]), vec![-1, 1 << 62]);
    same(hard.echoFloats(&[0.5]), vec![0.5]);
    same(hard.echoDoubles(&[0.1, 1e308]), vec![0.1, 1e308]);
    same(
        hard.echoStrings(&["".into(), "one".into()]),
        vec!["".into(), "one".into()],
    );
    same(hard.echoNullableInts(None), None);
    same(hard.echoNullableInts(Some(&[1, -1])), Some(vec![1, -1]));
    let texts = vec![None, Some("two".to_owned())];
    same(hard.echoNullableStrings(Some(&texts)), Some(texts));
    same(
        hard.echoFixed(&[[1, 2, 3], [4, 5, 6]]),
        [[1, 2, 3], [4, 5, 6]],
    );
    let (mut twice, mut more) = (vec![], vec![3]);
    same(hard.echoInts(&[1, 2], &mut twice, &mut more), vec![1, 2]);
    assert_eq!((twice, more), (vec![1, 2, 1, 2], vec![3, 4]));
    let choices = [
        Choice::Colour(Colour::GREEN),
        Choice::List(vec![1]),
        Choice::More(None),
    ];
    let back = hard.echoChoices(&choices).expect("choices");
    assert_eq!(format!("{back:?}"), format!("{choices:?}"));
    assert_eq!(hard.echoInner(&Inner { x: 9 }).unwrap().x, 9);
}

fn objects(hard: &Strong<dyn IHard>) {
    let file: ParcelFileDescriptor = std::fs::File::open("/dev/null").unwrap().into();
    assert!(hard.echoFile(&file).is_ok());
    assert!(hard.echoNullableFile(None).unwrap().is_none());
    let two = [file.try_clone().unwrap(), file.try_clone().unwrap()];
    assert!(hard
        .echoFiles(&two)
        .unwrap()
        .iter()
        .all(|one| one.as_fd().try_clone_to_owned().is_ok()));
    let (sender, notes) = channel();
    let callback = BnCallback::new_binder(Noting(sender));
    same(hard.echoBinder(&callback.as_binder()), callback.as_binder());
    same(hard.echoBinder(&hard.as_binder()), hard.as_binder());
    same(hard.echoNullableBinder(None), None);
    let back = hard
        .echoCallbacks(&[callback.clone(), callback.clone()])
        .unwrap();
    assert!(back
        .iter()
        .all(|one| one.as_binder() == callback.as_binder()));
    hard.call(&callback, 1).expect("a call back");
    assert_eq!(notes.try_recv(), Ok(1));
    hard.later(&callback, 2).expect("a call back later");
    assert_eq!(notes.recv_timeout(Duration::from_secs(60)), Ok(2));
    same(hard.nested().unwrap().other(Kind::A), Kind::B);
    everything(hard, &file);
}

fn failures(hard: &Strong<dyn IHard>) {
    for exception in EXCEPTIONS {
        let status = hard.fail(exception as i32, 0, "said").unwrap_err();
        assert_eq!(
            (status.exception_code(), status.message()),
            (exception, Some("said"))
        );
    }
    assert_eq!(
        hard.fail(-8, 17, "").unwrap_err().service_specific_error(),
        17
    );
    let large = hard.echoString(&"x".repeat(4 << 20)).unwrap_err();
    assert_eq!(large.transaction_error(), StatusCode::FailedTransaction);
}

fn call(name: &str) {
    ProcessState::start_thread_pool();
    let hard: Strong<dyn IHard> = hub::wait_for_interface(name).expect("the service");
    values(&hard);
    objects(&hard);
    failures(&hard);
    println!("all came back");
}

fn serve(name: &str) {
    hub::add_service(name, BnHard::new_binder(Hard)).expect("the manager");
    ProcessState::start_thread_pool();
    println!("serving {name}");
    ProcessState::join_thread_pool().expect("the driver");
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    ProcessState::init_default().expect("a driver");
    match [words[1].as_str(), words[2].as_str()] {
        ["serve", name] => serve(name),
        ["call", name] => call(name),
        _ => std::process::exit(2),
    }
}
