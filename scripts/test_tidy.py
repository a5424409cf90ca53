# SPDX-License-Identifier: GPL-2.0
"""The rules of the tree hold, and each finds breaches that are planted in memory."""
import functools

import pytest
import tidy
from tidy_lockless import HEADING, LITMUS, LOCKING
from tidy_tree import (ARCHITECTURE, INDEX_HEADING, INDEX_MIN, KNOT_MAX, NO_TSA_MAX,
                       OPERATIONS_MAX, PORTING)

C_HEAD = "// SPDX-License-Identifier: GPL-2.0\n"
# rule: (path, text, line of the breach)
PLANTED_IN_FILES = {
    "rule_spdx": [("a.c", "int x;\n", 1), ("a.py", "#!/usr/bin/python3\nimport os\n", 2),
                  ("tools/a.rs", C_HEAD, 1)],
    "rule_file_length": [("a.c", C_HEAD + "int x;\n" * 600, 601)],
    "rule_function_length": [
        ("a.c", C_HEAD + "int f(void)\n{\n" + "\tg();\n" * 70 + "}\n", 3),
        ("a.rs", C_HEAD + "pub fn f(\n    x: u8,\n) {\n" + "    g();\n" * 70 + "}\n", 2),
        ("a.py", "# SPDX\ndef f():\n" + "    g()\n" * 71, 2),
        ("a.sh", "# SPDX\nf() {\n" + "\tg\n" * 70 + "}\n", 2)],
    "rule_includes": [
        ("core/node.c", C_HEAD + "#include <stdlib.h>\n", 2),
        ("core/node.c", C_HEAD + '#include "host/fuse/x.h"\n', 2),
        ("core/base/list.h", C_HEAD + '#include "host.h"\n', 2),
        ("core/base/list.h", C_HEAD + '#include "../node.h"\n', 2),
        ("host/fuse/x.c", C_HEAD + '#include "tests/x.h"\n', 2)],
    "rule_kernel_version": [("host/linux/x.c", C_HEAD + "#if LINUX_VERSION_CODE > 1\n", 2)],
    "rule_trailing_space": [("a.c", C_HEAD + "int x; \n", 2), ("a.md", "text", 1)],
    "rule_columns": [("a.c", C_HEAD + "\t" + "x" * 93 + "\n", 2)],
    "rule_prose_columns": [("a.md", "# A\n\n" + "word " * 21 + "\n", 3)],
    "rule_clock": [("host/fuse/a.c", C_HEAD + "\tclock_gettime(CLOCK_REALTIME, &now);\n", 2),
                   ("tools/a.rs", C_HEAD + "use std::time::SystemTime;\n", 2)],
    "rule_static_names": [
        ("core/pure/a.c", C_HEAD + "static int add(int x,\n\t       int y)\n{\n}\n", 2),
        ("host/test/a.h", C_HEAD + "static inline void\nwait(void)\n{\n}\n", 3),
        ("heap/a.c", C_HEAD + "static void __attribute__((format(a, 1, 2))) fail(int x)\n{\n", 2)],
}

LOAD = "#define load(x) \\\n\tREAD_ONCE(x)\n"
LISTED = HEADING + "| place | functions | litmus |\n|---|---|---|\n| a | `b` | `c` |\n"
LOCKLESS_PLANTED = [
    ({LOCKING: HEADING, "core/entities/a.c": "static int b(int x,\n\t     int y)\n{\n"
      "\treturn READ_ONCE(x);\n}\n"}, "core/entities/a.c", 1),
    ({LOCKING: HEADING, "host/fuse/a.c": LOAD + "int b(int x)\n{\n\treturn load(x);\n}\n"},
     "host/fuse/a.c", 3),
    ({LOCKING: LISTED, LITMUS + "c.litmus": ""}, LOCKING, 4),
    ({LOCKING: LISTED}, LOCKING, 4),
    ({LOCKING: HEADING, LITMUS + "c.litmus": ""}, LITMUS + "c.litmus", 1),
]
LOCKLESS_INNOCENT = {LOCKING: LISTED, LITMUS + "c.litmus": "",
            "host/linux/a.c": LOAD + "/* READ_ONCE(x) */\nint b(int x)\n{\n\treturn load(x);\n}\n"
                              "int d(void)\n{\n\treturn 0; /* READ_ONCE(x) */\n}\n"}


PAGES_PLANTED = [({"docs/a.md": text, "docs/b.md": "# A b\n"}, "docs/a.md", 1) for text in (
    "[c](c.md)\n", "[b](b.md#b)\n", "[a](#a)\n", "In `docs/c.md`\n", "In `docs/c/`\n")]
