# SPDX-License-Identifier: GPL-2.0
"""Finds members of the engine's structures that are lost when its state is handed over.

Each member of a structure that the state consists of is in a table of fields
(core/state/tables.c), is named by a function that passes a part (pass.c, space.c beside it), or
stands in tests/engine/state/unwritten, with the reason: STRUCT.MEMBER reason. What stands there
must be there, and must not be written.
"""
import glob
import os
import re

from building import TOP

TABLES = "core/state/tables.c"
FUNCTIONS = ("core/state/pass.c", "core/state/space.c")
UNWRITTEN = "tests/engine/state/unwritten"
# What the state consists of; what these embed is found from here.
ROOTS = ["binder_world", "binder_context", "binder_proc", "binder_thread", "binder_node",
         "binder_ref", "binder_notice", "binder_buffer", "binder_transaction", "binder_log_entry",
         "binder_resource", "binder_file_slot", "binder_page"]
# Trees follow from the objects in them, and locks are free.
FREE = re.compile(r"bt_node|bt_root|binder_lock|binder_pi_mutex")
OPAQUE = re.compile(r"bl_list|host_\w+")
STRUCT = re.compile(r"^struct (?:LOCKABLE )?(\w+) \{\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"\b(NUMBER|NUMBER_MAX|BOOL|LINK|LIST|WORKS|OWN)\((\w+), ([\w.]+)[,)]")
ENTRY = re.compile(r"(\w+)\.(\w+)\s+(\S.*)")


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def members_of(body):
    """[(member, structure that it is, or None)]"""
    body = re.sub(r"/\*.*?\*/|^#.*?$", "", body, flags=re.S | re.M)
    body = re.sub(r"GUARDED_BY\([^)]*\)|HOST_LINE_ALIGNED", "", body)
    found = []
    for line in body.split(";"):
        match = re.match(r"\s*((?:const )?(?:struct |enum )?\w+)\b(.*)", line, re.S)
        if not match:
            continue
        embedded = match[1].startswith("struct ") and match[1].split()[-1]
        for declared in match[2].split(","):
            name = re.search(r"(\w+)\s*(?:\[[^]]*\])?\s*$", declared)
            pointer = "*" in declared
            found.append((name[1], embedded if embedded and not pointer else None))
    return found


def structures():
    """{structure: the text of its members}"""
    found = {}
    for path in glob.glob(os.path.join(TOP, "core/*/*.h")):
        found.update(STRUCT.findall(read(path)))
    return found


class Check:
    """What is written, what need not be, and what is missing."""

    def __init__(self):
        self.structures = structures()
        self.fields = [(kind, f"{struct}.{path}") for kind, struct, path in
                       FIELD.findall(read(TABLES))]
        self.written = {path for _, path in self.fields}
        self.owned = {path for kind, path in self.fields if kind == "OWN"}
        self.functions = "".join(read(path) for path in FUNCTIONS)
        self.reasons = dict(self.read_reasons())
        self.used, self.complaints, self.checked = {}, [], 0

    @staticmethod
    def read_reasons():
        for line in read(UNWRITTEN).splitlines():
            if line.strip() and line[0] != "#":
                struct, member, reason = ENTRY.fullmatch(line).groups()
                yield (struct, member), reason

    def named(self, member):
        """Whether a function that writes a part uses it."""
        return re.search(rf"(->|\.|struct \w+, ){member}\b", self.functions)

    def member(self, struct, member, embedded, path, owned):
        """One member of @struct, which is at @path of a record; @owned: written by a function."""
        self.checked += 1
        here = f"{path}.{member}"
        written = here in self.written or any(p.startswith(here + ".") for p in self.written)
        if embedded and FREE.fullmatch(embedded):
            return
        if (struct, member) in self.reasons:
            # A structure may be written as a part of one record and not of another.
            self.used.setdefault((struct, member), []).append(written)
        elif embedded and not OPAQUE.fullmatch(embedded) and embedded in self.structures:
            self.structure(embedded, here, owned or here in self.owned)
        elif not written and not (owned and self.named(member)):
            self.complaints.append(f"{struct}.{member} is written by no table or function, and "
                                   f"{UNWRITTEN} has no reason")

    def structure(self, name, path, owned):
        for member, embedded in members_of(self.structures[name]):
            self.member(name, member, embedded, path, owned)

    def all(self):
        for name in ROOTS:
            record = "state_log.entry" if name == "binder_log_entry" else name
            in_tables = any(path.startswith(record + ".") for path in self.written)
            self.structure(name, record, not in_tables)
        for entry in self.reasons:
            if all(self.used.get(entry, [True])):
                self.complaints.append(f"{UNWRITTEN}: {'.'.join(entry)} is written, or not there")
        return self.complaints


def test_no_member_is_forgotten():
    complaints = Check().all()
    assert not complaints, "\n".join(complaints)


def test_a_member_that_is_in_no_table_is_found():
    check = Check()
    check.structures["binder_ref"] += "\tu32 planted;\n"
    assert [words for words in check.all() if "binder_ref.planted" in words]
