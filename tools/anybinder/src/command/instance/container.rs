// SPDX-License-Identifier: Apache-2.0
//! `anybinder container`: the arguments that give a container the devices of a mount.
pub mod android;
mod documents;

use super::doctor::finding::{Check, State};
use anybinder_cli::error::{Error, Kind, Result};
use anybinder_cli::output::{note, say_lines};
use anybinder_mount::context::Context;
use anybinder_mount::device_access;
use anybinder_mount::mount::{Backend, Mount, DEFAULT_PATH, NODE_PATH};
use anybinder_mount::namespace;
use anybinder_mount::record::Record;
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::ExitCode;

const DEFAULT_IMAGE: &str = concat!("anybinder:", env!("CARGO_PKG_VERSION"));

/// What a device must permit to a user that is neither its owner nor of its group.
const ALL_USERS: u32 = 0o006;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    Podman,
    Docker,
    Lxc,
    Bwrap,
    SystemdNspawn,
    /// A specification for /etc/cdi, for podman, containerd, CRI-O and Docker
    Cdi,
    /// Manifests of the device plugin
    Kubernetes,
    /// Android with service managers of its own: the settings, and whether they hold
    Waydroid,
    /// The same, of an image that mounts binderfs itself
    Redroid,
}

impl Tool {
    /// Whether what is printed goes to a file.
    fn is_document(self) -> bool {
        matches!(
            self,
            Tool::Lxc | Tool::Cdi | Tool::Kubernetes | Tool::Waydroid
        )
    }
}

#[derive(Args)]
pub struct Arguments {
    /// The program that starts the container
    #[arg(value_name = "TOOL")]
    tool: Tool,

    /// For a daemon of its own in the container, in place of the devices of this mount; for
    /// kubernetes, a daemon in a pod of each node
    #[arg(long)]
    own: bool,

    /// For kubernetes: the image with the programs
    #[arg(long, value_name = "IMAGE", default_value = DEFAULT_IMAGE)]
    image: String,

    /// For kubernetes: devices by names of CDI, for pods with hostUsers: false
    #[arg(long)]
    cdi: bool,
}

#[derive(Serialize)]
struct Output {
    tool: Tool,
    /// Options of the program; for LXC, lines of its configuration; a whole file for cdi and
    /// kubernetes.
    arguments: Vec<String>,
    notes: Vec<String>,
    /// Whether what Android needs is there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks: Vec<Check>,
}

/// A device of the mount: files of a daemon, or nodes of a kernel's driver.
#[derive(Clone, Copy)]
enum Devices {
    Files,
    Nodes { major: u32 },
}

/// What libbinder reads to know what the driver can do.
const FEATURES: &str = "features";

/// The devices of a mount that a container gets.
#[derive(Clone, Copy)]
struct Offer<'a> {
    mount: &'a str,
    names: &'a [String],
    devices: Devices,
    has_features: bool,
    /// The container may have the directory with all that is in it. Else there are others' devices.
    is_whole: bool,
}

/// A file, or a directory, and where the container has it.
struct Bind {
    from: String,
    to: String,
    is_directory: bool,
}

impl Offer<'_> {
    fn bind(&self, name: &str, below: &str) -> Bind {
        Bind {
            from: format!("{}/{name}", self.mount),
            to: format!("{below}/{name}"),
            is_directory: name == FEATURES,
        }
    }

    /// What is at /dev/binderfs: the mount, or each device that is offered.
    fn directory(&self) -> Vec<Bind> {
        if self.is_whole {
            return vec![Bind {
                from: self.mount.to_string(),
                to: DEFAULT_PATH.to_string(),
                is_directory: true,
            }];
        }
        let features = self.has_features.then_some(FEATURES);
        let names = self.names.iter().map(String::as_str).chain(features);
        names.map(|name| self.bind(name, DEFAULT_PATH)).collect()
    }

    /// What is at /dev/NAME.
    fn devices(&self) -> Vec<Bind> {
        let names = self.names.iter();
        names.map(|name| self.bind(name, "/dev")).collect()
    }

    fn all(&self) -> Vec<Bind> {
        let mut all = self.directory();
        all.extend(self.devices());
        all
    }

    /// As for a runtime that makes device nodes itself, one by one.
    fn by_node(self) -> Self {
        Offer {
            is_whole: self.is_whole && matches!(self.devices, Devices::Files),
            ..self
        }
    }
}