PAGES_INNOCENT = {"docs/a.md": "# A (a), b\n[b](b.md#a-b) [a](#a-a-b) `docs/b.md` `docs/` "
                               "`docs/NAME.md` `other/c` [web](https://a.b/c)\n",
                  "docs/b.md": "# A b\n"}


def ring(count):
    """Rooms of one folder that include each other in a ring."""
    return {f"core/entities/r{i}.h": f'#include "entities/r{(i + 1) % count}.h"\n'
            for i in range(count)}


INDEX_TITLE = INDEX_HEADING + " ...\n"
GOOD_ENTRY = "| a | `core/pure/a.c` | `binder_a()` |\n"
RUST_ENTRY = "| a | `tools/a.rs` | `rust_a()` |\n"
FOLDER_ENTRY = "| a | `tests/a/` | |\n"
DEFINITION = "int binder_a(int x,\n\t     int y) NO_TSA\n{\n}\nstatic int table[] = { 1 };\n"
MANAGER = "tools/servicemanager/src/"
# rule: ({path: text}, path and line of the breach)
RUST_PLANTED = {
    "rule_rust_circles": [
        ({"tools/a/src/b.rs": "use crate::c::d;\n", "tools/a/src/c.rs": "use super::{b::E, f};\n"},
         "tools/a/src/b.rs", 1),
        ({"tools/a/src/b/c.rs": "fn f() {\n    super::d::g();\n}\n",
          "tools/a/src/b/d.rs": "use crate::{\n    b::{c::f, e},\n};\n"},
         "tools/a/src/b/c.rs", 1)],
    "rule_rust_layers": [
        ({MANAGER + "wire/a.rs": "//! A.\nuse crate::registry::b;\n", MANAGER + "registry.rs": ""},
         MANAGER + "wire/a.rs", 2),
        ({MANAGER + "policy.rs": "use crate::registry::b;\n", MANAGER + "registry.rs": ""},
         MANAGER + "policy.rs", 1),
        ({MANAGER + "wire.rs": "", MANAGER + "wire/a.rs": "use super::Wire;\n"},
         MANAGER + "wire/a.rs", 1),
        ({MANAGER + "attic.rs": ""}, MANAGER + "attic.rs", 1)],
}
RUST_INNOCENT = {
    "rule_rust_circles": {
        "tools/a/src/b.rs": "pub use c::f;\nuse self::c::g;\n#[cfg(test)]\nmod tests {\n"
        "    use crate::d::e;\n}\n", "tools/a/src/b/c.rs": "use super::B; // crate::d\n",
        "tools/a/src/d.rs": "use crate::b::B;\n", "tools/a/src/b_test.rs": "use crate::d;\n"},
    "rule_rust_layers": {
        MANAGER + "lib.rs": "pub use serve::a;\n", MANAGER + "wire.rs": "", MANAGER + "serve.rs":
        "use crate::wire::b;\n", MANAGER + "serve/a.rs": "use super::c::d;\nuse crate::wire::b;\n",
        MANAGER + "serve/c.rs": ""},
}

