// SPDX-License-Identifier: Apache-2.0
//! The question which Binder drivers the kernel has, and whose they are. There may be two: this
//! project's module takes names of its own where another driver has the usual ones.
use super::finding::Check;
use super::kernel::is_installed;
use std::fs::read_to_string;
use std::path::Path;

const NAME: &str = "driver";
const OWN_TYPE: &str = "anybinder";
const STOCK_TYPE: &str = "binder";

/// Modules of other drivers, the same whether loaded or built in, and what they are.
const OTHERS: [(&str, &str); 3] = [("binder_linux", C), ("binder", C), ("rust_binder", RUST)];
/// Up to Linux 7.3.
const C: &str = "the kernel's driver in C";
/// From Linux 6.18 on, alone from 7.4 on.
const RUST: &str = "the kernel's driver in Rust";

const RUST_ADVICE: &str = "programs written for the C driver may fail on it (docs/PROTOCOL.md, \
    \"The Rust driver\"); `modprobe anybinder` loads the module beside it";
const FAMILY_ADVICE: &str = "its reports of failed calls are in the netlink family anybinder, \
    where libbinder of Android 17 does not look: `modprobe anybinder` before the other driver has \
    the family binder";
const WITHOUT_BINDERFS_ADVICE: &str =
    "programs that mount binderfs need another: `modprobe anybinder` loads the module beside it";

/// What the kernel has.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// The module is loaded; the file system types that it has.
    own: Option<Vec<&'static str>>,
    /// The module's netlink family for reports of failed calls is not `binder`, which another
    /// driver has.
    has_own_family: bool,
    /// The other driver that there is.
    other: Option<&'static str>,
    /// The other driver was loaded, and is not part of the kernel.
    other_is_module: bool,
    /// The file system type `binder` is there, whose ever it is.
    has_binderfs: bool,
}

/// The parameters of the module that say which names it has: its second file system type, and its
/// netlink family. Empty where it is not loaded.
#[derive(Default)]
struct Names {
    filesystem: String,
    family: String,
}

/// `exists` looks below /sys/module, `file_systems` is the text of /proc/filesystems.
fn find(exists: &dyn Fn(&str) -> bool, names: &Names, file_systems: &str) -> Found {
    let other = OTHERS.into_iter().find(|(module, _)| exists(module));
    Found {
        own: exists("anybinder").then(|| match names.filesystem.trim() {
            STOCK_TYPE => vec![OWN_TYPE, STOCK_TYPE],
            _ => vec![OWN_TYPE],
        }),
        has_own_family: names.family.trim() == OWN_TYPE,
        other: other.map(|(_, what)| what),
        // What is built in has no such file.
        other_is_module: other.is_some_and(|(module, _)| exists(&format!("{module}/initstate"))),
        has_binderfs: file_systems
            .lines()
            .any(|line| line.split_whitespace().last() == Some(STOCK_TYPE)),
    }
}

fn own_text(types: &[&str], found: &Found) -> String {
    let mount = format!("mount -t {}", types.join(" or "));
    match found.other {
        Some(other) if !types.contains(&STOCK_TYPE) && found.has_binderfs => format!(
            "anybinder's module, beside {other}: {mount} for the module, -t binder for the other"
        ),
        Some(other) => format!("anybinder's module, beside {other}: {mount} for the module"),
        None => format!("anybinder's module is loaded: {mount}"),
    }
}

fn other_check(other: &str, found: &Found) -> Check {
    let place = match found.other_is_module {
        true => "is loaded",
        false => "is built into the kernel",
    };
    let binderfs = match found.has_binderfs {
        true => "with binderfs",
        false => "without binderfs",
    };
    let advice = match (other, found.has_binderfs) {
        (RUST, _) => Some(RUST_ADVICE.to_string()),
        (_, false) => Some(WITHOUT_BINDERFS_ADVICE.to_string()),
        (_, true) => None,
    };
    Check {
        advice,
        ..Check::ok(NAME, format!("{other} {place}, {binderfs}"))
    }
}

/// None if there is no driver.
fn check(found: &Found) -> Option<Check> {
    match (&found.own, found.other) {
        (Some(types), _) => Some(Check {
            advice: found.has_own_family.then(|| FAMILY_ADVICE.to_string()),
            ..Check::ok(NAME, own_text(types, found))
        }),
        (None, Some(other)) => Some(other_check(other, found)),
        (None, None) => found
            .has_binderfs
            .then(|| Check::ok(NAME, "a driver is in the kernel, with binderfs")),
    }
}

