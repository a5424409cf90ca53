// SPDX-License-Identifier: Apache-2.0
//! Which interface each service has. Only the service itself knows, and one that hangs does not
//! answer, so each is asked by a thread that may wait for ever: the answer comes, or it does not.
use rsbinder::hub::ServiceManager;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Services that are being asked at a time. With so many that hang, no other interface is known.
const ASKED_MAX: usize = 32;

/// The answer of a service, by its name.
type Answer = (String, String);

/// Asks a service, by its name, for its interface; waits for the answer, however long that takes.
fn interface_of(manager: &ServiceManager, service: &str) -> String {
    let found = manager.try_get_service(service).ok().flatten();
    let proxy = found.as_ref().and_then(|binder| binder.as_proxy());
    proxy.map_or_else(String::new, |proxy| proxy.descriptor().to_string())
}

pub struct Interfaces {
    manager: Arc<ServiceManager>,
    to_ask: VecDeque<String>,
    asked: HashSet<String>,
    /// The services whose answers are waited for.
    awaited: HashSet<String>,
    sender: Sender<Answer>,
    answers: Receiver<Answer>,
    known: HashMap<String, String>,
}

impl Interfaces {
    pub fn new(manager: Arc<ServiceManager>) -> Interfaces {
        let (sender, answers) = mpsc::channel();
        Interfaces {
            manager,
            to_ask: VecDeque::new(),
            asked: HashSet::new(),
            awaited: HashSet::new(),
            sender,
            answers,
            known: HashMap::new(),
        }
    }

    /// The interface of a service; empty as long as it has not answered.
    pub fn of(&self, service: &str) -> &str {
        self.known.get(service).map_or("", String::as_str)
    }

    /// Has the service asked, unless that is going on.
    pub fn ask(&mut self, service: &str) {
        if !self.asked.contains(service) && !self.to_ask.iter().any(|one| one == service) {
            self.to_ask.push_back(service.to_string());
            self.awaited.insert(service.to_string());
        }
    }

    fn start(&mut self) {
        while self.asked.len() < ASKED_MAX {
            let Some(name) = self.to_ask.pop_front() else {
                return;
            };
            let (manager, sender, service) =
                (self.manager.clone(), self.sender.clone(), name.clone());
            let thread = std::thread::Builder::new().spawn(move || {
                let interface = interface_of(&manager, &service);
                // At the end of the program there is no receiver.
                let _ = sender.send((service, interface));
            });
            match thread {
                Ok(_) => self.asked.insert(name),
                // No thread: at another time.
                Err(_) => return self.to_ask.push_front(name),
            };
        }
    }

    /// Asks, and takes answers until those that `ask` named last are there or the time is over.
    /// True if there was an answer.
    pub fn collect(&mut self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        let mut is_news = false;
        loop {
            self.start();
            let left = match self.awaited.is_empty() {
                true => Duration::ZERO,
                false => end.saturating_duration_since(Instant::now()),
            };
            let Ok((service, interface)) = self.answers.recv_timeout(left) else {
                self.awaited.clear();
                return is_news;
            };
            self.asked.remove(&service);
            self.awaited.remove(&service);
            self.known.insert(service, interface);
            is_news = true;
        }
    }
}