fn of_podman(offer: Offer) -> Vec<String> {
    let argument = |bind: Bind| match offer.devices {
        Devices::Nodes { .. } if !bind.is_directory => {
            format!("--device={}:{}", bind.from, bind.to)
        }
        _ => format!("--volume={}:{}", bind.from, bind.to),
    };
    offer.by_node().all().into_iter().map(argument).collect()
}

fn of_lxc(offer: Offer) -> Vec<String> {
    let entry = |bind: Bind| {
        let kind = if bind.is_directory { "dir" } else { "file" };
        let to = bind.to.trim_start_matches('/');
        format!(
            "lxc.mount.entry = {} {to} none bind,create={kind} 0 0",
            bind.from
        )
    };
    let mut lines: Vec<String> = offer.all().into_iter().map(entry).collect();
    if let Devices::Nodes { major } = offer.devices {
        lines.push(format!("lxc.cgroup2.devices.allow = c {major}:* rwm"));
    }
    lines
}

fn of_bwrap(offer: Offer) -> Vec<String> {
    let option = match offer.devices {
        Devices::Files => "--bind",
        Devices::Nodes { .. } => "--dev-bind",
    };
    let bound = offer.directory().into_iter();
    let mut words: Vec<String> = bound
        .flat_map(|bind| [option.to_string(), bind.from, bind.to])
        .collect();
    for name in offer.names {
        let link = format!("binderfs/{name}");
        words.extend(["--symlink".into(), link, format!("/dev/{name}")]);
    }
    words
}

fn of_nspawn(offer: Offer) -> Vec<String> {
    let all = offer.all().into_iter();
    let mut arguments: Vec<String> = all
        .map(|bind| format!("--bind={}:{}", bind.from, bind.to))
        .collect();
    if let Devices::Nodes { .. } = offer.devices {
        let allow = |bind: Bind| format!("--property=DeviceAllow={}", bind.from);
        arguments.extend(offer.devices().into_iter().map(allow));
    }
    arguments
}

/// Where the container has the devices: at /dev/NAME and in /dev/binderfs.
fn shared(tool: Tool, offer: Offer) -> Vec<String> {
    match tool {
        Tool::Podman | Tool::Docker => of_podman(offer),
        Tool::Lxc => of_lxc(offer),
        Tool::Bwrap => of_bwrap(offer),
        Tool::SystemdNspawn => of_nspawn(offer),
        Tool::Cdi => vec![documents::cdi_of(offer)],
        // Not by the devices that there are: the plugin makes them, or Android names its own.
        Tool::Kubernetes | Tool::Waydroid | Tool::Redroid => Vec::new(),
    }
}

/// What a daemon in the container needs.
fn own(tool: Tool) -> Vec<String> {
    let words: &[&str] = match tool {
        // The AppArmor profiles of both deny mounts; docker's default filter of system calls denies
        // a daemon's own namespaces as well.
        Tool::Podman => &["--device=/dev/fuse", "--security-opt=apparmor=unconfined"],
        Tool::Docker => &[
            "--device=/dev/fuse",
            "--security-opt=apparmor=unconfined",
            "--security-opt=seccomp=unconfined",
        ],
        Tool::Lxc => &[
            "lxc.mount.entry = /dev/fuse dev/fuse none bind,create=file 0 0",
            "lxc.cgroup2.devices.allow = c 10:229 rwm",
        ],
        Tool::Bwrap => &["--dev-bind", "/dev/fuse", "/dev/fuse"],
        Tool::SystemdNspawn => &["--bind=/dev/fuse", "--property=DeviceAllow=/dev/fuse"],
        Tool::Cdi => return vec![documents::cdi_for_own()],
        Tool::Kubernetes | Tool::Waydroid | Tool::Redroid => &[],
    };
    words.iter().map(|word| word.to_string()).collect()
}

/// The mount as the tool can spell it.
fn spelled(mount: &Path, tool: Tool) -> Result<String> {
    let path = mount.to_str().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@,".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        return Ok(path.to_string());
    }
    match tool {
        Tool::Lxc if !path.is_empty() && !path.contains('\n') => Ok(path.replace(' ', "\\040")),
        _ => Err(Error::with_advice(
            format!("The path {} cannot be given to it safely.", mount.display()),
            "Mount at a path of letters, digits and /._-+=@, with --mount.",
        )),
    }
}

