// SPDX-License-Identifier: Apache-2.0
//! The objects that calls have found: what a name stands for is asked once, and kept until the
//! object is dead or the name may stand for another one.
use crate::lock;
use anybinder_driver::driver::Driver;
use anybinder_driver::parcel::Speaker;
use anybinder_parcel::interface_methods::Interface;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// An object that can be called, with a reference of this process.
pub struct Known {
    pub handle: u32,
    pub speaker: Speaker,
    pub interface: Arc<Interface>,
}

/// All of them by their names.
#[derive(Default)]
pub struct Objects(Mutex<HashMap<String, Arc<Known>>>);

impl Objects {
    /// * `interface`: the one by which it has to be known, if that is said
    pub fn find(&self, name: &str, interface: Option<&str>) -> Option<Arc<Known>> {
        let known = lock(&self.0).get(name).cloned()?;
        let fits = interface.is_none_or(|name| name == known.interface.entry.name);
        fits.then_some(known)
    }

    /// Keeps an object and its reference. Its death comes as an event with its handle.
    pub fn keep(&self, driver: &mut Driver, name: String, known: &Arc<Known>) {
        driver.request_death(known.handle, known.handle.into());
        if let Some(old) = lock(&self.0).insert(name, known.clone()) {
            driver.release(old.handle);
        }
    }

    /// Gives the references to those back whose handles are meant.
    pub fn forget(&self, driver: &mut Driver, is_meant: impl Fn(u32) -> bool) {
        lock(&self.0).retain(|_, known| {
            let is_kept = !is_meant(known.handle);
            if !is_kept {
                driver.release(known.handle);
            }
            is_kept
        });
    }
}
