// SPDX-License-Identifier: Apache-2.0
//! Objects and files: in parcels that the raw driver sends, and in values that were received.
use anybinder_cli::error::{Doing, Result};
use anybinder_driver::abi::{OBJECT_SIZE, TYPE_HANDLE};
use anybinder_driver::level::{Level, Stability};
use anybinder_driver::parcel::Parcel;
use anybinder_parcel::encode::{Object, Parcel as Plan};
use serde_json::{Map, Value};
use std::fs::File;

/// What stands for an object in a parcel.
#[derive(Clone, Copy)]
pub enum Node {
    Handle(u32),
    /// An object of this process: what the driver calls it by, not 0, and the flags of its node.
    Own(u64, u32),
}

/// Appends an object as a program of a level reads it: before Android 11 none knew a stability.
pub fn append(parcel: &mut Parcel, (node, stability): (Node, Stability), level: Level) {
    let at = parcel.data.len();
    parcel.data.resize(at + OBJECT_SIZE, 0);
    match node {
        Node::Handle(handle) => parcel.put_object(at, TYPE_HANDLE, 0, handle),
        Node::Own(pointer, flags) => parcel.put_own(at, flags, pointer),
    }
    if let Some(word) = stability.word(level.stability_form()) {
        parcel.i32(word);
    }
}

/// Appends what was written, of whatever level, with its objects and files. Returns the files,
/// which are to be open until it is sent.
///
/// * `level`: of the program that reads it
/// * `find`: what stands for a name
pub fn fill(
    parcel: &mut Parcel,
    plan: &Plan,
    level: Level,
    find: &mut dyn FnMut(&str) -> Result<(Node, Stability)>,
) -> Result<Vec<File>> {
    let (mut files, mut copied) = (Vec::new(), 0);
    for (offset, object) in &plan.objects {
        parcel.data.extend_from_slice(&plan.data[copied..*offset]);
        copied = offset + OBJECT_SIZE;
        match object {
            Object::File(path) => {
                let file = File::open(path).doing(|| format!("opening {}", path.display()))?;
                let at = parcel.data.len();
                parcel.data.resize(at + OBJECT_SIZE, 0);
                parcel.put_file(at, &file);
                files.push(file);
            }
            Object::Service(name) => {
                append(parcel, find(name)?, level);
                copied += if plan.format.has_stability() { 4 } else { 0 };
            }
        }
    }
    parcel.data.extend_from_slice(&plan.data[copied..]);
    Ok(files)
}

/// Calls `each` for the members of all objects in a value that have a member `key`.
pub fn visit(value: &mut Value, key: &str, each: &mut dyn FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|one| visit(one, key, each)),
        Value::Object(members) => {
            if members.contains_key(key) {
                each(members);
            }
            members.values_mut().for_each(|one| visit(one, key, each));
        }
        _ => {}
    }
}

pub fn number(members: &Map<String, Value>, key: &str) -> Option<u32> {
    let number = members.get(key).and_then(Value::as_u64)?;
    u32::try_from(number).ok().filter(|_| members.len() == 1)
}

/// Adds to each received file what it is.
pub fn name_files(value: &mut Value) {
    visit(value, "fd", &mut |members| {
        let Some(fd) = number(members, "fd") else {
            return;
        };
        if let Ok(path) = std::fs::read_link(format!("/proc/self/fd/{fd}")) {
            let path = path.to_string_lossy().into_owned();
            members.insert("path".to_string(), Value::from(path));
        }
    });
}
