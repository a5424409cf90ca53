// SPDX-License-Identifier: Apache-2.0
//! Answers of a recording that `anybinder trace --record FILE --payload=all` has made: a call with
//! the same arguments has the same answers in the same order, another one those of its method.
use crate::prepared::{Answers, Behaviour, Prepared, Reply, Sequence};
use anybinder_cli::error::{Error, Result};
use anybinder_cli::output::note;
use anybinder_events::calls::Call;
use anybinder_events::event::TF_STATUS_CODE;
use anybinder_events::recording::{check_whole, Recorded};
use anybinder_parcel::aidl::Library;
use anybinder_parcel::decode::Decoder;
use anybinder_parcel::encode::Parcel as Plan;
use anybinder_parcel::header;
use anybinder_parcel::method;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Calls of a method by their arguments, and the answers to all of them.
#[derive(Default)]
struct Method {
    by_arguments: BTreeMap<Vec<u8>, Vec<Arc<Prepared>>>,
    all: Vec<Arc<Prepared>>,
}

/// How many calls of a recording are left out, by the reasons.
type LeftOut = BTreeMap<&'static str, usize>;

const WITHOUT_DATA: &str = "have not all of their data: record with --payload=all";
const WITH_OBJECTS: &str = "return objects or files";
const MISFITS: &str = "do not fit the .aidl files";

fn prepared(
    (library, behaviour): (&Library, &Behaviour),
    call: &Call,
    left_out: &mut LeftOut,
) -> Option<(u32, Vec<u8>, Prepared)> {
    let interface = &behaviour.interface;
    let (name, start) = header::find(&call.request_data.bytes)?;
    let called = interface
        .by_code(call.code)
        .filter(|_| name == interface.descriptor)?;
    let (request, reply) = (&call.request_data, &call.reply_data);
    if request.missing() > 0 || reply.missing() > 0 || reply.bytes.is_empty() {
        *left_out.entry(WITHOUT_DATA).or_default() += 1;
        return None;
    }
    if !reply.objects.is_empty() {
        *left_out.entry(WITH_OBJECTS).or_default() += 1;
        return None;
    }
    let word = reply
        .bytes
        .first_chunk::<4>()
        .map(|word| i32::from_le_bytes(*word));
    let (reply, text) = match word.filter(|_| call.reply_flags & TF_STATUS_CODE != 0) {
        Some(status) => (Reply::Status(status), format!("status {status}")),
        None => {
            let mut decoder = Decoder::new(&reply.bytes, Some(library));
            let read = method::answer(library, &interface.entry, called, &mut decoder);
            let text = match read {
                Ok(Ok(answer)) => answer.result.unwrap_or_default().to_string(),
                Ok(Err(exception)) => exception.to_string(),
                Err(_) => {
                    *left_out.entry(MISFITS).or_default() += 1;
                    return None;
                }
            };
            let plan = Plan {
                data: reply.bytes.clone(),
                ..Plan::default()
            };
            (Reply::Parcel(plan), text)
        }
    };
    let arguments = request.bytes.get(start..).unwrap_or_default().to_vec();
    Some((call.code, arguments, Prepared::with(reply, text)))
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
    let (mut methods, mut left_out) = (BTreeMap::<u32, Method>::new(), LeftOut::new());
    for call in recorded.calls {
        let is_over = !call.oneway && !call.unfinished && call.error.is_none();
        if !is_over || call.service.as_deref() != Some(name) {
            continue;
        }
        let Some((code, arguments, step)) = prepared((library, behaviour), &call, &mut left_out)
        else {
            continue;
        };
        let (method, step) = (methods.entry(code).or_default(), Arc::new(step));
        method
            .by_arguments
            .entry(arguments)
            .or_default()
            .push(step.clone());
        method.all.push(step);
    }
    for (why, count) in left_out {
        note(format_args!(
            "anybinder: {count} calls of the recording {why}; they are left out."
        ));
    }
    if methods.is_empty() {
        let what = format!(
            "{} has no call of {name} that can be answered.",
            path.display()
        );
        let advice = "Record one: anybinder trace --record FILE --payload=all.";
        return Err(Error::with_advice(what, advice));
    }
    let mut answers = Answers::default();
    for (code, method) in methods {
        for (arguments, steps) in method.by_arguments {
            answers.add(code, Sequence::new(Some(arguments), steps));
        }
        answers.add(code, Sequence::new(None, method.all));
    }
    behaviour.set(answers);
    Ok(())
}
