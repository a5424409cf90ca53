// SPDX-License-Identifier: Apache-2.0
//! A client of a service on another machine: what has to cross if `.aidl` files say where it is.
use crate::aidl::{BnPeer, Envelope, ICallback, IPeer, Record};
use crate::callback::Callback;
use crate::descriptors;
use crate::fixture::{holds, same, Failure, Fixture, Verdict, PATIENCE};
use crate::peer_process::Peer;
use rsbinder::{hub, ExceptionCode, Interface, Status, Strong};
use std::sync::Arc;

type Far = Strong<dyn IPeer>;

fn record(object: Option<Strong<dyn ICallback>>) -> Record {
    Record {
        id: 7,
        big: -8,
        ratio: 0.5,
        flag: true,
        name: "a name".to_string(),
        blob: vec![1, 2, 3, 4, 5],
        words: vec!["one".to_string(), String::new()],
        object,
        file: None,
    }
}

fn is_same_record(what: &str, got: &Record, wanted: &Record) -> Verdict {
    let binder = |one: &Record| one.object.as_ref().map(|object| object.as_binder());
    holds(what, binder(got) == binder(wanted))?;
    let texts = [got, wanted].map(|one| {
        format!(
            "{} {} {} {} {} {:?} {:?}",
            one.id, one.big, one.ratio, one.flag, one.name, one.blob, one.words
        )
    });
    same(what, &texts[0], &texts[1])
}

fn plain_values(far: &Far) -> Verdict {
    same("a sum", far.add(3, 4)?, 7)?;
    same("a text", far.echo("hello")?, "hello".to_string())?;
    let data: Vec<u8> = (0..=255).cycle().take(100_001).collect();
    let reversed: Vec<u8> = data.iter().rev().copied().collect();
    same("bytes", far.reverse(&data)?, reversed)?;
    let Err(status) = far.throwServiceSpecific(77) else {
        return Err(Failure::Failed("no exception came".to_string()));
    };
    same("an exception", status.service_specific_error(), 77)
}

fn objects(far: &Far) -> Verdict {
    let mine = Callback::binder(|value| value + 1);
    let back = far.echoBinder(&mine.as_binder())?;
    holds("an object returns as itself", back == mine.as_binder())?;
    same("a call back", far.callBack(&mine, 41)?, 42)?;
    holds("null as a result", far.held()?.is_none())?;
    far.hold(&mine)?;
    let held = far.held()?.ok_or("nothing is held")?;
    holds("it is held", held.as_binder() == mine.as_binder())?;
    far.release()?;
    let counter = far.makeCounter()?;
    counter.onValue(2)?;
    same("an object of theirs", counter.onValue(3)?, 5)?;
    let (later, log) = Callback::with_log(|value| value);
    far.callBackLater(&later, 3)?;
    same("calls later", log.events(3, PATIENCE), vec![0, 1, 2])?;
    let here = BnPeer::new_binder(Peer::default());
    same("hops", far.bounce(far, &here, 5)?, 5)
}

fn objects_inside(far: &Far) -> Verdict {
    let mine = Callback::binder(|value| value);
    for object in [None, Some(mine.clone())] {
        let sent = record(object);
        is_same_record("a record", &far.echoRecord(&sent)?, &sent)?;
        let mut copied = record(Some(mine.clone()));
        far.copyRecord(&sent, &mut copied)?;
        is_same_record("an argument that is written", &copied, &sent)?;
    }
    let theirs = far.makeCounter()?;
    let back = far.echoRecord(&record(Some(theirs.clone())))?;
    let back = back.object.ok_or("the object is gone")?;
    holds(
        "an object of theirs",
        back.as_binder() == theirs.as_binder(),
    )?;
    let sent = [Some(mine), None, Some(theirs), None];
    let back = far.echoCallbacks(Some(&sent))?.ok_or("the array is gone")?;
    let binders = |some: &[Option<Strong<dyn ICallback>>]| -> Vec<_> {
        let binder = |one: &Option<Strong<dyn ICallback>>| one.as_ref().map(|one| one.as_binder());
        some.iter().map(binder).collect()
    };
    holds("an array of objects", binders(&back) == binders(&sent))?;
    holds("a null array", far.echoCallbacks(None)?.is_none())
}

