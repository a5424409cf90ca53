// SPDX-License-Identifier: Apache-2.0
//! What is written to files: a specification of CDI, and manifests for Kubernetes.
use super::{Bind, Devices, Offer};
use serde_json::{json, Value};
use std::path::Path;

/// The first version that names devices by another path than in the container.
const CDI_VERSION: &str = "0.5.0";
/// Devices of it are `anybinder.dev/binder=NAME`.
const CDI_KIND: &str = "anybinder.dev/binder";

/// The mode of a node in the container. Without it CDI's library takes that of the host from 1.1.0
/// on, and left it to the runtime (0666) up to 1.0.1.
const NODE_MODE: u32 = 0o666;

const PLUGIN: &str = include_str!("plugin.yaml");
const DAEMON: &str = include_str!("daemonset.yaml");

fn cdi(devices: &[Value]) -> String {
    let document = json!({"cdiVersion": CDI_VERSION, "kind": CDI_KIND, "devices": devices});
    // JSON is YAML.
    format!("{document:#}")
}

/// What a container gets.
fn edits(offer: Offer) -> Value {
    let is_node =
        |bind: &Bind| !bind.is_directory && matches!(offer.devices, Devices::Nodes { .. });
    let (nodes, files): (Vec<Bind>, Vec<Bind>) =
        offer.by_node().all().into_iter().partition(is_node);
    let node = |bind: Bind| {
        json!({
            "path": bind.to,
            "hostPath": bind.from,
            "fileMode": NODE_MODE,
            "permissions": "rw",
        })
    };
    let mount = |bind: Bind| {
        json!({
            "hostPath": bind.from,
            "containerPath": bind.to,
            "options": ["rbind", "rw", "nosuid"],
        })
    };
    json!({
        "deviceNodes": nodes.into_iter().map(node).collect::<Vec<Value>>(),
        "mounts": files.into_iter().map(mount).collect::<Vec<Value>>(),
    })
}

/// The specification of the devices of a mount: `all`, and each by its name.
pub fn cdi_of(offer: Offer) -> String {
    let device = |name: &str, edits: Value| json!({"name": name, "containerEdits": edits});
    let all = device("all", edits(offer));
    let each = offer.names.iter().map(|name| {
        let one = Offer {
            names: std::slice::from_ref(name),
            is_whole: false,
            ..offer
        };
        device(name, edits(one))
    });
    cdi(&std::iter::once(all).chain(each).collect::<Vec<Value>>())
}

/// The specification of what a daemon in the container needs.
pub fn cdi_for_own() -> String {
    let fuse = json!({"deviceNodes": [{"path": "/dev/fuse", "fileMode": NODE_MODE}]});
    cdi(&[json!({"name": "own", "containerEdits": fuse})])
}

/// What the manifests are to have.
pub struct Manifests<'a> {
    pub mount: &'a Path,
    pub image: &'a str,
    /// The daemon as well.
    pub own: bool,
    /// The kubelet is given names of CDI.
    pub cdi: bool,
}

/// What ends a line that is for CDI alone.
const FOR_CDI: &str = " # CDI";

impl Manifests<'_> {
    /// The manifests of the device plugin and, with `own`, of the daemon.
    pub fn text(&self) -> String {
        let daemon = if self.own { DAEMON } else { "" };
        let above = self.mount.parent().unwrap_or(self.mount);
        let text = format!("{daemon}{PLUGIN}")
            .replace("@IMAGE@", self.image)
            .replace("@MOUNT@", &self.mount.to_string_lossy())
            .replace("@ABOVE@", &above.to_string_lossy());
        let lines = text
            .lines()
            .filter_map(|line| match line.strip_suffix(FOR_CDI) {
                Some(line) => self.cdi.then_some(line),
                None => Some(line),
            });
        lines.collect::<Vec<&str>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(devices: Devices, is_whole: bool) -> Value {
        let names = ["binder".to_string(), "hwbinder".to_string()];
        let offer = Offer {
            mount: "/run/b",
            names: &names,
            devices,
            has_features: true,
            is_whole,
        };
        serde_json::from_str(&cdi_of(offer)).unwrap()
    }

    /// The texts of all members of this name.
    fn texts(list: &Value, member: &str) -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|one| one[member].as_str().unwrap().into())
            .collect()
    }

    #[test]
    fn cdi_has_all_devices_and_each() {
        for devices in [Devices::Files, Devices::Nodes { major: 511 }] {
            for is_whole in [true, false] {
                let devices = &parsed(devices, is_whole)["devices"];
                assert_eq!(texts(devices, "name"), ["all", "binder", "hwbinder"]);
            }
        }
    }

    #[test]
    fn a_name_has_what_a_program_looks_for() {
        let one = |devices| parsed(devices, true)["devices"][2]["containerEdits"].clone();
        let places = [
            "/dev/binderfs/hwbinder",
            "/dev/binderfs/features",
            "/dev/hwbinder",
        ];
        let files = one(Devices::Files);
        assert_eq!(texts(&files["mounts"], "containerPath"), places);
        let nodes = one(Devices::Nodes { major: 511 });
        assert_eq!(texts(&nodes["mounts"], "containerPath"), places[1..2]);
        assert_eq!(texts(&nodes["deviceNodes"], "path"), [places[0], places[2]]);
        assert_eq!(nodes["deviceNodes"][0]["fileMode"], 0o666);
        let own: Value = serde_json::from_str(&cdi_for_own()).unwrap();
        let fuse = &own["devices"][0]["containerEdits"]["deviceNodes"][0];
        assert_eq!(fuse["fileMode"], 0o666);
    }

    #[test]
    fn the_directory_is_for_all_unless_pods_have_devices() {
        let all = |is_whole| {
            let edits = &parsed(Devices::Files, is_whole)["devices"][0]["containerEdits"];
            texts(&edits["mounts"], "hostPath")
        };
        assert_eq!(all(true), ["/run/b", "/run/b/binder", "/run/b/hwbinder"]);
        assert!(!all(false).contains(&"/run/b".to_string()));
    }

    #[test]
    fn manifests_are_filled_in() {
        for (own, cdi) in [(false, false), (true, false), (true, true)] {
            let manifests = Manifests {
                mount: Path::new("/run/b/mount"),
                image: "registry/anybinder:1",
                own,
                cdi,
            };
            let text = manifests.text();
            assert!(
                !text.contains(['@', '\t']) && !text.contains("# CDI"),
                "{text}"
            );
            assert!(text.contains("--mount=/run/b/mount\n") && text.contains("path: /run/b\n"));
            assert_eq!(text.matches("/etc/cdi").count(), 3 * cdi as usize);
            assert_eq!(
                text.matches("image: registry/anybinder:1\n").count(),
                1 + own as usize
            );
        }
    }
}
