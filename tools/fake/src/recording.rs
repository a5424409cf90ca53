// SPDX-License-Identifier: Apache-2.0
//! Answers of a recording that `anybinder trace --record FILE --payload=all` has made: a call with
//! the same arguments has the same answers in the same order, another one those of its method.
use crate::prepared::{Behaviour, Prepared, Reply, Sequence};
use anybinder_cli::error::{Error, Result};
use anybinder_cli::output::note;
use anybinder_driver::parcel::word;
use anybinder_events::calls::Call;
use anybinder_events::event::TF_STATUS_CODE;
use anybinder_events::recording::{check_whole, Recorded};
use anybinder_parcel::aidl::Library;
use anybinder_parcel::encode::{Format, Parcel as Plan};
use anybinder_parcel::header;
use anybinder_parcel::interface_methods::Method;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The answer to a recorded call; Err if the call is to be left out: why.
fn prepared(method: Method, call: &Call) -> std::result::Result<Prepared, &'static str> {
    let (request, reply) = (&call.request_data, &call.reply_data);
    if request.missing() > 0 || reply.missing() > 0 || reply.bytes.is_empty() {
        return Err("have not all of their data: record with --payload=all");
    }
    if !reply.objects.is_empty() {
        return Err("return objects or files");
    }
    let status = word(&reply.bytes, 0).filter(|_| call.reply_flags & TF_STATUS_CODE != 0);
    if let Some(status) = status.map(u32::cast_signed) {
        return Ok(Prepared::with(
            Reply::Status(status),
            format!("status {status}"),
        ));
    }
    let text = match method.read_reply(&reply.bytes, Format::default()) {
        Ok(Ok(answer)) => answer.result.unwrap_or_default().to_string(),
        Ok(Err(exception)) => exception.to_string(),
        Err(_) => return Err("do not fit the .aidl files"),
    };
    let plan = Plan {
        data: reply.bytes.clone(),
        ..Plan::default()
    };
    Ok(Prepared::with(Reply::Parcel(plan), text))
}

/// Sets the answers of a service as a recording has them. Fails if it has none.
pub fn answer_from(
    path: &Path,
    name: &str,
    library: &Library,
    behaviour: &Behaviour,
) -> Result<()> {
    let recorded = Recorded::read(path)?;
    if let Err(err) = check_whole(path, recorded.flaw, recorded.lost) {
        note(format_args!("anybinder: {}", err.line()));
    }
    let interface = &behaviour.interface;
    // By the codes of the methods and the arguments; without these, all answers of a method.
    let mut answers = BTreeMap::<(u32, Option<Vec<u8>>), Vec<Arc<Prepared>>>::new();
    let mut left_out = BTreeMap::<&str, usize>::new();
    for call in recorded.calls {
        let is_over = !call.oneway && !call.unfinished && call.error.is_none();
        let data = &call.request_data.bytes;
        let (Some((descriptor, start)), Some(called)) =
            (header::find(data), interface.by_code(call.code))
        else {
            continue;
        };
        let is_own = call.service.as_deref() == Some(name) && descriptor == interface.descriptor;
        if !is_over || !is_own {
            continue;
        }
        match prepared(interface.method(library, called), &call) {
            Err(why) => *left_out.entry(why).or_default() += 1,
            Ok(step) => {
                let step = Arc::new(step);
                for when in [data.get(start..).map(<[u8]>::to_vec), None] {
                    answers
                        .entry((call.code, when))
                        .or_default()
                        .push(step.clone());
                }
            }
        }
    }
    for (why, count) in left_out {
        note(format_args!(
            "anybinder: {count} calls of the recording {why}; they are left out."
        ));
    }
    if answers.is_empty() {
        let shown = path.display();
        let what = format!("{shown} has no call of {name} that can be answered.");
        let advice = "Record one: anybinder trace --record FILE --payload=all.";
        return Err(Error::with_advice(what, advice));
    }
    let mut sequences = BTreeMap::<u32, Vec<Sequence>>::new();
    for ((code, when), steps) in answers {
        let all = sequences.entry(code).or_default();
        all.push(Sequence::new(when, steps));
    }
    for (code, sequences) in sequences {
        behaviour.set(code, sequences);
    }
    Ok(())
}
