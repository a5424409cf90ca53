#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: from Android 16 on, a word follows a Bundle, and nothing in front of it says so.
#
# Version: org.robolectric:android-all 15-robolectric-12650502 and 16-robolectric-13921718, which
# hold AOSP's own classes. Needs javap and mvn.
#
# A Bundle in a parcel has a length, the mark BNDL, and its values.
# One would have guessed: the length says where the Bundle ends, so that a reader who does not know
# its values goes on behind them, as it could for ten years, or that a changed format has another
# mark.
# Behaviour: BaseBundle.writeToParcelInner() of 16 has the same mark, and writes a boolean more than
# that of 15 (whether the Bundle holds an Intent), behind the values and not counted by the length;
# an empty Bundle, whose length is 0, has none. A reader of 15 takes the word for the next argument,
# and one of 16 takes the first word of the next argument of an older writer. What both make of
# the other's parcel is right only where the Bundle is the last argument.
# Output seen: booleans that are written: 15: 0, 16: 2
set -eu
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
booleans()
{
	mvn -q -B -Dmaven.repo.local="$work" \
		org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get -Dtransitive=false \
		-Dartifact=org.robolectric:android-all:"$1" >"$work/messages" 2>&1 ||
		{ cat "$work/messages" >&2; exit 1; }
	javap -p -c -cp "$work/org/robolectric/android-all/$1/android-all-$1.jar" \
		android.os.BaseBundle 2>"$work/messages" |
		sed -n '/ writeToParcelInner(/,/Exception table/p' |
		grep -c 'android/os/Parcel.writeBoolean' || true
}
seen="booleans that are written: 15: $(booleans 15-robolectric-12650502),\
 16: $(booleans 16-robolectric-13921718)"
echo "$seen"
[ "$seen" = "booleans that are written: 15: 0, 16: 2" ]
