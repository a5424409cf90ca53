// SPDX-License-Identifier: Apache-2.0
//! Generates the demo's interface from its AIDL.
use std::path::PathBuf;

fn main() {
    let generated = rsbinder_aidl::Builder::new()
        .source(PathBuf::from("aidl/anybinder/demo/IAddInts.aidl"))
        .output(PathBuf::from("demo_aidl.rs"))
        .generate();
    if let Err(err) = generated {
        eprintln!("aidl/anybinder/demo/IAddInts.aidl: {err:?}");
        std::process::exit(1);
    }
}
