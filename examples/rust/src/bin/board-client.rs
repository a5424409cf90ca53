// SPDX-License-Identifier: Apache-2.0
//! The client, a command for each method of the service.
use board::{shared_buffer, BnReader, IBoard, IReader, NAME};
use rsbinder::{BinderResult, DeathRecipient, Interface, ParcelFileDescriptor, Strong, WIBinder};
use std::fs::File;
use std::process::ExitCode;
use std::sync::Arc;

const USAGE: &str = "want post NOTE, file PATH, sum MEBIBYTES, readers, watch or leak COUNT";

struct Printer;

impl Interface for Printer {}

impl IReader for Printer {
    fn onNote(&self, note: &str) -> BinderResult<()> {
        println!("note: {note}");
        Ok(())
    }
}

struct Watcher;

impl DeathRecipient for Watcher {
    fn binder_died(&self, _dead: &WIBinder) {
        println!("the service died");
        std::process::exit(0);
    }
}

/// Prints the notes until the service dies.
fn watch(board: &Strong<dyn IBoard>) -> Result<(), Box<dyn std::error::Error>> {
    let watcher = Arc::new(Watcher);
    board.as_binder().link_to_death_arc(&watcher)?;
    let printer = BnReader::new_binder(Printer);
    println!("watching, {} readers", board.subscribe(&printer)?);
    board::serve()
}

/// A mistake to look for: a new reader is subscribed each time, and the service keeps them all.
fn leak(board: &Strong<dyn IBoard>, count: &str) -> Result<(), Box<dyn std::error::Error>> {
    for _ in 0..count.parse::<usize>()? {
        board.subscribe(&BnReader::new_binder(Printer))?;
    }
    println!("subscribed {count} times");
    board::serve()
}

fn sum(board: &Strong<dyn IBoard>, mebibytes: &str) -> Result<(), Box<dyn std::error::Error>> {
    let (fd, mut memory, kind) = shared_buffer::allocate(mebibytes.parse::<usize>()? << 20)?;
    for (index, byte) in memory.iter_mut().enumerate() {
        *byte = (index % 251) as u8;
    }
    let wanted = shared_buffer::sum(&memory);
    let got = board.sum(&ParcelFileDescriptor::new(fd))?;
    if got != wanted {
        return Err(format!("the service added up {got}, want {wanted}").into());
    }
    println!("{mebibytes} MiB in a {kind}: sum {got}");
    Ok(())
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if !matches!(
        arguments[..],
        ["watch" | "readers"] | ["post" | "file" | "sum" | "leak", _]
    ) {
        return Err(USAGE.into());
    }
    board::open_binder()?;
    let board: Strong<dyn IBoard> = board::until_there(|| {
        rsbinder::hub::check_interface(NAME)
            .map_err(|err| format!("{NAME} is not registered ({err}): start a service"))
    })?;
    match arguments[..] {
        ["post", note] => println!("{} notes", board.post(note)?),
        ["file", path] => {
            let file = ParcelFileDescriptor::new(File::open(path)?);
            println!("{} notes", board.postFile(&file)?);
        }
        ["sum", mebibytes] => sum(&board, mebibytes)?,
        ["leak", count] => leak(&board, count)?,
        ["readers"] => println!("{} readers", board.readers()?),
        _ => watch(&board)?,
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("board-client: {err}");
            ExitCode::FAILURE
        }
    }
}
