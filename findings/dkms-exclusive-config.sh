#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: DKMS leaves BUILD_EXCLUSIVE_CONFIG out where the headers have no .config, and builds.
#
# Version: dkms 3.0.10-8+deb12u1 of Debian 12.
#
# A module says with BUILD_EXCLUSIVE_CONFIG which options a kernel must have. Headers that kbuild
# can use need no .config: what it reads is include/config/auto.conf, which has the same lines.
# One would have guessed: without .config the options are read from there, or the kernel counts as
# one that does not fit (exit status 77, by which hooks skip it), or the build is refused.
# Behaviour: the condition is left out. The module is built and counted as built, for a kernel whose
# auto.conf says that the option is off. The only trace is cp, which does not find the .config that
# it would have put beside the log.
# Output seen:
#   .config: exit status 77
#   auto.conf alone: exit status 0, finding/1, 1.0-demo, x86_64: built
set -eu
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
chmod 755 .
apt-get -qq download dkms=3.0.10-8+deb12u1 2>apt-messages || { cat apt-messages >&2; exit 1; }
dpkg -x dkms_*.deb .
mkdir -p tree source/finding-1 headers/include/config
cat >source/finding-1/dkms.conf <<'CONF'
PACKAGE_NAME=finding
PACKAGE_VERSION=1
BUILT_MODULE_NAME[0]=finding
DEST_MODULE_LOCATION[0]=/extra
BUILD_EXCLUSIVE_CONFIG="CONFIG_DEMO"
MAKE[0]="touch finding.ko"
CLEAN=true
CONF
touch source/finding-1/finding.c
options='# CONFIG_DEMO is not set'
echo "$options" >headers/include/config/auto.conf

dkms()
{
	bash usr/sbin/dkms --dkmstree "$work/tree" --sourcetree "$work/source" "$@" 2>&1
}

build()
{
	dkms build -m finding -v 1 -k 1.0-demo --arch x86_64 --kernelsourcedir "$work/headers"
}

dkms add -m finding -v 1 >messages
echo "$options" >headers/.config
status=0
build >with || status=$?
echo ".config: exit status $status"
[ $status = 77 ]
grep -q 'BUILD_EXCLUSIVE directive which does not match' with
rm headers/.config
build >without || { cat without; exit 1; }
built=$(dkms status -m finding -v 1)
echo "auto.conf alone: exit status 0, $built"
[ "$built" = 'finding/1, 1.0-demo, x86_64: built' ]
[ -e tree/finding/1/1.0-demo/x86_64/module/finding.ko ]
! grep -q -i 'exclusive' without
