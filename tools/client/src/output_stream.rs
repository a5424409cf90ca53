// SPDX-License-Identifier: Apache-2.0
//! A pipe whose writing end a service is given. What the service writes goes to an output of this
//! process as it comes, or is collected, up to a number of bytes: a service may write without end.
use anybinder_cli::error::{Doing, Error, Kind, Result};
use rustix::pipe::PipeFlags;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// How much a service may write.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct MostOutput {
    /// Cut what the service writes after so many bytes, and end
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    pub max_output: u64,
}

pub struct Stream {
    end: OwnedFd,
    reader: JoinHandle<()>,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
struct Taken {
    gathered: Vec<u8>,
    is_cut: bool,
}

/// What a service has written.
pub struct Written {
    /// If it was collected.
    pub text: String,
    /// There was more.
    pub is_cut: bool,
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of output that was cut.
pub fn cut_error(name: &str, most: u64) -> Error {
    Error::with_advice(
        format!("{name} wrote more than {most} bytes; the rest was left out."),
        "More of it comes with --max-output BYTES.",
    )
    .of(Kind::CallFailed)
}

/// Reads to the end, or to `most` bytes; whether there is more.
///
/// * `output`: None to keep what is read
fn read(from: &mut File, output: &mut Option<impl Write>, taken: &Mutex<Taken>, most: u64) -> bool {
    let (mut buffer, mut left) = ([0u8; 8192], most);
    loop {
        let size = match from.read(&mut buffer) {
            Ok(0) | Err(_) => return false,
            Ok(size) => size,
        };
        let part = &buffer[..size.min(usize::try_from(left).unwrap_or(usize::MAX))];
        left -= part.len() as u64;
        match output {
            None => lock(taken).gathered.extend_from_slice(part),
            // The service goes on writing when the reader of our output is gone.
            Some(output) => {
                let written = output.write_all(part);
                let _ = written.and_then(|()| output.flush());
            }
        }
        if part.len() < size {
            return true;
        }
    }
}

impl Stream {
    /// * `collect`: keep the text instead of passing it on to `output`
    /// * `most`: how many bytes to take; what would be more is not read
    /// * `on_cut`: called when there was more
    pub fn new(
        output: impl Write + Send + 'static,
        (collect, most): (bool, u64),
        on_cut: impl FnOnce() + Send + 'static,
    ) -> Result<Stream> {
        let (from, end) =
            rustix::pipe::pipe_with(PipeFlags::CLOEXEC).doing(|| "making a pipe".to_string())?;
        let taken = Arc::new(Mutex::new(Taken::default()));
        let shared = taken.clone();
        let mut output = (!collect).then_some(output);
        let reader = std::thread::spawn(move || {
            let mut from = File::from(from);
            if read(&mut from, &mut output, &shared, most) {
                lock(&shared).is_cut = true;
                // Open until this process ends, so that SIGPIPE does not kill the service before.
                std::mem::forget(from);
                on_cut();
            }
        });
        Ok(Stream { end, reader, taken })
    }

    /// A descriptor for the service.
    pub fn end(&self) -> Result<OwnedFd> {
        self.end
            .try_clone()
            .doing(|| "duplicating a pipe".to_string())
    }

    /// Waits until every holder of the writing end has closed it, or it is cut.
    pub fn finish(self) -> Written {
        drop(self.end);
        let _ = self.reader.join();
        Stream::written(&self.taken)
    }

    /// What was written until now; nothing is waited for.
    pub fn abandon(self) -> Written {
        Stream::written(&self.taken)
    }

    fn written(taken: &Mutex<Taken>) -> Written {
        let mut taken = lock(taken);
        let gathered = std::mem::take(&mut taken.gathered);
        Written {
            text: String::from_utf8_lossy(&gathered).into_owned(),
            is_cut: taken.is_cut,
        }
    }
}
