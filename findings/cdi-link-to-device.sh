#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: a CDI device whose path is a symbolic link is listed as sound, and refused to
# containers.
#
# Version: CDI's library tags.cncf.io/container-device-interface 1.1.2, as containerd, CRI-O and
# podman embed it. Needs go.
#
# Hosts with binderfs have /dev/binder as a link to /dev/binderfs/binder, and `docker run --device`
# follows such links. One would have guessed: CDI's deviceNodes do, too; if not, the file is
# refused when it is loaded; and a stated type with major and minor number leaves nothing to look
# up.
# Behaviour: the library looks at the link itself. The device is listed and the cache has no error;
# only the injection fails, when a container is made. With type and major in the file the link is
# accepted, whatever it points at: the numbers are not compared with the device's.
# Output seen:
#   link: listed 1, errors 0, injected: not a device node
#   with numbers: listed 1, errors 0, injected: c 99:5
set -eu
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -r "$work"' EXIT
cd "$work"
cat >go.mod <<'GO'
module finding
go 1.23
require tags.cncf.io/container-device-interface v1.1.2
require github.com/opencontainers/runtime-spec v1.3.0
GO
cat >main.go <<'GO'
package main

import (
	"errors"
	"fmt"
	"os"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

func try(what, more string) {
	file := "cdiVersion: 0.6.0\nkind: finding.demo/device\ndevices:\n- name: one\n" +
		"  containerEdits:\n    deviceNodes:\n    - path: /dev/demo\n      hostPath: " +
		os.Args[1] + "\n" + more
	if err := os.WriteFile("specs/demo.yaml", []byte(file), 0o644); err != nil {
		panic(err)
	}
	cache, err := cdi.NewCache(cdi.WithSpecDirs("specs"), cdi.WithAutoRefresh(false))
	if err != nil {
		panic(err)
	}
	spec := &oci.Spec{}
	_, err = cache.InjectDevices(spec, "finding.demo/device=one")
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	fmt.Printf("%s: listed %d, errors %d, injected: ", what, len(cache.ListDevices()),
		len(cache.GetErrors()))
	if err != nil {
		fmt.Println(err)
		return
	}
	node := spec.Linux.Devices[0]
	fmt.Printf("%s %d:%d\n", node.Type, node.Major, node.Minor)
}

func main() {
	try("link", "")
	try("with numbers", "      type: c\n      major: 99\n      minor: 5\n")
}
GO
mkdir specs
ln -s /dev/null link
export GOFLAGS=-mod=mod GOMODCACHE="$work/modules" GOCACHE="$work/cache"
go mod tidy 2>messages || { cat messages >&2; exit 1; }
go run -p 1 . "$PWD/link" >seen
cat seen
grep -qx "link: listed 1, errors 0, injected: not a device node" seen
grep -qx 'with numbers: listed 1, errors 0, injected: c 99:5' seen
