// SPDX-License-Identifier: Apache-2.0
//! What is written to files: a specification of CDI, and manifests for Kubernetes.
use super::{Devices, DEFAULT_PATH};
use serde_json::{json, Value};
use std::path::Path;

/// The first version that names devices by another path than in the container.
const CDI_VERSION: &str = "0.5.0";
/// Devices of it are `anybinder.dev/binder=NAME`.
const CDI_KIND: &str = "anybinder.dev/binder";

const PLUGIN: &str = include_str!("plugin.yaml");
const DAEMON: &str = include_str!("daemonset.yaml");

fn cdi(devices: &[Value]) -> String {
    let document = json!({"cdiVersion": CDI_VERSION, "kind": CDI_KIND, "devices": devices});
    // JSON is YAML.
    format!("{document:#}")
}

/// What a container gets for some devices of the mount; with `directory` for the whole mount too.
fn edits(mount: &str, names: &[String], devices: Devices, directory: bool) -> Value {
    let options = ["rbind", "rw", "nosuid"];
    let bind = |from: &str, to: &str| {
        json!({
            "hostPath": from,
            "containerPath": to,
            "options": options,
        })
    };
    let file = |name: &String| match devices {
        Devices::Files => bind(&format!("{mount}/{name}"), &format!("/dev/{name}")),
        Devices::Nodes { .. } => json!({
            "path": format!("/dev/{name}"),
            "hostPath": format!("{mount}/{name}"),
            "permissions": "rw",
        }),
    };
    let mut list: Vec<Value> = names.iter().map(file).collect();
    match devices {
        Devices::Nodes { .. } => json!({ "deviceNodes": list }),
        Devices::Files => {
            if directory {
                list.insert(0, bind(mount, DEFAULT_PATH));
            }
            json!({ "mounts": list })
        }
    }
}

/// The specification of the devices of a mount: `all`, and each by its name.
pub fn cdi_of(mount: &str, names: &[String], devices: Devices) -> String {
    let device = |name: &str, edits: Value| json!({"name": name, "containerEdits": edits});
    let all = device("all", edits(mount, names, devices, true));
    let each = names.iter().map(|name| {
        let one = std::slice::from_ref(name);
        device(name, edits(mount, one, devices, false))
    });
    cdi(&std::iter::once(all).chain(each).collect::<Vec<Value>>())
}

/// The specification of what a daemon in the container needs.
pub fn cdi_for_own() -> String {
    let fuse = json!({"deviceNodes": [{"path": "/dev/fuse"}]});
    cdi(&[json!({"name": "own", "containerEdits": fuse})])
}

/// The manifests of the device plugin and, with `own`, of the daemon.
pub fn manifests(mount: &Path, image: &str, own: bool) -> String {
    let above = mount.parent().unwrap_or(mount);
    let text = if own {
        format!("{DAEMON}{PLUGIN}")
    } else {
        PLUGIN.to_string()
    };
    text.replace("@IMAGE@", image)
        .replace("@MOUNT@", &mount.to_string_lossy())
        .replace("@ABOVE@", &above.to_string_lossy())
        .trim_end()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(devices: Devices) -> Value {
        let names = ["binder".to_string(), "hwbinder".to_string()];
        serde_json::from_str(&cdi_of("/run/b", &names, devices)).unwrap()
    }

    #[test]
    fn cdi_has_all_devices_and_each() {
        let names = |document: &Value| -> Vec<String> {
            let devices = document["devices"].as_array().unwrap().iter();
            devices
                .map(|device| device["name"].as_str().unwrap().into())
                .collect()
        };
        for devices in [Devices::Files, Devices::Nodes { major: 511 }] {
            assert_eq!(names(&parsed(devices)), ["all", "binder", "hwbinder"]);
        }
        let files = &parsed(Devices::Files)["devices"];
        let mounts = &files[0]["containerEdits"]["mounts"];
        assert_eq!(mounts[0]["containerPath"], DEFAULT_PATH);
        assert_eq!(mounts[2]["hostPath"], "/run/b/hwbinder");
        // One device gives no way to the others.
        assert_eq!(
            files[1]["containerEdits"]["mounts"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
        let nodes = &parsed(Devices::Nodes { major: 511 })["devices"][2]["containerEdits"];
        assert_eq!(nodes["deviceNodes"][0]["path"], "/dev/hwbinder");
    }

    #[test]
    fn manifests_are_filled_in() {
        let path = Path::new("/run/b/mount");
        for own in [false, true] {
            let text = manifests(path, "registry/anybinder:1", own);
            assert!(!text.contains('@'), "{text}");
            assert!(text.contains("--mount=/run/b/mount\n") && text.contains("path: /run/b\n"));
            assert_eq!(
                text.matches("image: registry/anybinder:1\n").count(),
                1 + own as usize
            );
        }
    }
}
