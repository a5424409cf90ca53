// SPDX-License-Identifier: Apache-2.0
//! Generates the interface of the Binder peers from its AIDL.
use std::path::PathBuf;

fn main() {
    let generated = rsbinder_aidl::Builder::new()
        .source(PathBuf::from("aidl/anybinder/bench/IEcho.aidl"))
        .output(PathBuf::from("bench_aidl.rs"))
        .generate();
    if let Err(err) = generated {
        eprintln!("aidl/anybinder/bench/IEcho.aidl: {err:?}");
        std::process::exit(1);
    }
}
