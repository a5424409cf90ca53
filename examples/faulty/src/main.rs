// SPDX-License-Identifier: Apache-2.0
//! Six services, each in a process of its own with a client in another. Five have a fault:
//! docs/OBSERVING.md finds them. Without arguments all are started; `faulty serve NAME` and
//! `faulty call NAME` are what the processes do.
use rsbinder::{BinderResult, Interface, ProcessState, SIBinder, Status, StatusCode, Strong};
use std::io::Read;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;
use std::time::Duration;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/faulty_aidl.rs"));
}
use generated::example::IFaulty::{BnFaulty, IFaulty};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The services, and how many threads each starts at most beside two.
const SERVICES: [(&str, u32); 6] = [
    ("pool", 0),
    ("backlog", 15),
    ("leak", 15),
    ("hang", 15),
    ("dies", 15),
    ("fine", 15),
];
const EVER: Duration = Duration::from_secs(1 << 30);

struct Faulty {
    fault: String,
    calls: AtomicU32,
    given: Mutex<Vec<SIBinder>>,
    state: Mutex<()>,
}

impl Interface for Faulty {}

impl IFaulty for Faulty {
    fn work(&self, number: i32) -> BinderResult<i32> {
        match self.fault.as_str() {
            // The service takes long, and has too few threads for its clients.
            "pool" => std::thread::sleep(Duration::from_secs(5)),
            // The thread that has locked the state never lets it go.
            "hang" => {
                let _locked = self.state.lock();
                std::thread::sleep(EVER);
            }
            "dies" if self.calls.fetch_add(1, Ordering::Relaxed) >= 20 => std::process::exit(1),
            _ => {}
        }
        Ok(number)
    }

    fn note(&self, _number: i32) -> BinderResult<()> {
        // Slower than the notes come.
        if self.fault == "backlog" {
            std::thread::sleep(Duration::from_secs(2));
        }
        Ok(())
    }

    fn give(&self, object: &SIBinder) -> BinderResult<()> {
        // Nobody takes it out again.
        let mut given = self
            .given
            .lock()
            .map_err(|_| Status::from(StatusCode::Unknown))?;
        given.push(object.clone());
        Ok(())
    }
}

fn service_name(fault: &str) -> String {
    format!("faulty.{fault}")
}

fn serve(fault: &str) -> Outcome {
    let threads = SERVICES.iter().find(|one| one.0 == fault);
    let threads = threads.ok_or("no such service")?.1;
    ProcessState::init("/dev/binder", threads)?;
    ProcessState::start_thread_pool();
    let service = BnFaulty::new_binder(Faulty {
        fault: fault.to_string(),
        calls: AtomicU32::new(0),
        given: Mutex::default(),
        state: Mutex::default(),
    });
    rsbinder::hub::add_service(&service_name(fault), service.as_binder())?;
    Ok(ProcessState::join_thread_pool()?)
}

/// Waits until it is registered.
fn service(fault: &str) -> Strong<dyn IFaulty> {
    loop {
        match rsbinder::hub::check_interface(&service_name(fault)) {
            Ok(service) => return service,
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Calls for ever, more slowly after the first `quick` calls.
fn repeat(quick: u32, mut call: impl FnMut(i32) -> BinderResult<()>) -> BinderResult<()> {
    for at in 0.. {
        call(at as i32)?;
        let pause_ms = if at < quick { 2 } else { 50 };
        std::thread::sleep(Duration::from_millis(pause_ms));
    }
    Ok(())
}

/// An object that has no methods.
struct Nothing;

impl Interface for Nothing {}

impl IFaulty for Nothing {
    fn work(&self, number: i32) -> BinderResult<i32> {
        Ok(number)
    }
    fn note(&self, _number: i32) -> BinderResult<()> {
        Ok(())
    }
    fn give(&self, _object: &SIBinder) -> BinderResult<()> {
        Ok(())
    }
}

fn call(fault: &str) -> Outcome {
    ProcessState::init_default()?;
    ProcessState::start_thread_pool();
    let service = service(fault);
    let work = |at| service.work(at).map(|_| ());
    // The client ends with its service, and is started again.
    let _ = match fault {
        "pool" | "hang" => std::thread::scope(|scope| {
            let threads = if fault == "pool" { 6 } else { 2 };
            for _ in 0..threads {
                scope.spawn(|| repeat(0, work));
            }
            Ok(())
        }),
        "backlog" => repeat(150, |at| match at {
            0..200 => service.note(at),
            _ => {
                std::thread::sleep(Duration::from_secs(1));
                service.note(at)
            }
        }),
        "leak" => repeat(200, |_| {
            service.give(&BnFaulty::new_binder(Nothing).as_binder())
        }),
        _ => repeat(0, work),
    };
    Ok(())
}

fn start(role: &str, fault: &str) -> std::io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    // The child ends when this end of the pipe is closed.
    command.args([role, fault]).stdin(Stdio::piped()).spawn()
}

/// Starts all, and those again that end.
fn start_all() -> Outcome {
    let roles = ["serve", "call"];
    let all = SERVICES
        .iter()
        .flat_map(|one| roles.map(|role| (role, one.0)));
    let mut children = Vec::new();
    for (role, fault) in all {
        children.push((role, fault, start(role, fault)?));
    }
    println!("{} services and a client of each", SERVICES.len());
    loop {
        std::thread::sleep(Duration::from_millis(200));
        for (role, fault, child) in &mut children {
            if child.try_wait()?.is_some() {
                *child = start(role, fault)?;
            }
        }
    }
}

fn run() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (role, fault) = match arguments.as_slice() {
        [] => return start_all(),
        [role, fault] => (role.as_str(), fault.as_str()),
        _ => return Err("want nothing, serve NAME or call NAME".into()),
    };
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    // What `ps` shows: at most 15 characters.
    let command = match role {
        "serve" => format!("faulty-{fault}"),
        _ => format!("{fault}-client"),
    };
    std::fs::write("/proc/self/comm", command)?;
    match role {
        "serve" => serve(fault),
        _ => call(fault),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("faulty: {err}");
            ExitCode::FAILURE
        }
    }
}
