// SPDX-License-Identifier: Apache-2.0
//! Generates the interface from its AIDL.
use std::path::PathBuf;

fn main() {
    let generated = rsbinder_aidl::Builder::new()
        .source(PathBuf::from("../aidl/example/IFaulty.aidl"))
        .output(PathBuf::from("faulty_aidl.rs"))
        .generate();
    if let Err(err) = generated {
        eprintln!("IFaulty.aidl: {err:?}");
        std::process::exit(1);
    }
}
