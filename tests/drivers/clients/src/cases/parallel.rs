// SPDX-License-Identifier: Apache-2.0
//! Many threads and many processes at once.
use super::cases;
use crate::aidl::IPeer;
use crate::callback::Callback;
use crate::fixture::{holds, same, Failure, Fixture, Service, Verdict};
use rsbinder::Strong;
use std::process::{Child, Stdio};

cases![
    many_threads_call_at_once,
    many_threads_are_called_back_at_once,
    the_pool_grows_with_the_callers,
    the_pool_does_not_outgrow_its_limit,
    twenty_clients_and_four_services,
    killed_clients_do_not_disturb_the_others,
];

const THREADS: i32 = 16;
const CLIENTS: usize = 20;

/// Runs the body in many threads; the first failure counts.
fn in_threads(body: impl Fn(i32) -> Verdict + Send + Sync) -> Verdict {
    std::thread::scope(|scope| {
        let body = &body;
        let threads: Vec<_> = (0..THREADS)
            .map(|index| scope.spawn(move || body(index)))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| match thread.join() {
                Ok(verdict) => verdict,
                Err(_) => Err(Failure::Failed("a thread panicked".to_string())),
            })
    })
}

fn many_threads_call_at_once(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    in_threads(|index| {
        for call in 0..200 {
            same("sum", peer.add(index, call)?, index + call)?;
        }
        Ok(())
    })
}

fn many_threads_are_called_back_at_once(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    in_threads(|index| {
        let here = std::thread::current().id();
        let callback = Callback::binder(move |value| {
            let same_thread = std::thread::current().id() == here;
            value + if same_thread { index } else { -1000 }
        });
        for value in 0..50 {
            same("answer", peer.callBack(&callback, value)?, value + index)?;
        }
        Ok(())
    })
}

/// How many callers were inside the service at once, at most.
fn most_inside(peer: &Strong<dyn IPeer>) -> Result<i32, Failure> {
    in_threads(|_| Ok(peer.maxConcurrent(300).map(|_| ())?))?;
    Ok(peer.maxConcurrent(0)?)
}

fn the_pool_grows_with_the_callers(fixture: &Fixture) -> Verdict {
    let service = fixture.service_with_threads(8)?;
    let most = most_inside(&service.peer()?)?;
    holds(&format!("{most} of 8 at once"), most >= 8)
}

fn the_pool_does_not_outgrow_its_limit(fixture: &Fixture) -> Verdict {
    let service = fixture.service_with_threads(3)?;
    let most = most_inside(&service.peer()?)?;
    // Besides the three there are the thread of start_thread_pool and the one that joined.
    holds(&format!("{most} at once"), (3..=5).contains(&most))
}

fn start_clients(fixture: &Fixture, services: &[Service]) -> Result<Vec<Child>, Failure> {
    (0..CLIENTS)
        .map(|index| {
            let name = &services[index % services.len()].name;
            let client = fixture
                .role("mix")?
                .args(["--name", name, "--seed", &index.to_string()])
                .stdout(Stdio::null())
                .spawn()?;
            Ok(client)
        })
        .collect()
}

fn four_services(fixture: &Fixture) -> Result<Vec<Service>, Failure> {
    (0..4).map(|_| fixture.service()).collect()
}

fn all_succeed(clients: Vec<Child>) -> Verdict {
    for mut client in clients {
        same("exit status of a client", client.wait()?.code(), Some(0))?;
    }
    Ok(())
}

fn twenty_clients_and_four_services(fixture: &Fixture) -> Verdict {
    let services = four_services(fixture)?;
    all_succeed(start_clients(fixture, &services)?)
}

fn killed_clients_do_not_disturb_the_others(fixture: &Fixture) -> Verdict {
    let services = four_services(fixture)?;
    let mut victims = start_clients(fixture, &services)?;
    let clients = start_clients(fixture, &services)?;
    for (index, victim) in victims.iter_mut().enumerate() {
        // At different moments.
        std::thread::sleep(std::time::Duration::from_millis(index as u64));
        victim.kill()?;
    }
    for mut victim in victims {
        victim.wait()?;
    }
    all_succeed(clients)?;
    for service in &services {
        same("the service still answers", service.peer()?.add(1, 1)?, 2)?;
    }
    Ok(())
}

/// The body of one of the many clients: all kinds of calls, every answer checked.
pub fn mix(peer: &Strong<dyn IPeer>, seed: i32) -> Verdict {
    let callback = Callback::binder(move |value| value ^ seed);
    for round in 0..40 {
        same("sum", peer.add(seed, round)?, seed + round)?;
        same("answer", peer.callBack(&callback, round)?, round ^ seed)?;
        let data = vec![round as u8; (seed * 97 + round * 13) as usize % 9000];
        same("bytes", peer.reverse(&data)?, data)?;
        peer.post(round)?;
        if round % 8 == 0 {
            let text = format!("{seed} {round}");
            let file = crate::descriptors::open_text(&text)?;
            same("file", peer.readFile(&file)?, text)?;
        }
    }
    Ok(())
}