/// The mount of an ordinary user may exist in namespaces of its daemon only.
fn check_visible(mount: &Mount) -> Result<()> {
    match Record::load_running(mount)? {
        Some((record, _)) if record.private && record.namespace != namespace::mount_namespace() => {
            Err(Error::with_advice(
                format!(
                    "The mount {} exists only for programs that `anybinder run` starts.",
                    mount.path.display()
                ),
                "Run a daemon in the container (--own), or use a mount of root: \
                 `anybinder up --mode 0666` as root.",
            )
            .of(Kind::NotUp))
        }
        _ => mount.check_served(),
    }
}

fn devices_of(mount: &Mount, names: &[String]) -> Devices {
    let first = names.first().map(|name| mount.file(name));
    match first.and_then(|path| std::fs::metadata(path).ok()) {
        Some(found) if mount.backend() == Backend::Kernel => Devices::Nodes {
            major: libc::major(found.rdev()),
        },
        _ => Devices::Files,
    }
}

/// Devices that a container of another user could not open.
fn note_on_modes(mount: &Mount, names: &[String]) -> Option<String> {
    let closed = names.iter().find_map(|name| {
        let found = std::fs::metadata(mount.file(name)).ok()?;
        (found.permissions().mode() & ALL_USERS != ALL_USERS).then_some(found)
    })?;
    Some(format!(
        "only {} can open the devices: for a container of others have the daemon started with \
         --mode 0666 (MODE=0666 in /etc/default/anybinder)",
        device_access::who(&closed)
    ))
}

/// Where runtimes mount in each container. A directory with one of these in it cannot be shared
/// with the node: what the runtime mounts for the daemon's pod would appear there.
const RUNTIME_MOUNTS: [&str; 7] = [
    "/dev/shm",
    "/etc/hosts",
    "/proc",
    "/run/secrets",
    "/sys/fs/cgroup",
    "/tmp/termination-log",
    "/var/run/secrets",
];

/// Fails if a daemon in a pod that mounts there would harm its node.
fn check_shareable(mount: &Path) -> Result<()> {
    let above = mount.parent().unwrap_or(mount);
    let mut runtimes = RUNTIME_MOUNTS.iter().map(Path::new);
    // Runtimes walk through /dev for each privileged container, and through a mount there.
    if !above.starts_with("/dev") && !runtimes.any(|path| path.starts_with(above)) {
        return Ok(());
    }
    Err(Error::with_advice(
        format!(
            "A daemon in a pod cannot mount at {}: container runtimes use {} themselves.",
            mount.display(),
            above.display()
        ),
        format!("Leave --mount out, for {NODE_PATH}, or name a directory of its own."),
    ))
}