# rule: ({path: text}, path and line of the breach)
PLANTED_IN_TREES = {
    "rule_lockless": LOCKLESS_PLANTED,
    "rule_pages": PAGES_PLANTED,
    **RUST_PLANTED,
    "rule_layers": [
        ({"core/entities/a.c": '#include "calls/b.h"\n'}, "core/entities/a.c", 1),
        ({"core/calls/a.c": '#include "core.h"\n'}, "core/calls/a.c", 1),
        ({"core/attic/a.c": "\n"}, "core/attic/a.c", 1)],
    "rule_fuse_layers": [
        ({"host/fuse/base/a.c": '#include "calls/b.h"\n', "host/fuse/calls/b.h": "\n"},
         "host/fuse/base/a.c", 1),
        ({"host/fuse/base/a.c": '#include "c.h"\n', "host/fuse/c.h": "\n"},
         "host/fuse/base/a.c", 1),
        ({"host/fuse/attic/a.c": "\n"}, "host/fuse/attic/a.c", 1)],
    "rule_fuse_door": [
        ({"host/fuse/calls/a.c": '#include "fds/b.h"\n'}, "host/fuse/calls/a.c", 1),
        ({"host/fuse/a.c": '#include "fds/fds.h"\n#include "fds/inject/b.h"\n'},
         "host/fuse/a.c", 2),
        ({"host/fuse/fds/inject/a.c": '#include "fds/b.h"\n', "host/fuse/fds/b.h": "\n"},
         "host/fuse/fds/inject/a.c", 1)],
    "rule_fuse_state": [
        ({"host/fuse/names/a.c": text}, "host/fuse/names/a.c", line) for text, line in (
            ("int a;\n", 1), ("static _Atomic u64 a;\n", 1), ("static bool a = true;\n", 1),
            ("static const char *a;\n", 1), ("static struct b *a[2];\n", 1),
            ("static _Atomic(struct b *) a;\n", 1), ("static void (*a)(int b);\n", 1),
            ("static struct {\n\tint b;\n} a[2];\n", 3),
            ("void f(void)\n{\n\tstatic int a;\n}\n", 3),
            ("\tstatic _Alignas(8) char a[1 +\n", 1), ("\tstatic void (*a)(int b);\n", 1))],
    "rule_knot": [
        (ring(KNOT_MAX + 1), "core/entities/r0.c", 1),
        ({"host/fuse/a.c": '#include "b.h"\n', "host/fuse/b.h": '#include "a.h"\n',
          "host/fuse/a.h": "\n"}, "host/fuse/a.c", 1)],
    "rule_hosts": [
        ({"host/fuse/a.c": '#include "entities/proc.h"\n'}, "host/fuse/a.c", 1),
        ({"host/linux/a.c": "\n\tbinder_lock(&proc->inner_lock);\n"}, "host/linux/a.c", 2),
        ({"host/linux/a.c": "\tbinder_mutex_unlock(&world.lock);\n"}, "host/linux/a.c", 1)],
    "rule_locked_names": [
        ({"core/entities/a.c": "int f_ilocked(int x)\n{\n\treturn x;\n}\n"},
         "core/entities/a.c", 1)],
    "rule_no_tsa": [
        ({"core/entities/a.c": "int f(void) NO_TSA\n{\n}\n" * (NO_TSA_MAX + 1)},
         "core/entities/a.c", 3 * NO_TSA_MAX + 1)],
    "rule_tests": [
        ({"core/pure/a.c": "\n"}, "core/pure/a.c", 1),
        ({"core/pure/a.c": "/* Tested in: core/pure/b_test.c */\n"}, "core/pure/a.c", 1)],
    "rule_contract": [
        ({"host/host.h": "".join(f"static inline int host_f{i}(void);\n"
                                 for i in range(OPERATIONS_MAX + 1))}, "host/host.h", 1),
        ({"host/host.h": "static inline int host_f(void);\n", PORTING: "2 operations\n"},
         PORTING, 1),
        ({"host/host.h": "static inline int host_f(void);\n#if !defined(host_g)\n",
          PORTING: "1 operations\n"}, PORTING, 1)],
    "rule_index": [
        ({ARCHITECTURE: INDEX_TITLE}, ARCHITECTURE, 1),
        ({ARCHITECTURE: INDEX_TITLE + GOOD_ENTRY}, ARCHITECTURE, 2),
        ({ARCHITECTURE: INDEX_TITLE + GOOD_ENTRY,
          "core/pure/a.c": "int binder_a(int x);\n\tif (binder_a(1)) {\n"}, ARCHITECTURE, 2),
        ({ARCHITECTURE: INDEX_TITLE + RUST_ENTRY, "tools/a.rs": "rust_a();\n"}, ARCHITECTURE, 2),
        ({ARCHITECTURE: INDEX_TITLE + FOLDER_ENTRY, "tests": "\n"}, ARCHITECTURE, 2)],
    "rule_layer_table": [
        ({ARCHITECTURE: "| `pure/` | `b` | x |\n", "core/pure/a.c": "\n"}, ARCHITECTURE, 1),
        ({ARCHITECTURE: "| `pure/` | `a` `b` | x |\n", "core/pure/a.c": "\n"}, ARCHITECTURE, 1),
        ({ARCHITECTURE: "| `host/fuse/calls/` | `a` | x |\n"}, ARCHITECTURE, 1)],
    "rule_excerpts": [
        ({"docs/a.md": "From `a.c`:\n\n```c\n\tf();\n```\n", "a.c": "\tg();\n"}, "docs/a.md", 3)],
}
# What must not be taken for a breach.
INNOCENT = [
    ("rule_layers", {"core/entities/a.c": '#include "entities/b.h"\n#include "base/list.h"\n',
                     "core/entry/a.c": '#include "core.h"\n',
                     "core/pure/a_test.c": '#include "core.h"\n'}),
    ("rule_fuse_layers", {"host/fuse/calls/a.c": '#include "base/b.h"\n#include "host_types.h"\n',
                          "host/fuse/base/b.h": "\n", "host/fuse/host_types.h": "\n"}),
    ("rule_fuse_door", {
        "host/fuse/a.c": '#include "fds/fds.h"\n', "host/fuse/fds/a.c": '#include "fds/b.h"\n',
        "host/fuse/fds/b.h": "\n", "host/fuse/base/b.h": "\n",
        "host/fuse/fds/helper/a.c": '#include "base/b.h"\n#include "fds/inject/inject.h"\n',
        "host/fuse/fds/inject/inject.h": "\n"}),
    ("rule_fuse_state", {
        "host/fuse/base/daemon_log.c": "static bool a;\n",
        "host/fuse/names/a_test.c": "static int a;\n",
        "host/fuse/names/a.c": "static const int a[] = {\n\t1,\n};\nstatic int f(int (*a)(int));\n"
        "static const char *const b[2] = {\n};\n_Thread_local struct c *d;\nstruct c;\n"
        "struct c {\n\tint e;\n};\ntypedef _Atomic u64 f[8];\nextern int g;\n"
        "static const struct {\n\tint h;\n} i[] = {\n};\nstatic void f(int j,\n\t       int k)\n"
        "{\n\tstatic const struct l m = { 0 };\n\tint n = 0;\n}\nenum o { P, Q };\n"
        "struct r *s(void)\n{\n}\n"}),
    ("rule_knot", ring(KNOT_MAX)),
    ("rule_hosts", {"host/fuse/a.c": '#include "core.h"\n', "tests/a.c": "binder_lock(l);\n",
                    "host/test/a.c": '#include "entities/proc.h"\n'}),
    ("rule_locked_names", {"core/entities/a.c": "int f_ilocked(int x) REQUIRES(&a)\n{\n"
                           "\tbinder_assert_held(&a);\n}\nint g_ilocked(int x);\n"}),
    ("rule_no_tsa", {"core/common/lock.h": "#define NO_TSA\n" + "int f(void) NO_TSA;\n" * 12}),
    ("rule_tests", {"core/pure/a.c": "\n", "core/pure/a_test.c": "\n",
                    "core/pure/b.c": "/* Tested in: core/pure/a_test.c */\n"}),
    ("rule_contract", {"host/host.h": "static inline int host_f(void);\n",
                       PORTING: "1 operations\n"}),
    ("rule_layer_table", {ARCHITECTURE: "| `pure/` | `a` | x |\n", "core/pure/a.c": "\n",
                          "core/pure/a.h": "\n", "core/pure/a_test.c": "\n"}),
    ("rule_lockless", LOCKLESS_INNOCENT),
    ("rule_pages", PAGES_INNOCENT),
    *RUST_INNOCENT.items(),
    ("rule_excerpts", {"docs/a.md": "From `a.c`:\n\n```c\n\tf();\n```\n", "a.c": "x;\n\tf();\n"}),
    ("rule_index", {ARCHITECTURE: INDEX_TITLE + GOOD_ENTRY * (INDEX_MIN - 1) +
                    "| b | `core/pure/a.c` | `table[]` |\n" + RUST_ENTRY + FOLDER_ENTRY,
                    "core/pure/a.c": DEFINITION, "tools/a.rs": "    pub(crate) fn rust_a() {\n",
                    "tests/a/b": "\n"}),
]

