// SPDX-License-Identifier: Apache-2.0
//! Objects in parcels: identity, ownership, and the end of the last reference.
use super::cases;
use crate::aidl::{ICallback, Record};
use crate::callback::Callback;
use crate::fixture::{holds, same, Fixture, Verdict, PATIENCE};
use rsbinder::{Interface, SIBinder, Strong};

cases![
    an_object_returns_as_itself,
    a_remote_object_keeps_its_identity,
    a_service_comes_back_as_the_same_handle,
    a_service_makes_objects,
    an_object_passes_through_a_third_process,
    a_released_object_is_dropped,
    a_held_object_stays,
    an_object_sent_often_is_released_once,
    a_record_holds_everything,
    null_objects_stay_null,
];

fn remote(binder: &SIBinder) -> Option<u32> {
    binder.as_proxy().map(|proxy| proxy.handle())
}

fn an_object_returns_as_itself(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let mine = Callback::binder(|value| value).as_binder();
    let back = peer.echoBinder(&mine)?;
    holds("the object is local again", !back.is_remote())?;
    holds("it is the same object", back == mine)
}

fn a_remote_object_keeps_its_identity(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let mine = Callback::binder(|value| value);
    peer.hold(&mine)?;
    let first = peer.held()?.ok_or("nothing held")?;
    let second = peer.held()?.ok_or("nothing held")?;
    holds("both are my object", first.as_binder() == mine.as_binder())?;
    holds("and the same", first.as_binder() == second.as_binder())?;
    same("its owner", first.ownerPid()?, std::process::id() as i32)
}

fn a_service_comes_back_as_the_same_handle(fixture: &Fixture) -> Verdict {
    let (_first, first) = fixture.peer()?;
    let (_second, second) = fixture.peer()?;
    let (one, two) = (first.as_binder(), second.as_binder());
    holds(
        "two services have two handles",
        remote(&one) != remote(&two),
    )?;
    // Each service is asked to echo itself and the other.
    for peer in [&first, &second] {
        same("first", remote(&peer.echoBinder(&one)?), remote(&one))?;
        same("second", remote(&peer.echoBinder(&two)?), remote(&two))?;
    }
    Ok(())
}

fn a_service_makes_objects(fixture: &Fixture) -> Verdict {
    let (service, peer) = fixture.peer()?;
    let counters: Vec<Strong<dyn ICallback>> = (0..50)
        .map(|_| peer.makeCounter())
        .collect::<Result<_, _>>()?;
    for (index, counter) in counters.iter().enumerate() {
        for _ in 0..index {
            counter.onValue(1)?;
        }
    }
    for (index, counter) in counters.iter().enumerate() {
        same("count", counter.onValue(0)?, index as i32)?;
        same("owner", counter.ownerPid()?, service.pid())?;
    }
    Ok(())
}

fn an_object_passes_through_a_third_process(fixture: &Fixture) -> Verdict {
    let (maker_process, maker) = fixture.peer()?;
    let (_user, user) = fixture.peer()?;
    let counter = maker.makeCounter()?;
    same(
        "called by the third process",
        user.callBack(&counter, 5)?,
        5,
    )?;
    same("called by me", counter.onValue(2)?, 7)?;
    user.hold(&counter)?;
    drop(counter);
    let back = user.held()?.ok_or("nothing held")?;
    same("held by the third process", back.onValue(1)?, 8)?;
    same("its owner", back.ownerPid()?, maker_process.pid())
}

fn a_released_object_is_dropped(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let (callback, log) = Callback::with_log(|value| value);
    peer.hold(&callback)?;
    drop(callback);
    peer.release()?;
    holds("the object is dropped", log.is_dropped(PATIENCE))
}

fn a_held_object_stays(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let (callback, log) = Callback::with_log(|value| value + 1);
    peer.hold(&callback)?;
    drop(callback);
    let brief = std::time::Duration::from_millis(200);
    holds("the object is not dropped", !log.is_dropped(brief))?;
    let back = peer.held()?.ok_or("nothing held")?;
    same("it still answers", back.onValue(1)?, 2)
}

fn an_object_sent_often_is_released_once(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let (callback, log) = Callback::with_log(|value| value);
    for value in 0..300 {
        same("answer", peer.callBack(&callback, value)?, value)?;
    }
    drop(callback);
    holds("the object is dropped", log.is_dropped(PATIENCE))
}

fn a_record_holds_everything(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let object = Callback::binder(|value| -value);
    let sent = Record {
        id: 7,
        big: i64::MIN,
        ratio: 0.1,
        flag: true,
        name: "n\u{e4}me".to_string(),
        blob: (0..=255).collect(),
        words: vec!["a".to_string(), String::new(), "c".to_string()],
        object: Some(object.clone()),
        file: Some(crate::descriptors::open_text("in a record")?),
    };
    let back = peer.echoRecord(&sent)?;
    same("id", back.id, sent.id)?;
    same("big", back.big, sent.big)?;
    same("ratio", back.ratio.to_bits(), sent.ratio.to_bits())?;
    same("flag", back.flag, sent.flag)?;
    same("name", back.name, sent.name)?;
    same("blob", back.blob, sent.blob)?;
    same("words", back.words, sent.words)?;
    let returned = back.object.ok_or("no object came back")?;
    holds("object", returned.as_binder() == object.as_binder())?;
    let file = back.file.ok_or("no file came back")?;
    same(
        "file",
        crate::descriptors::read_text(&file)?,
        "in a record".to_string(),
    )
}

fn null_objects_stay_null(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    holds("nothing held", peer.held()?.is_none())?;
    let back = peer.echoRecord(&Record::default())?;
    holds("no object", back.object.is_none())?;
    holds("no file", back.file.is_none())
}
