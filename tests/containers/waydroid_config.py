#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""waydroid_config.py PACKAGE DIR: Waydroid finds the devices and writes its configuration of LXC.

PACKAGE is Debian's package, unpacked. Its own functions run, unmodified; only its modules for D-Bus
and for Android's services, which they do not use, are replaced by empty ones. DIR gets
DIR/waydroid/config, config_nodes and an empty config_session.
"""
import argparse
import os
import sys
from unittest import mock


def main(package, directory):
    sys.path.insert(0, os.path.join(package, "usr/lib/waydroid"))
    for name in ("dbus", "dbus.mainloop", "dbus.mainloop.glib", "dbus.service", "dbus.exceptions",
                 "gbinder", "gi", "gi.repository"):
        sys.modules.setdefault(name, mock.MagicMock())
    import tools.config
    import tools.helpers.drivers
    import tools.helpers.lxc
    import tools.helpers.run

    def user(args, command, **options):
        """As tools.helpers.run.user() does, without its log file."""
        import subprocess
        done = subprocess.run(command, capture_output=options.get("output_return"), text=True,
                              check=options.get("check", True))
        return done.stdout if options.get("output_return") else done.returncode

    tools.helpers.run.user = user
    tools.config.defaults["lxc"] = directory
    tools.config.tools_src = os.path.join(package, "usr/lib/waydroid")
    args = argparse.Namespace(vendor_type="MAINLINE", work=directory, cache={},
                              config=os.path.join(directory, "waydroid.cfg"))
    tools.helpers.drivers.setupBinderNodes(args)
    print(args.BINDER_DRIVER, args.VNDBINDER_DRIVER, args.HWBINDER_DRIVER)
    tools.helpers.lxc.set_lxc_config(args)


if __name__ == "__main__":
    main(*sys.argv[1:])
