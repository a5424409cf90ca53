// SPDX-License-Identifier: Apache-2.0
//! Pages for readers on this machine: as much of HTTP/1.1 as `GET` needs. Any program here can
//! connect, and any site can have a browser do so: each request has one thread, a limit of its size
//! and of its time, and is answered by a status if it is not for us. A page of another site cannot
//! read ours by a name that leads to this machine, since only loopback names are taken as `Host`.
use anybinder_cli::error::{Doing, Error, Result};
use anybinder_cli::interrupt;
use anybinder_cli::output::say;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a reader may take to say what it wants, and to take it.
const PATIENCE: Duration = Duration::from_secs(2);
const REQUEST_MAX: usize = 8192;
/// What is read of a longer request, so that its sender sees the answer.
const REST_MAX: usize = 1 << 20;
/// Readers at the same time.
const READERS_MAX: usize = 32;
/// How long a page may take to be made.
const MAKING: Duration = Duration::from_secs(60);
/// How often an interrupt is looked for.
const GLANCE: Duration = Duration::from_millis(100);

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub status: &'static str,
    pub kind: &'static str,
    pub text: String,
}

impl Page {
    pub fn of(kind: &'static str, text: String) -> Page {
        Page {
            status: "200 OK",
            kind,
            text,
        }
    }

    /// An answer that refuses, and says why in a line.
    pub fn refusal(status: &'static str, why: &str) -> Page {
        Page {
            status,
            kind: "text/plain; charset=utf-8",
            text: format!("{why}\n"),
        }
    }
}

/// What a reader asks for: the path, and what stands behind its question mark.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    pub path: String,
    pub query: String,
}

type Question = (Asked, Sender<Page>);

pub struct Server {
    questions: Receiver<Question>,
}

impl Server {
    /// Listens, and prints the address of the page.
    ///
    /// * `address`: one of this machine itself; port 0 is a free one
    /// * `place`: what follows the address
    /// * `what`: what whoever reads the page sees
    pub fn start(address: SocketAddr, place: &str, what: &str) -> Result<Server> {
        if !address.ip().is_loopback() {
            return Err(Error::usage(format!(
                "{address} can be reached by other machines: whoever reads the page sees {what}. \
                 Listen on a loopback address, and let a proxy say who may read it."
            )));
        }
        let listener = TcpListener::bind(address).doing(|| format!("listening on {address}"))?;
        let address = listener.local_addr().unwrap_or(address);
        let (sender, questions) = mpsc::channel();
        let accept = move || accept_readers(&listener, address, &sender);
        let thread = std::thread::Builder::new().spawn(accept);
        thread.doing(|| "starting a thread".to_string())?;
        say(format_args!("http://{address}{place}"));
        let _ = std::io::stdout().flush();
        Ok(Server { questions })
    }

