# SPDX-License-Identifier: GPL-2.0
"""The rules of the tree hold, and each finds a breach that is planted in memory. That it finds no
fault with what is right, the tree itself shows."""
import functools

import pytest
import tidy
from tidy_pages import HEADING, LOCKING
from tidy_tree import ARCHITECTURE, INDEX_HEADING, INDEX_MIN, KNOT_MAX, NO_TSA_MAX, OPERATIONS_MAX

C_HEAD = "// SPDX-License-Identifier: GPL-2.0\n"
INDEX = INDEX_HEADING + " ...\n" + "| a | `core/pure/a.c` | `binder_a()` |\n" * INDEX_MIN
MANAGER = "tools/servicemanager/src/"
# rule: ({path: text}, path and line of the breach); several where a rule reads several languages
PLANTED = {
    "rule_spdx": [({"a.c": "int x;\n"}, "a.c", 1)],
    "rule_file_length": [({"a.c": C_HEAD + "int x;\n" * 600}, "a.c", 601)],
    "rule_function_length": [
        ({"a.c": C_HEAD + "int f(void)\n{\n" + "\tg();\n" * 70 + "}\n"}, "a.c", 3),
        ({"a.rs": C_HEAD + "pub fn f(\n    x: u8,\n) {\n" + "    g();\n" * 70 + "}\n"}, "a.rs", 2),
        ({"a.py": "# SPDX\ndef f():\n" + "    g()\n" * 71}, "a.py", 2),
        ({"a.sh": "# SPDX\nf() {\n" + "\tg\n" * 70 + "}\n"}, "a.sh", 2)],
    "rule_includes": [({"core/node.c": C_HEAD + "#include <stdlib.h>\n"}, "core/node.c", 2)],
    "rule_kernel_version": [
        ({"host/linux/x.c": C_HEAD + "#if LINUX_VERSION_CODE > 1\n"}, "host/linux/x.c", 2)],
    "rule_trailing_space": [({"a.c": C_HEAD + "int x; \n"}, "a.c", 2)],
    "rule_columns": [({"a.c": C_HEAD + "\t" + "x" * 93 + "\n"}, "a.c", 2)],
    "rule_prose_columns": [({"a.md": "# A\n\n" + "word " * 21 + "\n"}, "a.md", 3)],
    "rule_clock": [
        ({"host/fuse/a.c": "\tclock_gettime(CLOCK_REALTIME, &now);\n"}, "host/fuse/a.c", 1)],
    "rule_static_names": [
        ({"core/pure/a.c": "static int add(int x,\n\t       int y)\n{\n}\n"}, "core/pure/a.c", 1)],
    "rule_layers": [({"core/entities/a.c": '#include "calls/b.h"\n'}, "core/entities/a.c", 1)],
    "rule_fuse_layers": [
        ({"host/fuse/base/a.c": '#include "calls/b.h"\n', "host/fuse/calls/b.h": "\n"},
         "host/fuse/base/a.c", 1)],
    "rule_fuse_door": [
        ({"host/fuse/calls/a.c": '#include "fds/b.h"\n'}, "host/fuse/calls/a.c", 1)],
    "rule_fuse_state": [
        ({"host/fuse/names/a.c": "void f(void)\n{\n\tstatic int a;\n}\n"},
         "host/fuse/names/a.c", 3)],
    "rule_knot": [
        ({f"core/entities/r{i}.h": f'#include "entities/r{(i + 1) % (KNOT_MAX + 1)}.h"\n'
          for i in range(KNOT_MAX + 1)}, "core/entities/r0.c", 1)],
    "rule_hosts": [
        ({"host/linux/a.c": "\n\tbinder_lock(&proc->inner_lock);\n"}, "host/linux/a.c", 2)],
    "rule_locked_names": [
        ({"core/entities/a.c": "int f_ilocked(int x)\n{\n\treturn x;\n}\n"},
         "core/entities/a.c", 1)],
    "rule_no_tsa": [
        ({"core/entities/a.c": "int f(void) NO_TSA\n{\n}\n" * (NO_TSA_MAX + 1)},
         "core/entities/a.c", 3 * NO_TSA_MAX + 1)],
    "rule_tests": [({"core/pure/a.c": "\n"}, "core/pure/a.c", 1)],
    "rule_contract": [
        ({"host/host.h": "".join(f"static inline int host_f{i}(void);\n"
                                 for i in range(OPERATIONS_MAX + 1))}, "host/host.h", 1)],
    "rule_index": [
        ({ARCHITECTURE: INDEX, "core/pure/a.c": "int binder_a(int x);\n"}, ARCHITECTURE, 2)],
    "rule_layer_table": [
        ({ARCHITECTURE: "| `pure/` | `b` | x |\n", "core/pure/a.c": "\n"}, ARCHITECTURE, 1)],
    "rule_excerpts": [
        ({"docs/a.md": "From `a.c`:\n\n```c\n\tf();\n```\n", "a.c": "\tg();\n"}, "docs/a.md", 3)],
    "rule_lockless": [
        ({LOCKING: HEADING, "core/entities/a.c": "int b(int x)\n{\n\treturn READ_ONCE(x);\n}\n"},
         "core/entities/a.c", 1),
        ({LOCKING: HEADING, "tests/engine/litmus/a.litmus": "\nC c\n"},
         "tests/engine/litmus/a.litmus", 2)],
    "rule_pages": [({"docs/a.md": "[c](c.md)\n"}, "docs/a.md", 1)],
    "rule_rust_circles": [
        ({"tools/a/src/b.rs": "use crate::c::d;\n", "tools/a/src/c.rs": "use super::{b::E, f};\n"},
         "tools/a/src/b.rs", 1)],
    "rule_rust_layers": [
        ({MANAGER + "policy.rs": "use crate::registry::b;\n", MANAGER + "registry.rs": ""},
         MANAGER + "policy.rs", 1)],
}

pytestmark = pytest.mark.check
NAMES = [rule.__name__ for rule in tidy.RULES + tidy.TREE_RULES]
tree = functools.lru_cache(maxsize=None)(tidy.whole_tree)


def rule_named(name):
    """The rule, as one that takes a tree."""
    rule, = [rule for rule in tidy.RULES + tidy.TREE_RULES if rule.__name__ == name]
    return lambda sources: tidy.breaches(rule, sources)


@pytest.mark.parametrize("name", NAMES)
def test_rule_holds(name):
    found = list(rule_named(name)(tree()))
    assert not found, "\n".join(f"{path}:{line}: {words}" for path, line, words in found)


@pytest.mark.parametrize("name", NAMES)
def test_rule_finds_what_is_planted(name):
    for texts, path, line in PLANTED[name]:
        sources = {each: tidy.Source(each, text) for each, text in texts.items()}
        assert (path, line) in [found[:2] for found in rule_named(name)(sources)]
