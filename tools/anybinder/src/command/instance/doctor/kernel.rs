// SPDX-License-Identifier: Apache-2.0
//! Questions about the kernel: which it is, what is mounted, and whether a module can be built for
//! it and loaded.
use super::finding::Check;
use anybinder_mount::mount::{Backend, Mount, DEFAULT_PATH, NODE_PATH};
use anybinder_mount::namespace::is_in_run;
use flate2::read::GzDecoder;
use std::fs;
use std::io::Read;
use std::path::Path;

/// The oldest kernel that the module is built for.
const MODULE_MIN: (u32, u32) = (5, 10);
/// The first kernel with FUSE passthrough.
const PASSTHROUGH_MIN: (u32, u32) = (6, 9);
/// The EFI variable, whose fifth byte is 1 if Secure Boot is on.
const SECURE_BOOT: &str =
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

/// A node of a cluster has this directory.
const KUBELET: &str = "/var/lib/kubelet";

fn release() -> String {
    rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned()
}

/// The first kernel that queues the requests again which a server had read (FUSE_NOTIFY_RESEND).
const RESEND_MIN: [u32; 3] = [6, 9, 4];

/// Major and minor number of a release such as `6.1.0-32-amd64`.
fn parse(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn is_at_least(wanted: (u32, u32)) -> bool {
    parse(&release()).is_some_and(|version| version >= wanted)
}

/// Whether the module knows this kernel.
pub fn is_supported() -> bool {
    is_at_least(MODULE_MIN) && is_known_arch()
}

fn is_known_arch() -> bool {
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
}

pub fn version() -> Check {
    let release = release();
    let uname = rustix::system::uname();
    let text = format!("Linux {release}, {}", uname.machine().to_string_lossy());
    match is_supported() {
        true => Check::ok("kernel", text),
        false => Check::limited(
            "kernel",
            text,
            "the module is for Linux 5.10 and later on x86-64 and arm64; use the daemon",
        ),
    }
}

/// The value of an option in the kernel's configuration; None if that cannot be read.
fn option(config: &str, name: &str) -> Option<String> {
    let prefix = format!("CONFIG_{name}=");
    let value = config.lines().find_map(|line| line.strip_prefix(&prefix));
    Some(value.unwrap_or("n").to_string())
}

/// The running kernel's own copy of its configuration, compressed.
fn unpacked(data: &[u8]) -> Option<String> {
    let mut config = String::new();
    GzDecoder::new(data).read_to_string(&mut config).ok()?;
    Some(config)
}

/// Where distributions put the configuration of a kernel, and where a kernel shows its own.
fn kernel_option(name: &str) -> Option<String> {
    let release = release();
    let places = [
        format!("/boot/config-{release}"),
        format!("/lib/modules/{release}/config"),
        format!("/lib/modules/{release}/build/.config"),
    ];
    let config = fs::read("/proc/config.gz")
        .ok()
        .and_then(|data| unpacked(&data))
        .or_else(|| places.iter().find_map(|path| fs::read_to_string(path).ok()));
    option(&config?, name)
}

/// Whether a module is installed for the running kernel; the names in the list are paths.
pub fn is_installed(module: &str) -> bool {
    let list = format!("/lib/modules/{}/modules.dep", release());
    let file = format!("/{module}.ko");
    let list = fs::read_to_string(list).unwrap_or_default();
    list.lines()
        .filter_map(|line| line.split(':').next())
        .any(|path| path.contains(&file))
}

fn is_linked(mount: &Mount) -> bool {
    fs::read_link(DEFAULT_PATH).is_ok_and(|target| target == mount.path)
}

pub fn mount(mount: &Mount) -> Check {
    let path = mount.path.display();
    match mount.backend() {
        Backend::Daemon if mount.path.starts_with("/dev") && Path::new(KUBELET).exists() => {
            Check::limited(
                "mount",
                format!(
                    "{path} is served by a daemon, on a node of a cluster, where privileged \
                     containers need all that is in /dev to answer"
                ),
                format!("MOUNT={NODE_PATH} in /etc/default/anybinder, with links in /dev"),
            )
        }
        Backend::Daemon if is_linked(mount) => Check::ok(
            "mount",
            format!("{path} is served by a daemon, and {DEFAULT_PATH} is a link to it"),
        ),
        Backend::Daemon => Check::ok("mount", format!("{path} is served by a daemon")),
        Backend::Kernel => Check::ok("mount", format!("{path} is served by the kernel")),
        Backend::None => Check::limited(
            "mount",
            format!("nothing is mounted at {path}"),
            "anybinder up",
        ),
        Backend::DeadDaemon => Check::no(
            "mount",
            format!("the daemon of {path} is dead"),
            "anybinder up",
        ),
        Backend::Stuck => Check::no(
            "mount",
            format!("the daemon of {path} does not answer"),
            "anybinder down",
        ),
    }
}

/// Whether a program that is started as it is finds a device. /dev is looked at, not the device,
/// whose daemon may not answer.
pub fn paths() -> Check {
    let name = "paths";
    let is_linked = Path::new("/dev/binder").symlink_metadata().is_ok();
    match (is_linked, Mount::is_system_mounted()) {
        (true, _) => Check::ok(name, "programs find /dev/binder"),
        (false, _) if is_in_run() => Check::limited(
            name,
            "the mount has no device `binder`, so that there is no /dev/binder",
            "have the daemon started with a device of that name (--devices)",
        ),
        (false, true) => Check::limited(
            name,
            "programs find /dev/binderfs, but not /dev/binder",
            "start those that look for /dev/binder with `anybinder run -- CMD`",
        ),
        (false, false) => Check::limited(
            name,
            "there is no /dev/binder: programs that look for it say `No such file or directory`",
            "start them with `anybinder run -- CMD`; or install the package, for all programs",
        ),
    }
}

/// Whether the daemon can map its clients' buffers without a copy.
pub fn passthrough() -> Check {
    let name = "passthrough";
    let slower =
        "nothing to do: the daemon uses the page cache instead, which is slower for large \
                  messages";
    if !is_at_least(PASSTHROUGH_MIN) {
        return Check::limited(name, "the kernel is older than 6.9", slower);
    }
    match kernel_option("FUSE_PASSTHROUGH").as_deref() {
        Some("n") => Check::limited(name, "the kernel is built without it", slower),
        _ if !rustix::process::geteuid().is_root() => {
            Check::limited(name, "only root may use it", "run the daemon as root")
        }
        Some(_) => Check::ok(name, "buffers are mapped without a copy"),
        None => Check::ok(
            name,
            "the kernel is new enough; its configuration is not readable",
        ),
    }
}

fn resends(release: &str) -> bool {
    let numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|part| part.parse().ok());
    numbers.take(3).collect::<Vec<u32>>() >= RESEND_MIN.to_vec()
}

