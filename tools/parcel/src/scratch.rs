// SPDX-License-Identifier: Apache-2.0
//! `.aidl` files for the time of a test.
use crate::aidl::{Library, Roots};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

pub struct Scratch {
    pub path: PathBuf,
}

impl Scratch {
    /// Files by their paths below the directory.
    pub fn new(files: &[(&str, &str)]) -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("anybinder-parcel-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        for (name, source) in files {
            let file = path.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, source).unwrap();
        }
        Scratch { path }
    }

    pub fn library(&self) -> Library {
        Library::open(&Roots::from(self.path.clone())).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
