// SPDX-License-Identifier: Apache-2.0
//! What the service manager asks of the driver beside replies. Tests have a driver of their own.
use anybinder_driver::driver::Driver;
use anybinder_driver::parcel::Parcel;

/// What the registry asks of the driver.
pub trait Port {
    /// Takes a strong reference to a handle of the current transaction and asks for its death.
    fn keep(&mut self, handle: u32, cookie: u64);
    /// Drops the reference, and the death notification of a process that lives.
    fn drop_handle(&mut self, handle: u32, cookie: u64, is_dead: bool);
    /// How many strong references the object has, in all processes.
    fn strong_count(&mut self, handle: u32) -> Option<u32>;
    /// Sends a one-way call.
    fn send(&mut self, handle: u32, code: u32, parcel: Parcel);
}

impl Port for Driver {
    fn keep(&mut self, handle: u32, cookie: u64) {
        self.acquire(handle);
        self.request_death(handle, cookie);
    }

    fn drop_handle(&mut self, handle: u32, cookie: u64, is_dead: bool) {
        if !is_dead {
            self.clear_death(handle, cookie);
        }
        self.release(handle);
    }

    fn strong_count(&mut self, handle: u32) -> Option<u32> {
        Driver::strong_count(self, handle)
    }

    fn send(&mut self, handle: u32, code: u32, parcel: Parcel) {
        self.oneway(handle, code, parcel);
    }
}
