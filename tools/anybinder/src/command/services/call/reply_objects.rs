// SPDX-License-Identifier: Apache-2.0
//! Files and binders in a reply: what they are, and the contents of files.
use anybinder_cli::error::{Doing, Error, Result};
use anybinder_cli::new_file::{NewFile, Readers};
use anybinder_client::objects::{number, visit};
use anybinder_client::raw::pid_of;
use anybinder_rpc::foreign;
use rsbinder::{ProcessState, SIBinder};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// How many services of a process are compared with one of its objects.
const MOST_NAMES: usize = 64;
/// The standard output, as a path.
const STDOUT: &str = "-";

/// The name under which an object is registered.
fn name_of(object: &SIBinder, pid: i32) -> Option<String> {
    let handle = object.as_proxy()?.handle();
    let manager = rsbinder::hub::default().ok()?;
    let listed = foreign::list(None).ok()?;
    let own = listed.into_iter().filter(|one| one.pid == Some(pid));
    let names = own.take(MOST_NAMES).map(|one| one.name);
    let is_it = |name: &String| {
        let found = manager.try_get_service(name).ok().flatten();
        found.is_some_and(|found| found.as_proxy().is_some_and(|one| one.handle() == handle))
    };
    names.into_iter().find(is_it)
}

/// Adds to each received binder its interface, its process, and the service that it is, if any.
pub fn name_binders(value: &mut Value) {
    visit(value, "handle", &mut |members| {
        let Some(handle) = number(members, "handle") else {
            return;
        };
        let Ok(object) = ProcessState::as_self().strong_proxy_for_handle(handle) else {
            return;
        };
        let interface = Value::from(object.descriptor());
        members.insert("interface".to_string(), interface);
        if let Some(pid) = pid_of(&object) {
            members.insert("pid".to_string(), Value::from(pid));
            if let Some(name) = name_of(&object, pid) {
                members.insert("service".to_string(), Value::from(name));
            }
        }
    });
}

fn copy(fd: u32, path: &Path) -> Result<()> {
    let doing = || format!("writing {}", path.display());
    // SAFETY: the caller keeps the reply, which has it open.
    let received = unsafe { BorrowedFd::borrow_raw(fd as i32) };
    let mut from = File::from(received.try_clone_to_owned().doing(doing)?);
    if path == Path::new(STDOUT) {
        let mut stdout = std::io::stdout();
        let copied = std::io::copy(&mut from, &mut stdout);
        return copied.and_then(|_| stdout.flush()).doing(doing);
    }
    let mut to = NewFile::create(path, Readers::Usual)?;
    to.copy(&mut from)?;
    to.take_place()
}

/// Whether the contents of files take the place of the answer.
pub fn is_stdout(path: Option<&Path>) -> bool {
    path == Some(Path::new(STDOUT))
}

/// Copies the contents of the received files: of the first one to a path, of others to the path
/// with `.2`, `.3` and so on; all to standard output for `-`. Notes where they are.
pub fn save_files(value: &mut Value, path: &Path) -> Result<()> {
    let (mut count, mut outcome) = (0, Ok(()));
    visit(value, "fd", &mut |members| {
        let fd = members.get("fd").and_then(Value::as_u64);
        let Some(fd) = fd.and_then(|fd| u32::try_from(fd).ok()) else {
            return;
        };
        count += 1;
        let mut target = path.as_os_str().to_owned();
        if count > 1 && !is_stdout(Some(path)) {
            target.push(format!(".{count}"));
        }
        let target = Path::new(&target);
        if outcome.is_ok() {
            outcome = copy(fd, target);
        }
        let saved = Value::from(target.to_string_lossy());
        members.insert("saved".to_string(), saved);
    });
    match count {
        0 => Err(Error::new("The reply has no file.")),
        _ => outcome,
    }
}
