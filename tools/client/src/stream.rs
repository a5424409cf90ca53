// SPDX-License-Identifier: Apache-2.0
//! A pipe whose writing end a service is given. What the service writes goes to an output of this
//! process as it comes, or is collected.
use anybinder_mount::error::{Doing, Result};
use rustix::pipe::PipeFlags;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

pub struct Stream {
    end: OwnedFd,
    reader: JoinHandle<Vec<u8>>,
}

impl Stream {
    /// * `collect`: keep the text instead of passing it on to `output`
    pub fn new(mut output: impl Write + Send + 'static, collect: bool) -> Result<Stream> {
        let (from, end) =
            rustix::pipe::pipe_with(PipeFlags::CLOEXEC).doing(|| "making a pipe".to_string())?;
        let reader = std::thread::spawn(move || {
            let mut from = File::from(from);
            let (mut kept, mut buffer) = (Vec::new(), [0u8; 8192]);
            loop {
                match from.read(&mut buffer) {
                    Ok(0) | Err(_) => return kept,
                    Ok(size) if collect => kept.extend_from_slice(&buffer[..size]),
                    // The service goes on writing when the reader of our output is gone.
                    Ok(size) => {
                        let written = output.write_all(&buffer[..size]);
                        let _ = written.and_then(|()| output.flush());
                    }
                }
            }
        });
        Ok(Stream { end, reader })
    }

    /// A descriptor for the service.
    pub fn end(&self) -> Result<OwnedFd> {
        self.end
            .try_clone()
            .doing(|| "duplicating a pipe".to_string())
    }

    /// Waits until every holder of the writing end has closed it. Returns what was collected.
    pub fn finish(self) -> String {
        drop(self.end);
        let kept = self.reader.join().unwrap_or_default();
        String::from_utf8_lossy(&kept).into_owned()
    }
}
