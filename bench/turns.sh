#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# turns.sh DIR: runs in a machine of `anybinder bench`. DIR/0, DIR/1, ... appear one after another,
# each with a command that prints a line, or `exit`. Looking for the next file starts no process: in
# an emulated machine that would take a processor from the machine whose turn it is.
set -e
mkfifo /tmp/never
exec 3<>/tmp/never
for ((number = 0; ; number++)); do
	until [ -e "$1/$number" ]; do
		read -rt 0.2 -u 3 || :
	done
	# shellcheck source=/dev/null
	. "$1/$number"
done
