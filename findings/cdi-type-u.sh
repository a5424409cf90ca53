#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: a CDI device of type `u` gets its file in the container, and no permission to open it.
#
# Version: CDI's library tags.cncf.io/container-device-interface 1.1.2, as containerd, CRI-O and
# podman embed it. Needs go.
#
# OCI's runtime specification and mknod(1) have two letters for character devices, `c` and `u`; CDI
# takes both. One would have guessed: they do the same, and both get the entry in the list of
# devices of the control group that lets the container open the file.
# Behaviour: with `u` there is no such entry. The file is made, and no rule lets the container open
# it. The library's validation has nothing to say.
# Output seen:
#   c: file c 10:230, rules [c 10:230 rwm]
#   u: file u 10:230, rules []
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
	"fmt"
	"os"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

func main() {
	for _, letter := range []string{"c", "u"} {
		file := "cdiVersion: 0.6.0\nkind: finding.demo/device\ndevices:\n- name: one\n" +
			"  containerEdits:\n    deviceNodes:\n    - path: /dev/demo\n" +
			"      major: 10\n      minor: 230\n      type: " + letter + "\n"
		if err := os.WriteFile("specs/demo.yaml", []byte(file), 0o644); err != nil {
			panic(err)
		}
		cache, err := cdi.NewCache(cdi.WithSpecDirs("specs"), cdi.WithAutoRefresh(false))
		if err != nil || len(cache.GetErrors()) > 0 {
			panic(fmt.Sprint(err, cache.GetErrors()))
		}
		spec := &oci.Spec{}
		if _, err := cache.InjectDevices(spec, "finding.demo/device=one"); err != nil {
			panic(err)
		}
		rules := []string{}
		if spec.Linux.Resources != nil {
			for _, rule := range spec.Linux.Resources.Devices {
				rules = append(rules, fmt.Sprintf("%s %d:%d %s", rule.Type,
					*rule.Major, *rule.Minor, rule.Access))
			}
		}
		node := spec.Linux.Devices[0]
		fmt.Printf("%s: file %s %d:%d, rules %v\n", letter, node.Type, node.Major,
			node.Minor, rules)
	}
}
GO
mkdir specs
export GOFLAGS=-mod=mod GOMODCACHE="$work/modules" GOCACHE="$work/cache"
go mod tidy 2>messages || { cat messages >&2; exit 1; }
go run -p 1 . >seen
cat seen
grep -qx 'c: file c 10:230, rules \[c 10:230 rwm\]' seen
grep -qx 'u: file u 10:230, rules \[\]' seen
