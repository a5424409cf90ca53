// SPDX-License-Identifier: Apache-2.0
//! What the service and the client share: the interface, and buffers in shared memory.
pub mod buffer;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/board_aidl.rs"));
}
pub use generated::example::IBoard::IReader::{BnReader, IReader};
pub use generated::example::IBoard::{BnBoard, IBoard};

/// The name under which the service is registered.
pub const NAME: &str = "example.IBoard/default";

/// Opens the Binder device and starts the threads that serve incoming calls.
pub fn open_binder() -> Result<(), Box<dyn std::error::Error>> {
    rsbinder::ProcessState::init_default().map_err(|err| {
        let err = err.to_string();
        let err = err.trim();
        format!("no Binder device ({err}): start this with `anybinder run -- COMMAND`")
    })?;
    rsbinder::ProcessState::start_thread_pool();
    Ok(())
}