    /// Answers readers until a time, or an interrupt.
    pub fn answer_until(
        &self,
        due: Instant,
        mut answer: impl FnMut(&Asked) -> Result<Page>,
    ) -> Result<()> {
        while interrupt::check().is_ok() {
            let left = due.saturating_duration_since(Instant::now());
            match self.questions.recv_timeout(left.min(GLANCE)) {
                Ok((asked, reader)) => {
                    // The reader may be gone.
                    let _ = reader.send(answer(&asked)?);
                }
                Err(RecvTimeoutError::Timeout) if left > GLANCE => {}
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }
}

fn accept_readers(listener: &TcpListener, own: SocketAddr, sender: &Sender<Question>) {
    let readers = Arc::new(AtomicUsize::new(0));
    for reader in listener.incoming() {
        let Ok(reader) = reader else {
            // No file is left for it.
            std::thread::sleep(GLANCE);
            continue;
        };
        if readers.fetch_add(1, Ordering::Relaxed) >= READERS_MAX {
            readers.fetch_sub(1, Ordering::Relaxed);
            let busy = Page::refusal("503 Service Unavailable", "there are too many readers");
            // It fits into the buffer of a new connection.
            let _ = reader.set_nonblocking(true);
            let _ = (&reader).write_all(&message(&busy));
            continue;
        }
        let (sender, count) = (sender.clone(), readers.clone());
        let serve = move || {
            let _ = serve_reader(reader, own, &sender);
            count.fetch_sub(1, Ordering::Relaxed);
        };
        if std::thread::Builder::new().spawn(serve).is_err() {
            readers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn message(page: &Page) -> Vec<u8> {
    let Page { status, kind, text } = page;
    let length = text.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nAllow: GET\r\n\
         Connection: close\r\n\r\n{text}"
    )
    .into_bytes()
}

/// What is left of a time; an error when it is over.
fn left(end: Instant) -> std::io::Result<Option<Duration>> {
    match end.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(ErrorKind::TimedOut.into()),
        left => Ok(Some(left)),
    }
}

/// The bytes of a request up to its empty line, or what to answer instead.
fn read_request(reader: &mut TcpStream) -> std::io::Result<std::result::Result<Vec<u8>, Page>> {
    let end = Instant::now() + PATIENCE;
    let (mut request, mut part) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > REQUEST_MAX {
            let why = "the request is too long";
            return Ok(Err(Page::refusal(
                "431 Request Header Fields Too Large",
                why,
            )));
        }
        let read = left(end).and_then(|left| {
            reader.set_read_timeout(left)?;
            reader.read(&mut part)
        });
        match read {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(size) => request.extend_from_slice(&part[..size]),
            Err(err) if err.kind() == ErrorKind::Interrupted => {}
            Err(err) if matches!(err.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
                let why = "the request took too long";
                return Ok(Err(Page::refusal("408 Request Timeout", why)));
            }
            Err(err) => return Err(err),
        }
    }
    Ok(Ok(request))
}

/// What a request asks for, or what to answer instead.
fn parse(request: &[u8], own: SocketAddr) -> std::result::Result<Asked, Page> {
    let bad = || Page::refusal("400 Bad Request", "this is no request of HTTP/1.1");
    let text = std::str::from_utf8(request).map_err(|_| bad())?;
    let mut lines = text.split("\r\n");
    let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let &[method, target, version] = first.as_slice() else {
        return Err(bad());
    };
    if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
        return Err(bad());
    }
    let fields = lines.filter_map(|line| line.split_once(':'));
    let hosts = fields.filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    let hosts: Vec<&str> = hosts.map(|(_, value)| value.trim()).collect();
    let &[host] = hosts.as_slice() else {
        return Err(bad());
    };
    let by_name = format!("localhost:{}", own.port());
    if host != own.to_string() && !host.eq_ignore_ascii_case(&by_name) {
        let why = "the page has another host: its address is the one that was printed";
        return Err(Page::refusal("421 Misdirected Request", why));
    }
    if method != "GET" {
        let why = "a page can only be read: GET";
        return Err(Page::refusal("405 Method Not Allowed", why));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Ok(Asked {
        path: path.to_string(),
        query: query.to_string(),
    })
}

/// The page that the program makes for a reader.
fn ask(asked: Asked, sender: &Sender<Question>) -> Page {
    let (page_sender, page) = mpsc::channel();
    let sent = sender.send((asked, page_sender));
    let made = sent.ok().and_then(|()| page.recv_timeout(MAKING).ok());
    made.unwrap_or_else(|| Page::refusal("503 Service Unavailable", "no page could be made"))
}

fn serve_reader(
    mut reader: TcpStream,
    own: SocketAddr,
    sender: &Sender<Question>,
) -> std::io::Result<()> {
    let request = read_request(&mut reader)?;
    let asked = request.and_then(|request| parse(&request, own));
    let page = asked.map_or_else(|refusal| refusal, |asked| ask(asked, sender));
    let answer = message(&page);
    let end = Instant::now() + PATIENCE;
    let mut rest = answer.as_slice();
    while !rest.is_empty() {
        reader.set_write_timeout(left(end)?)?;
        let written = reader.write(rest)?;
        rest = &rest[written..];
    }
    // A connection that is closed with unread bytes takes the answer along.
    reader.shutdown(Shutdown::Write)?;
    let (mut part, mut read) = ([0; 1024], 0);
    while read < REST_MAX {
        reader.set_read_timeout(left(end)?)?;
        match reader.read(&mut part)? {
            0 => break,
            size => read += size,
        }
    }
    Ok(())
}