/// What a crash of the daemon's server ends. A planned hand-over needs nothing that serving does
/// not need.
pub fn recovery() -> Check {
    let name = "recovery";
    match resends(&release()) {
        true => Check::ok(
            name,
            "a server is replaced under its clients; after a crash the next one serves new opens",
        ),
        false => Check::limited(
            name,
            "a server is replaced under its clients; after a crash the next one serves new opens, \
             but what the dead one had read fails (the kernel is older than 6.9.4)",
            "nothing to do: programs that open the device again go on",
        ),
    }
}

fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(name).is_file())
}

/// The compiler that the headers name: those of Debian do, in a file of their own.
fn compiler_of(variables: &str) -> Option<&str> {
    let line = variables.lines().find(|line| line.starts_with("CC = "))?;
    let name = &line[line.rfind("gcc")?..];
    (!name.contains(char::is_whitespace)).then_some(name)
}

/// Whether a module can be built.
pub fn headers() -> Check {
    let release = release();
    let build = format!("/lib/modules/{release}/build");
    if !Path::new(&build).join("Makefile").exists() {
        return Check::no(
            "headers",
            format!("there are none of {release}"),
            format!(
                "apt install linux-headers-{release}, if the kernel is a package of this \
                 distribution; the daemon needs none"
            ),
        );
    }
    let variables = fs::read_to_string(format!("{build}/.kernelvariables")).unwrap_or_default();
    let compiler = compiler_of(&variables).unwrap_or("gcc");
    let missing: Vec<&str> = ["make", compiler]
        .into_iter()
        .filter(|name| !has_program(name))
        .collect();
    match missing.is_empty() {
        true => Check::ok("headers", format!("{build}, make and {compiler}")),
        false => Check::no(
            "headers",
            format!("{build}, but no {}", missing.join(", no ")),
            format!("apt install {}", missing.join(" ")),
        ),
    }
}

