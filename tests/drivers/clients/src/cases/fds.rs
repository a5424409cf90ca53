// SPDX-License-Identifier: Apache-2.0
//! File descriptors in parcels, in both directions, and no leaks.
use super::cases;
use crate::descriptors::{open_count, open_text, read_text};
use crate::fixture::{holds, same, Fixture, Verdict};
use rsbinder::ParcelFileDescriptor;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};

cases![
    a_file_goes_to_the_service,
    a_file_comes_from_the_service,
    many_files_travel_in_one_parcel,
    a_pipe_connects_two_processes,
    a_file_is_shared_not_copied,
    received_files_close_on_exec,
    no_descriptor_is_left_over,
];

fn a_file_goes_to_the_service(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    for text in ["", "short", &"long ".repeat(5000)] {
        same("text", peer.readFile(&open_text(text)?)?, text.to_string())?;
    }
    Ok(())
}

fn a_file_comes_from_the_service(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    for text in ["", "short", &"long ".repeat(5000)] {
        same("text", read_text(&peer.openText(text)?)?, text.to_string())?;
    }
    Ok(())
}

fn many_files_travel_in_one_parcel(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let texts: Vec<String> = (0..48).map(|index| format!("file {index};")).collect();
    let files = peer.openTexts(&texts)?;
    for (file, text) in files.iter().zip(&texts) {
        same("from the service", read_text(file)?, text.clone())?;
    }
    let files: Vec<ParcelFileDescriptor> = texts
        .iter()
        .map(|text| open_text(text))
        .collect::<Result<_, _>>()?;
    same("to the service", peer.readFiles(&files)?, texts.concat())
}

fn a_pipe_connects_two_processes(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let (reader, writer) = rustix::pipe::pipe()?;
    let feeder = std::thread::spawn(move || File::from(writer).write_all(b"through a pipe"));
    // The service reads to the end, which comes when the only writer is closed.
    let read = peer.readFile(&ParcelFileDescriptor::new(reader))?;
    feeder.join().map_err(|_| "the feeder panicked")??;
    same("text", read, "through a pipe".to_string())
}

fn a_file_is_shared_not_copied(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let file = open_text("0123456789")?;
    let mut mine = File::from(file.as_fd().try_clone_to_owned()?);
    let mut half = [0; 5];
    mine.read_exact(&mut half)?;
    // The offset belongs to the open file, which both processes hold.
    same("the rest", peer.readFile(&file)?, "56789".to_string())?;
    same("at the end now", mine.read(&mut half)?, 0)
}

fn received_files_close_on_exec(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    let fd: OwnedFd = peer.openText("x")?.as_fd().try_clone_to_owned()?;
    let received = peer.openText("y")?;
    for fd in [fd.as_fd(), received.as_fd()] {
        let flags = rustix::io::fcntl_getfd(fd)?;
        holds(
            "closes on exec",
            flags.contains(rustix::io::FdFlags::CLOEXEC),
        )?;
    }
    Ok(())
}

fn no_descriptor_is_left_over(fixture: &Fixture) -> Verdict {
    let (_service, peer) = fixture.peer()?;
    // The first rounds start threads and fill caches.
    let rounds = |count: i32| -> Verdict {
        for _ in 0..count {
            peer.readFile(&open_text("there")?)?;
            read_text(&peer.openText("back")?)?;
        }
        Ok(())
    };
    rounds(20)?;
    let (mine, theirs) = (open_count()?, peer.openFiles()?);
    rounds(200)?;
    holds("none of mine", open_count()? <= mine + 2)?;
    holds("none of theirs", peer.openFiles()? <= theirs + 2)
}
