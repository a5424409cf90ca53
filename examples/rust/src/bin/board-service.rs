// SPDX-License-Identifier: Apache-2.0
//! The service: keeps the notes, and calls the readers.
use board::{shared_buffer, BnBoard, IBoard, IReader, NAME};
use rsbinder::{
    BinderResult, DeathRecipient, Interface, ParcelFileDescriptor, SIBinder, Status, StatusCode,
    Strong, WIBinder,
};
use std::io::{BufRead, BufReader};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

/// The readers that are called for each note; the notice of its death removes one.
#[derive(Default)]
struct Readers(Mutex<Vec<Strong<dyn IReader>>>);

impl DeathRecipient for Readers {
    fn binder_died(&self, dead: &WIBinder) {
        let mut readers = self.0.lock().unwrap();
        readers.retain(|reader| SIBinder::downgrade(&reader.as_binder()) != *dead);
        println!("a reader died, {} left", readers.len());
    }
}

#[derive(Default)]
struct Board {
    notes: Mutex<Vec<String>>,
    readers: Arc<Readers>,
}

impl Interface for Board {}

impl IBoard for Board {
    fn post(&self, note: &str) -> BinderResult<i32> {
        let count = {
            let mut notes = self.notes.lock().unwrap();
            notes.push(note.to_string());
            notes.len()
        };
        for reader in self.readers.0.lock().unwrap().iter() {
            // One-way: this does not wait. It fails if the reader just died.
            let _ = reader.onNote(note);
        }
        Ok(count as i32)
    }

    fn postFile(&self, file: &ParcelFileDescriptor) -> BinderResult<i32> {
        let mut count = 0;
        for line in BufReader::new(file).lines() {
            count = self.post(&line.map_err(status)?)?;
        }
        Ok(count)
    }

    fn subscribe(&self, reader: &Strong<dyn IReader>) -> BinderResult<i32> {
        // Locked first: a notice that comes at once waits until the reader is in the list.
        let mut readers = self.readers.0.lock().unwrap();
        reader.as_binder().link_to_death_arc(&self.readers)?;
        readers.push(reader.clone());
        println!("{} readers", readers.len());
        Ok(readers.len() as i32)
    }

    fn readers(&self) -> BinderResult<i32> {
        Ok(self.readers.0.lock().unwrap().len() as i32)
    }

    fn sum(&self, buffer: &ParcelFileDescriptor) -> BinderResult<i64> {
        Ok(shared_buffer::sum(&shared_buffer::map(buffer).map_err(status)?))
    }
}

fn status(err: std::io::Error) -> Status {
    StatusCode::from(err).into()
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    board::open_binder()?;
    let service = BnBoard::new_binder(Board::default()).as_binder();
    board::until_there(|| rsbinder::hub::add_service(NAME, service.clone()))?;
    let _notices = board::link_to_manager()?;
    println!("serving {NAME}");
    board::serve()
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("board-service: {err}");
            ExitCode::FAILURE
        }
    }
}
