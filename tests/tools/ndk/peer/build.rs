// SPDX-License-Identifier: Apache-2.0
//! Generates the interfaces from their AIDL.
use std::path::PathBuf;

fn main() {
    let generated = rsbinder_aidl::Builder::new()
        .include_dir(PathBuf::from("../aidl"))
        .source(PathBuf::from("../aidl/hard/IHard.aidl"))
        .output(PathBuf::from("hard_aidl.rs"))
        .generate();
    if let Err(err) = generated {
        eprintln!("aidl/hard: {err:?}");
        std::process::exit(1);
    }
}
