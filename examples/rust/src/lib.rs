// SPDX-License-Identifier: Apache-2.0
//! What the service and the client share: the interface, and buffers in shared memory.
pub mod shared_buffer;

use rsbinder::{DeathRecipient, ProcessState, WIBinder};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/board_aidl.rs"));
}
pub use generated::example::IBoard::IReader::{BnReader, IReader};
pub use generated::example::IBoard::{BnBoard, IBoard};

/// The name under which the service is registered.
pub const NAME: &str = "example.IBoard/default";

/// Set in a program that begins anew: it waits for what is not there yet.
const ANEW: &str = "BOARD_ANEW";
const INTERVAL: Duration = Duration::from_secs(1);
const ATTEMPTS: u32 = 300;

/// Opens the Binder device and starts the threads that serve incoming calls.
pub fn open_binder() -> Result<(), Box<dyn std::error::Error>> {
    until_there(|| ProcessState::init_default().map_err(no_device))?;
    ProcessState::start_thread_pool();
    Ok(())
}

fn no_device(err: Box<dyn std::error::Error>) -> String {
    let err = err.to_string();
    let hint = match Path::new("/dev/binder").symlink_metadata() {
        Ok(_) => "`anybinder doctor` says what to do",
        Err(_) => "start this with `anybinder run -- COMMAND`",
    };
    format!("no Binder device ({}): {hint}", err.trim())
}

/// Tries once; for minutes in a program that begins anew.
pub fn until_there<T, E>(attempt: impl Fn() -> Result<T, E>) -> Result<T, E> {
    let again = std::env::var_os(ANEW).map_or(0, |_| ATTEMPTS);
    for _ in 0..again {
        if let Ok(outcome) = attempt() {
            return Ok(outcome);
        }
        std::thread::sleep(INTERVAL);
    }
    attempt()
}

struct ManagerDeath;

impl DeathRecipient for ManagerDeath {
    fn binder_died(&self, _dead: &WIBinder) {
        begin_anew("the service manager died");
    }
}

/// Has the program begin anew when the service manager dies, which takes the registered names with
/// it. The notices last as long as what is returned.
pub fn link_to_manager() -> rsbinder::Result<impl Sized> {
    let notices = Arc::new(ManagerDeath);
    let manager = ProcessState::as_self().context_object()?;
    manager.link_to_death_arc(&notices)?;
    Ok((manager, notices))
}

/// Serves calls and notices until the driver is gone, which no notice tells; then the program
/// begins anew.
pub fn serve() -> ! {
    let _ = ProcessState::join_thread_pool();
    begin_anew("the driver is gone")
}

/// Executes this program again. When the daemon has ended or crashed, the open device fails for
/// ever, and rsbinder opens one for the whole life of a process.
fn begin_anew(why: &str) -> ! {
    println!("{why}: beginning anew");
    let arguments = std::env::args_os().skip(1);
    let mut command = Command::new("/proc/self/exe");
    let err = command.args(arguments).env(ANEW, "1").exec();
    eprintln!("it cannot be executed again: {err}");
    std::process::exit(1)
}