/// The mode in brackets in the kernel's list, e.g. `none [integrity] confidentiality`.
fn lockdown_mode(text: &str) -> Option<&str> {
    text.split_once('[')?.1.split(']').next()
}

/// Whether the kernel loads modules.
pub fn modules() -> Check {
    let name = "modules";
    let is_off = fs::read_to_string("/proc/sys/kernel/modules_disabled");
    match kernel_option("MODULES").as_deref() {
        Some("n") => Check::no(name, "the kernel loads no modules at all", "use the daemon"),
        _ if is_off.is_ok_and(|text| text.trim() == "1") => Check::no(
            name,
            "the kernel loads no more modules until the next boot (kernel.modules_disabled)",
            "use the daemon",
        ),
        _ => Check::ok(name, "the kernel loads modules"),
    }
}

/// Whether an unsigned module can be loaded.
pub fn secure_boot() -> Check {
    let name = "secure-boot";
    let on = fs::read(SECURE_BOOT).is_ok_and(|data| data.get(4) == Some(&1));
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap_or_default();
    let locked = lockdown_mode(&lockdown).filter(|mode| *mode != "none");
    let signed = "sign the module: anybinder-dkms does with a key of your own, which \
                  `mokutil --import` registers (docs/KERNEL-MODULE.md)";
    match (on, locked) {
        (_, Some(mode)) => Check::no(name, format!("the kernel is locked down ({mode})"), signed),
        (true, None) => Check::limited(name, "on, but the kernel is not locked down", signed),
        (false, None) => Check::ok(name, "off: a module needs no signature"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{write::GzEncoder, Compression};
    use std::io::Write;

    #[test]
    fn a_release_has_two_numbers() {
        assert_eq!(parse("6.1.0-32-amd64"), Some((6, 1)));
        assert_eq!(parse("7.3-rc1"), Some((7, 3)));
        assert_eq!(parse("next"), None);
        assert!((6, 12) > PASSTHROUGH_MIN && (6, 1) < PASSTHROUGH_MIN);
    }

    #[test]
    fn requests_are_queued_again_as_of_6_9_4() {
        assert!(resends("6.9.4") && resends("6.12.9+deb13-amd64") && resends("7.2-rc1"));
        assert!(!resends("6.9.3") && !resends("6.1.0-32-amd64") && !resends("6.9-rc7"));
    }

    #[test]
    fn an_option_that_is_not_set_is_n() {
        let config = "CONFIG_FUSE_FS=m\n# CONFIG_FUSE_PASSTHROUGH is not set\n";
        assert_eq!(option(config, "FUSE_FS").as_deref(), Some("m"));
        assert_eq!(option(config, "FUSE_PASSTHROUGH").as_deref(), Some("n"));
    }

    #[test]
    fn a_compressed_configuration_is_unpacked() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(b"CONFIG_MODULES=y\n").unwrap();
        let packed = packer.finish().unwrap();
        assert_eq!(unpacked(&packed).as_deref(), Some("CONFIG_MODULES=y\n"));
        assert_eq!(unpacked(&packed[..packed.len() - 9]), None);
        assert_eq!(unpacked(b"CONFIG_MODULES=y\n"), None);
    }

    #[test]
    fn the_headers_name_their_compiler() {
        let variables = "ARCH = x86\nCC = $(if $(X),$(CCACHE)) $(CROSS_COMPILE)gcc-14\n";
        assert_eq!(compiler_of(variables), Some("gcc-14"));
        assert_eq!(compiler_of("CC = $(CROSS_COMPILE)gcc-10\n"), Some("gcc-10"));
        assert_eq!(compiler_of("CC = clang\n"), None);
    }

    #[test]
    fn the_lockdown_mode_is_in_brackets() {
        assert_eq!(
            lockdown_mode("none [integrity] confidentiality\n"),
            Some("integrity")
        );
        assert_eq!(lockdown_mode(""), None);
    }
}
