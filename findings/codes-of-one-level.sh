#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: two builds of one Android level number the methods of the same interfaces differently.
#
# Version: binder-trace 1.4.1, whose tables of Android 13 are made from 13.0.0_r49, and
# org.robolectric:android-all 13-robolectric-9030017, which holds AOSP's own classes of 13. Needs
# javap, mvn, pip.
#
# One would have guessed: a build of Android 13 is one of API level 33, an interface of the platform
# is frozen with the level, and the .aidl files or tables of one build fit all others.
# Behaviour: quarterly releases of one level put methods into the middle of interfaces that are not
# declared stable. Of 1,225 interfaces that both have, 38 have other codes in the second, for 677
# methods; code 4 of IActivityClientController is activityTopResumedStateLost in one build and
# activityPaused in the other. There is no sign of it in a call: descriptor and level are the same.
# A tool that takes names from another build shows wrong names, and one that calls by them calls
# another method.
# Output seen: interfaces in both: 1225, with other codes: 38, methods with another code: 677
# code 4 of android.app.IActivityClientController: activityTopResumedStateLost, activityPaused
set -eu
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
jar=13-robolectric-9030017
quiet()
{
	"$@" >"$work/messages" 2>&1 || { cat "$work/messages" >&2; exit 1; }
}
quiet python3 -m pip download --no-deps -d "$work" binder-trace==1.4.1
quiet python3 -m zipfile -e "$work/binder_trace-1.4.1-py3-none-any.whl" "$work"
quiet mvn -q -B -Dmaven.repo.local="$work" \
	org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get -Dtransitive=false \
	-Dartifact=org.robolectric:android-all:$jar
jar=$work/org/robolectric/android-all/$jar/android-all-$jar.jar
python3 -m zipfile -l "$jar" | sed -n 's/\$Stub\.class .*/$Stub/p' | tr / . >"$work/stubs"
xargs javap -p -constants -cp "$jar" <"$work/stubs" >"$work/classes" 2>/dev/null
cat >"$work/compare.py" <<'EOF'
import json
import pathlib
import re
import sys

classes, tables = {}, {}
for line in open(sys.argv[1]):
    if found := re.search(r" class ([\w.$]+)\$Stub ", line):
        codes = classes.setdefault(found[1], {})
    elif found := re.search(r" TRANSACTION_(\w+) = (\d+);", line):
        codes[int(found[2])] = found[1]
for file in pathlib.Path(sys.argv[2]).rglob("*.struct"):
    table = json.loads(file.read_text())
    tables[table["full_name"]] = {call["code"]: call["name"] for call in table.get("calls", [])}
both = [name for name in tables if tables[name] and classes.get(name)]
other = [name for name in both if not tables[name].items() <= classes[name].items()]
moved = 0
for name in both:
    codes = {method: code for code, method in classes[name].items()}
    moved += sum(codes.get(method, code) != code for code, method in tables[name].items())
print(f"interfaces in both: {len(both)}, with other codes: {len(other)},"
      f" methods with another code: {moved}")
name = "android.app.IActivityClientController"
print(f"code 4 of {name}: {tables[name][4]}, {classes[name][4]}")
EOF
seen=$(python3 "$work/compare.py" "$work/classes" "$work/binder_trace/structs/android13.0.0-r_49")
echo "$seen"
expected=$(sed -n '/^# Output seen: /,/^set/{s/^# //;s/Output seen: //;/^set/!p}' "$0")
[ "$seen" = "$expected" ]