/// The manifests are for other machines: no mount is needed here, nor is that of this user meant.
fn for_kubernetes(context: &Context, arguments: &Arguments) -> Result<Output> {
    let tool = arguments.tool;
    let mount = match context.is_mount_named {
        true => &context.mount.path,
        false => Path::new(NODE_PATH),
    };
    spelled(mount, tool)?;
    if arguments.own {
        check_shareable(mount)?;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@".contains(c);
    if arguments.image.is_empty() || !arguments.image.chars().all(is_plain) {
        let what = format!("{} is no name of an image.", arguments.image);
        return Err(Error::with_advice(what, "Give it as REGISTRY/NAME:TAG."));
    }
    let manifests = documents::Manifests {
        mount,
        image: &arguments.image,
        own: arguments.own,
        cdi: arguments.cdi,
    };
    Ok(Output {
        tool,
        arguments: vec![manifests.text()],
        notes: vec!["docs/CONTAINERS.md says how to make the image, and what pods ask for".into()],
        checks: Vec::new(),
    })
}

fn describe(context: &Context, arguments: &Arguments) -> Result<Output> {
    let tool = arguments.tool;
    if tool == Tool::Kubernetes {
        return for_kubernetes(context, arguments);
    }
    if matches!(tool, Tool::Waydroid | Tool::Redroid) {
        return Ok(Output {
            tool,
            arguments: android::settings(tool),
            notes: Vec::new(),
            checks: android::checks(&context.mount, tool)?,
        });
    }
    if arguments.own {
        return Ok(Output {
            tool,
            arguments: own(tool),
            notes: vec!["in the container: anybinder up, then anybinder run -- CMD".into()],
            checks: Vec::new(),
        });
    }
    let mount = &context.mount;
    check_visible(mount)?;
    let names = mount.devices_of_machine();
    let path = spelled(&mount.path, tool)?;
    let offer = Offer {
        mount: &path,
        names: &names,
        devices: devices_of(mount, &names),
        has_features: mount.file(FEATURES).is_dir(),
        is_whole: names.len() == mount.devices().len(),
    };
    let mut notes: Vec<String> = note_on_modes(mount, &names).into_iter().collect();
    if tool == Tool::Bwrap {
        notes.push("these come after --dev /dev".into());
    }
    Ok(Output {
        tool,
        arguments: shared(tool, offer),
        notes,
        checks: Vec::new(),
    })
}

fn print(output: &Output) {
    let between = if output.tool.is_document() { "\n" } else { " " };
    say_lines(output.arguments.join(between));
    for one in &output.notes {
        note(format_args!("note: {one}"));
    }
    for check in &output.checks {
        note(check.line());
    }
}

pub fn run(context: &Context, arguments: &Arguments) -> Result<ExitCode> {
    let output = describe(context, arguments)?;
    context.show(&output, print);
    let is_bad = output.checks.iter().any(|check| check.state == State::No);
    Ok(match is_bad {
        true => ExitCode::from(Kind::NotWorking.exit_status()),
        false => ExitCode::SUCCESS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(names: &[String], devices: Devices, is_whole: bool) -> Offer<'_> {
        Offer {
            mount: "/run/b",
            names,
            devices,
            has_features: true,
            is_whole,
        }
    }

    /// The directory is bound as it is only where no pod has devices in it.
    #[test]
    fn each_tool_gets_each_device_at_both_places() {
        let names = ["binder".to_string(), "hwbinder".to_string()];
        let tools = Tool::value_variants().iter();
        let others = [Tool::Kubernetes, Tool::Waydroid, Tool::Redroid];
        for tool in tools.filter(|tool| !others.contains(tool)) {
            for devices in [Devices::Files, Devices::Nodes { major: 511 }] {
                for is_whole in [true, false] {
                    let text = shared(*tool, offer(&names, devices, is_whole)).join(" ");
                    for name in ["binder", "hwbinder", FEATURES] {
                        let seen = text.contains(&format!("/run/b/{name}"))
                            || text.contains(&format!("binderfs/{name}"))
                            || is_whole;
                        assert!(seen, "{tool:?}: {text}");
                    }
                    assert!(text.contains("dev/hwbinder"), "{tool:?}: {text}");
                    let has_directory = ["/run/b:", "/run/b ", "/run/b\""]
                        .iter()
                        .any(|word| text.contains(word));
                    assert!(is_whole || !has_directory, "{tool:?}: {text}");
                }
            }
        }
    }

    #[test]
    fn nodes_are_devices_for_the_container() {
        let names = ["binder".to_string()];
        let of = |tool| shared(tool, offer(&names, Devices::Nodes { major: 511 }, true)).join(" ");
        assert_eq!(
            of(Tool::Podman),
            "--device=/run/b/binder:/dev/binderfs/binder \
             --volume=/run/b/features:/dev/binderfs/features --device=/run/b/binder:/dev/binder"
        );
        assert!(of(Tool::Lxc).contains("devices.allow = c 511:* rwm"));
        assert!(of(Tool::Bwrap).starts_with("--dev-bind /run/b "));
        assert!(of(Tool::SystemdNspawn).contains("DeviceAllow=/run/b/binder"));
    }

    #[test]
    fn a_path_that_a_tool_would_split_is_refused() {
        assert!(spelled(Path::new("/a:b"), Tool::Podman).is_err());
        assert!(spelled(Path::new("/a b"), Tool::Bwrap).is_err());
        assert_eq!(spelled(Path::new("/a b"), Tool::Lxc).unwrap(), "/a\\040b");
        assert_eq!(spelled(Path::new("/a-b"), Tool::Docker).unwrap(), "/a-b");
    }
}