/// What could be loaded.
fn installed() -> Check {
    let installed: Vec<(&str, &str)> = [
        (OWN_TYPE, "anybinder's module"),
        ("binder_linux", C),
        ("rust_binder", RUST),
    ]
    .into_iter()
    .filter(|(module, _)| is_installed(module))
    .collect();
    let names: Vec<&str> = installed.iter().map(|(_, name)| *name).collect();
    match installed.first() {
        Some((module, _)) => Check::limited(
            NAME,
            format!("none is loaded; installed: {}", names.join(", ")),
            format!("modprobe {module}"),
        ),
        None => Check::limited(
            NAME,
            "none in the kernel, none installed",
            "use the daemon, or install anybinder-dkms",
        ),
    }
}

/// Which drivers are in the kernel, and whose they are.
pub fn driver() -> Check {
    let modules = Path::new("/sys/module");
    let parameter = |name| read_to_string(modules.join("anybinder/parameters").join(name));
    let names = Names {
        filesystem: parameter("filesystem").unwrap_or_default(),
        family: parameter("family").unwrap_or_default(),
    };
    let file_systems = read_to_string("/proc/filesystems");
    let found = find(
        &|name| modules.join(name).exists(),
        &names,
        &file_systems.unwrap_or_default(),
    );
    check(&found).unwrap_or_else(installed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &str = "nodev\tproc\nnodev\tbinder\nnodev\tanybinder\n";

    /// The answer where these modules are; those with a `+` are not built in.
    fn answer(modules: &[&str], second: &str, file_systems: &str) -> Option<Check> {
        let exists = |name: &str| {
            modules.iter().any(|module| {
                let name_of = module.trim_end_matches('+');
                name == name_of || module.ends_with('+') && name == format!("{name_of}/initstate")
            })
        };
        let names = Names {
            filesystem: second.to_string(),
            ..Names::default()
        };
        check(&find(&exists, &names, file_systems))
    }

    fn text(modules: &[&str], second: &str, file_systems: &str) -> String {
        answer(modules, second, file_systems).unwrap().text
    }

    #[test]
    fn the_module_alone_has_both_types() {
        assert_eq!(
            text(&["anybinder+"], "binder", BOTH),
            "anybinder's module is loaded: mount -t anybinder or binder"
        );
    }

    #[test]
    fn beside_a_driver_with_binderfs_only_one_type_is_the_modules() {
        assert_eq!(
            text(&["anybinder+", "binder_linux+"], "anybinder", BOTH),
            "anybinder's module, beside the kernel's driver in C: mount -t anybinder for the \
             module, -t binder for the other"
        );
        assert_eq!(
            text(&["anybinder+", "rust_binder"], "anybinder", BOTH),
            "anybinder's module, beside the kernel's driver in Rust: mount -t anybinder for the \
             module, -t binder for the other"
        );
        assert_eq!(
            text(&["anybinder+", "binder_linux+"], "binder", BOTH),
            "anybinder's module, beside the kernel's driver in C: mount -t anybinder or binder \
             for the module"
        );
    }

    #[test]
    fn a_netlink_family_of_its_own_costs_something() {
        let advice = |family: &str| {
            let names = Names {
                filesystem: "binder\n".to_string(),
                family: family.to_string(),
            };
            let exists = |name: &str| name == "anybinder";
            check(&find(&exists, &names, BOTH)).unwrap().advice
        };
        assert_eq!(advice("anybinder\n").as_deref(), Some(FAMILY_ADVICE));
        assert_eq!(advice("binder\n"), None);
    }

    #[test]
    fn other_drivers_are_told_apart() {
        let both = "nodev\tbinder\n";
        assert_eq!(
            text(&["binder"], "", both),
            "the kernel's driver in C is built into the kernel, with binderfs"
        );
        let stock = answer(&["binder_linux+"], "", "").unwrap();
        assert_eq!(
            stock.text,
            "the kernel's driver in C is loaded, without binderfs"
        );
        assert_eq!(stock.advice.as_deref(), Some(WITHOUT_BINDERFS_ADVICE));
        let rust = answer(&["rust_binder"], "", both).unwrap();
        assert_eq!(
            rust.text,
            "the kernel's driver in Rust is built into the kernel, with binderfs"
        );
        assert_eq!(rust.advice.as_deref(), Some(RUST_ADVICE));
        assert_eq!(
            text(&[], "", both),
            "a driver is in the kernel, with binderfs"
        );
        assert!(answer(&[], "", "nodev\tproc\n").is_none());
    }
}
