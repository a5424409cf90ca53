// SPDX-License-Identifier: Apache-2.0
//! The specification of CDI that has the devices of a resource.
//!
//! The kubelet has the runtime map the owners of what a plugin mounts in a pod with a user
//! namespace of its own (`hostUsers: false`), which FUSE refuses. What the runtime itself finds in
//! a specification is mounted as it is.
use crate::api::{Bind, CdiName, ContainerResponse, Node};
use anybinder_cli::error::Result;
use anybinder_cli::new_file::{NewFile, Readers};
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The first version that names devices by another path than in the container.
const VERSION: &str = "0.5.0";
/// The mode that devices have in the mount. From version 1.1.0 on, the library of CDI gives a
/// container the host's mode where none is said.
const NODE_MODE: u32 = 0o666;
const KIND: &str = "anybinder.dev/binder";

/// A file in a directory of specifications.
pub struct Specification {
    path: PathBuf,
    /// What was written last.
    text: Mutex<String>,
}

fn node(node: &Node) -> Value {
    json!({
        "path": node.container_path,
        "hostPath": node.host_path,
        "permissions": node.permissions,
        "fileMode": NODE_MODE,
    })
}

fn mount(bind: &Bind) -> Value {
    let access = if bind.read_only { "ro" } else { "rw" };
    json!({
        "hostPath": bind.host_path,
        "containerPath": bind.container_path,
        "options": ["rbind", access, "nosuid"],
    })
}

fn edits(container: &ContainerResponse) -> Value {
    let nodes = container.devices.iter().map(node);
    let mounts = container.mounts.iter().map(mount);
    json!({
        "deviceNodes": nodes.collect::<Vec<Value>>(),
        "mounts": mounts.collect::<Vec<Value>>(),
    })
}

impl Specification {
    /// * `name`: the file's, without what it ends with
    pub fn new(directory: &Path, name: &str) -> Self {
        Specification {
            path: directory.join(format!("{name}.json")),
            text: Mutex::default(),
        }
    }

    /// Whether it was written; then the kubelet may be given its names.
    pub fn is_written(&self) -> bool {
        self.text.lock().is_ok_and(|text| !text.is_empty())
    }

    /// Writes what each of these containers finds, by its name. The file appears complete.
    pub fn write(&self, all: Vec<(String, ContainerResponse)>) -> Result<()> {
        let device = |(name, container): (String, ContainerResponse)| {
            let edits = edits(&container);
            json!({"name": name, "containerEdits": edits})
        };
        let devices: Vec<Value> = all.into_iter().map(device).collect();
        let document = json!({"cdiVersion": VERSION, "kind": KIND, "devices": devices});
        let text = document.to_string();
        let mut last = self.text.lock().expect("nobody panics while it is locked");
        if *last != text {
            let mut file = NewFile::create(&self.path, Readers::Usual)?;
            file.put(text.as_bytes())?;
            file.take_place()?;
            *last = text;
        }
        Ok(())
    }

    /// What the kubelet is told for a container that gets the device of this name.
    pub fn answer(&self, name: &str) -> ContainerResponse {
        ContainerResponse {
            names: vec![CdiName {
                name: format!("{KIND}={name}"),
            }],
            ..ContainerResponse::default()
        }
    }
}
