// SPDX-License-Identifier: Apache-2.0
//! Whether libgbinder's configuration speaks of both paths of a device.
use super::finding::Check;
use crate::command::instance::gbinder_config::{texts, Settings, FILE};

/// The check of the configuration in these texts.
fn check_of(text: &str, devices: &[String]) -> Check {
    let name = "gbinder";
    let settings = Settings::read(text);
    let missing = devices.iter().flat_map(|one| settings.missing(one));
    let missing: Vec<String> = missing.collect();
    if missing.is_empty() {
        return Check::ok(
            name,
            "libgbinder's configuration has both paths of the devices",
        );
    }
    Check::limited(
        name,
        format!(
            "libgbinder speaks the protocols of Android 9 at {}",
            missing.join(", ")
        ),
        format!("name each in [Protocol] and [ServiceManager] of {FILE}: examples/gbinder.conf"),
    )
}

/// Nothing where libgbinder has no configuration.
pub fn gbinder(devices: &[String]) -> Option<Check> {
    let texts = texts();
    (!texts.is_empty()).then(|| check_of(&texts.join("\n"), devices))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_paths_are_wanted_in_both_groups() {
        let example = include_str!("../../../../../../examples/gbinder.conf");
        let by_default = "[Protocol]\nDefault = aidl3\n[ServiceManager]\nDefault = aidl6\n";
        let half = "[Protocol]\n/dev/binder=aidl3\n/dev/binderfs/binder=aidl3\n#[ServiceManager]\n";
        for (text, device, wanted) in [
            (example, "binder", [].as_slice()),
            (example, "hwbinder", &[]),
            (
                "[General]\nApiLevel = 34\n",
                "binder",
                &["/dev/binderfs/binder"],
            ),
            (
                "[General]\nApiLevel=34",
                "vndbinder",
                &["/dev/binderfs/vndbinder"],
            ),
            ("[General]\nApiLevel=34", "hwbinder", &[]),
            (by_default, "binder", &["/dev/binder"]),
            (by_default, "hwbinder", &[]),
            (half, "binder", &["/dev/binder", "/dev/binderfs/binder"]),
            ("", "binder", &["/dev/binder", "/dev/binderfs/binder"]),
        ] {
            assert_eq!(
                Settings::read(text).missing(device),
                wanted,
                "{text} {device}"
            );
        }
    }
}
