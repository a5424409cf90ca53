// SPDX-License-Identifier: Apache-2.0
//! Generates the test interfaces from their AIDL.
use std::path::PathBuf;

fn main() {
    let generated = ["IPeer", "ICallback", "Record", "Envelope"]
        .iter()
        .fold(rsbinder_aidl::Builder::new(), |builder, name| {
            builder.source(PathBuf::from(format!("aidl/anybinder/test/{name}.aidl")))
        })
        .output(PathBuf::from("test_aidl.rs"))
        .generate();
    if let Err(err) = generated {
        eprintln!("aidl/anybinder/test: {err:?}");
        std::process::exit(1);
    }
}