fn envelope(content: Option<Record>) -> Result<Envelope, Failure> {
    let mut made = Envelope {
        before: 1,
        after: 2,
        ..Envelope::default()
    };
    if let Some(record) = content {
        made.content.set_parcelable(Arc::new(record))?;
    }
    Ok(made)
}

/// Objects in a parcelable that only the parcel names.
fn objects_in_holders(far: &Far) -> Verdict {
    let mine = Callback::binder(|value| value);
    let theirs = far.makeCounter()?;
    for object in [None, Some(mine), Some(theirs)] {
        let sent = envelope(Some(record(object.clone())))?;
        let back = far.echoEnvelope(&sent)?;
        same("around a holder", (back.before, back.after), (1, 2))?;
        let content = back.content.get_parcelable::<Record>()?;
        let content = content.ok_or("the holder is empty")?;
        is_same_record("a record in a holder", &content, &record(object))?;
    }
    let back = far.echoEnvelope(&envelope(None)?)?;
    let content = back.content.get_parcelable::<Record>()?;
    holds("an empty holder", content.is_none() && back.after == 2)
}

fn is_refused<T>(what: &str, got: Result<T, Status>) -> Verdict {
    let Err(status) = got else {
        return Err(Failure::Failed(format!("{what} crossed")));
    };
    let code = status.exception_code();
    same(what, code, ExceptionCode::UnsupportedOperation)?;
    let text = status.to_string();
    holds(
        &text,
        text.contains("a file crosses only a link over unix://"),
    )
}

fn no_files(far: &Far) -> Verdict {
    is_refused("a file", far.readFile(&descriptors::open_text("text")?))?;
    is_refused("a file as a result", far.openText("text"))?;
    let mut with_file = record(None);
    with_file.file = Some(descriptors::open_text("text")?);
    is_refused("a file in a record", far.echoRecord(&with_file))
}

fn some_files(far: &Far) -> Verdict {
    let text = |what: &str| what.to_string();
    same(
        "a file",
        far.readFile(&descriptors::open_text("text")?)?,
        text("text"),
    )?;
    let opened = far.openText("theirs")?;
    same(
        "a file of theirs",
        descriptors::read_text(&opened)?,
        text("theirs"),
    )?;
    let both = [
        descriptors::open_text("one")?,
        descriptors::open_text("two")?,
    ];
    same("files", far.readFiles(&both)?, text("onetwo"))?;
    let opened = far.openTexts(&[text("a"), text("b")])?;
    same(
        "files of theirs",
        descriptors::read_text(&opened[1])?,
        text("b"),
    )?;
    let mut with_file = record(Some(Callback::binder(|value| value)));
    with_file.file = Some(descriptors::open_text("inside")?);
    let back = far.echoRecord(&with_file)?;
    is_same_record("a record with a file", &back, &with_file)?;
    let back = back.file.ok_or("the file is gone")?;
    same(
        "a file inside",
        descriptors::read_text(&back)?,
        text("inside"),
    )?;
    let before = far.openFiles()?;
    for _ in 0..20 {
        far.readFile(&descriptors::open_text("text")?)?;
    }
    // Fewer, if one of before was still being closed.
    same(
        "more files that are open there",
        (far.openFiles()? - before).max(0),
        0,
    )
}

pub fn all_but_files(far: &Far) -> Verdict {
    plain_values(far)?;
    objects(far)?;
    objects_inside(far)?;
    objects_in_holders(far)
}

/// Calls the service with that name.
///
/// * `has_files`: whether files cross; None: not tried
pub fn run(_: &Fixture, name: &str, has_files: Option<bool>) -> Verdict {
    let far: Far = hub::wait_for_interface(name)?;
    all_but_files(&far)?;
    match has_files {
        Some(true) => some_files(&far),
        Some(false) => no_files(&far),
        None => Ok(()),
    }
}