pytestmark = pytest.mark.check
NAMES = [rule.__name__ for rule in tidy.RULES + tidy.TREE_RULES]
tree = functools.lru_cache(maxsize=None)(tidy.whole_tree)


def rule_named(name):
    """The rule, as one that takes a tree."""
    rule, = [rule for rule in tidy.RULES + tidy.TREE_RULES if rule.__name__ == name]
    return lambda sources: tidy.breaches(rule, sources)


def tree_of(texts):
    """A tree of made-up files."""
    return {path: tidy.Source(path, text) for path, text in texts.items()}


@pytest.mark.parametrize("name", NAMES)
def test_rule_holds(name):
    found = list(rule_named(name)(tree()))
    assert not found, "\n".join(f"{path}:{line}: {words}" for path, line, words in found)


@pytest.mark.parametrize("name", NAMES)
def test_rule_finds_what_is_planted(name):
    planted = PLANTED_IN_TREES.get(name) or [({path: text}, path, line) for path, text, line
                                             in PLANTED_IN_FILES[name]]
    for texts, path, line in planted:
        assert (path, line) in [found[:2] for found in rule_named(name)(tree_of(texts))]


@pytest.mark.parametrize("name, texts", INNOCENT)
def test_rule_finds_no_fault_with_what_is_right(name, texts):
    assert not list(rule_named(name)(tree_of(texts)))
