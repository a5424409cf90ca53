# SPDX-License-Identifier: GPL-2.0
"""Rules about the shape of the tree, which need more than one file to judge.

Each rule takes {path: Source} and yields (path, line, complaint).
"""
import os
import re

import tidy_pages
import tidy_rust

# The folders of core/, lowest first. core/core.h is above all of them.
LAYERS = ["base", "common", "pure", "memory", "entities", "calls", "notices", "entry", "reports",
          "state"]
# The folders of host/fuse/, lowest first; the files beside them are above all of them, but for the
# types of the contract.
FUSE_LAYERS = ["base", "session", "workers", "clients", "memory", "queues", "events", "names",
               "calls", "fds", "buffers", "handover", "start"]
FUSE_BELOW = ("host_types.h",)
# The folders with programs of their own, and what these may include besides their folder.
FUSE_PROGRAMS = {"fds/helper/": ("base/", "host_types.h", "fds/inject/inject.h"),
                 "fds/inject/": ("base/",)}
# Messages, numbers of threads, and the injectors that share SIGCHLD are those of the process,
# whatever number of daemons it has.
FUSE_STATE_OF_PROCESS = ("base/daemon_log.c", "base/thread.c", "fds/inject/inject.c", "main.c")
# The begin of a definition, at file scope or behind "static" in a function: of a variable, of a
# pointer to a function, or the end of a struct without a name that a variable has.
VARIABLE = re.compile(r"((?!typedef |extern )[A-Za-z_][\w \t*]*[ \t*])(\w+)(?=;|\[| =)")
POINTER = re.compile(r"([A-Za-z_][\w \t*]*\(\*(?:const )?)(\w+)[\])]")
NAMED_BELOW = re.compile(r"\}() *(\w+)(?=;|\[| =)")
# The layers that implement what core.h declares.
BEHIND_CORE_H = ("entry", "reports", "state")
KNOT_MAX = 8

# What a host may include of the engine.
OPEN_TO_HOSTS = {"core.h", "base/base_types.h", "base/list.h", "base/rbtree.h"}
# For tests, host/test looks into the engine.
INSIDE_HOSTS = ("host/test/",)
LOCK_CALL = re.compile(r"\bbinder_(pi_)?(mutex_)?(un|try)?lock\(")
OPERATIONS_MAX = 72
NO_TSA_MAX = 12
# A function with a body, up to its brace.
LOCKED_NAME = re.compile(r"^\w[^;{}\n]*\b(\w+_[inoa]locked)\([^;{}]*\{", re.M)

PORTING = "docs/PORTING.md"
ARCHITECTURE = "docs/ARCHITECTURE.md"
INDEX_HEADING = "## Where is"
INDEX_MIN = 30
# The function may be missing, where the file or folder is all of it.
INDEX_ENTRY = re.compile(r"\| *`([\w.-]*/[\w/.-]*)` *\| *(?:`(\w+)(\(\)|\[\])`)? *\|")
# How a function begins in other languages than C.
FUNCTION_IN = {".rs": r"^ *(?:pub(?:\(\w+\))? )?(?:async |const |unsafe )*fn {}\b",
               ".py": r"^ *def {}\("}


def is_test(path):
    return path.endswith(("_test.c", "_test.h")) or "/test/" in path


def includes(src):
    for number, line in enumerate(src.lines, 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if match:
            yield number, match.group(1)


def core_files(tree):
    """The engine's own files: (path, layer, Source)."""
    for path, src in tree.items():
        match = re.match(r"core/(\w+)/(?:.*/)?[\w.]+\.[ch]$", path)
        if match and not is_test(path):
            yield path, match.group(1), src


def target_of(path, layer, name, tree):
    """The path of what @name includes, if it is the engine's."""
    for candidate in ("core/" + name, path.rsplit("/", 1)[0] + "/" + name):
        if candidate in tree or re.match(r"core/(%s)/" % "|".join(LAYERS), candidate):
            return candidate
    return None


def rule_layers(tree):
    """includes in core/ go to the same folder or to a lower one"""
    for path, layer, src in core_files(tree):
        if layer not in LAYERS:
            yield path, 1, f"core/{layer}/ is no layer; scripts/tidy_tree.py lists them"
            continue
        for number, name in includes(src):
            if name == "core.h" and layer not in BEHIND_CORE_H:
                yield path, number, f"core/{layer}/ is below core.h"
            above = name.split("/")[0]
            if "/" in name and above in LAYERS and LAYERS.index(above) > LAYERS.index(layer):
                yield path, number, f"core/{above}/ is above core/{layer}/"


def rule_fuse_layers(tree):
    """includes in host/fuse/ go to the same folder or to a lower one"""
    for path, src in tree.items():
        match = re.match(r"host/fuse/(\w+)/(?:.*/)?[\w.]+\.[ch]$", path)
        if not match or is_test(path):
            continue
        layer = match.group(1)
        if layer not in FUSE_LAYERS:
            yield path, 1, f"host/fuse/{layer}/ is no layer; scripts/tidy_tree.py lists them"
            continue
        allowed = FUSE_LAYERS[:FUSE_LAYERS.index(layer) + 1]
        for number, name in includes(src):
            above = name.split("/")[0]
            if "host/fuse/" + name in tree and above not in allowed and name not in FUSE_BELOW:
                yield path, number, f"{name} is above host/fuse/{layer}/"


def rule_fuse_door(tree):
    """of fds/ the rest of host/fuse/ includes fds.h alone, and its programs what is below"""
    for path, src in tree.items():
        here = path.removeprefix("host/fuse/")
        if here == path or is_test(path) or "_test" in here:
            continue
        inside = [folder for folder in FUSE_PROGRAMS if here.startswith(folder)]
        for number, name in includes(src):
            if name.startswith("fds/") and name != "fds/fds.h" and not here.startswith("fds/"):
                yield path, number, f"{name} is behind fds/fds.h"
            elif inside and "host/fuse/" + name in tree and \
                    not name.startswith((inside[0],) + FUSE_PROGRAMS[inside[0]]):
                yield path, number, f"{name} is not for the program of {inside[0]}"


def is_const(declared):
    """Whether the variable itself is, of what stands before its name."""
    return re.search(r"\bconst\b", declared.rsplit("*", 1)[-1])


def variables(src):
    """The variables of a C file that can change, and are no thread's: (line, name)."""
    opening = ""
    for number, line in enumerate(src.lines, 1):
        static = re.match(r"\t+static (.*)", line)
        text = re.sub(r"\b(_Atomic|_Alignas|__attribute__)\([^)]*\)+", "int",
                      static.group(1) if static else line)
        match = VARIABLE.match(text) or POINTER.match(text) or NAMED_BELOW.match(text)
        declared = opening if text.startswith("}") else match.group(1) if match else ""
        if match and not is_const(declared) and "_Thread_local" not in declared and \
                not declared.startswith("typedef") and \
                not re.match(r"(struct|union|enum) \w+;", text):
            yield number, match.group(2)
        if line.endswith("{") and not line[0].isspace():
            opening = line


def rule_fuse_state(tree):
    """what a part of host/fuse/ has to remember is in struct daemon"""
    for path, src in tree.items():
        name = path.removeprefix("host/fuse/")
        if name == path or not name.endswith(".c") or "_test" in name or \
                name in FUSE_STATE_OF_PROCESS:
            continue
        for number, variable in variables(src):
            yield path, number, f"{variable} is a variable of the process: see base/daemon.h"


def room_of(path):
    return re.sub(r"\.[ch]$", "", path)


def rooms(tree):
    """{room: rooms that it includes}, a room being a .c and its .h."""
    edges = {}
    for path, layer, src in core_files(tree):
        edges.setdefault(room_of(path), set())
        for _, name in includes(src):
            target = target_of(path, layer, name, tree)
            if target and room_of(target) != room_of(path):
                edges[room_of(path)].add(room_of(target))
    return edges


def host_rooms(tree):
    """The same of the files of each host; host_impl.h includes what implements operations."""
    edges = {}
    for path, src in tree.items():
        match = re.match(r"host/(fuse|linux)/[\w/]+\.[ch]$", path)
        if not match or is_test(path):
            continue
        edges.setdefault(room_of(path), set())
        for _, name in includes(src):
            target = f"host/{match.group(1)}/{name}"
            if target in tree and room_of(target) != room_of(path):
                edges[room_of(path)].add(room_of(target))
    return edges


def reachable(edges, start):
    seen, todo = set(), [start]
    while todo:
        for room in edges.get(todo.pop(), ()):
            if room not in seen:
                seen.add(room)
                todo.append(room)
    return seen


def knots(edges):
    """Sets of rooms that include each other, directly or not, largest first."""
    reach = {room: reachable(edges, room) for room in edges}
    found = {frozenset([a] + [b for b in reach[a] if a in reach.get(b, ())])
             for a in edges if a in reach[a]}
    return sorted(found, key=len, reverse=True)


def rule_knot(tree):
    """at most 8 files of core/ include each other, and none of a host"""
    for knot in knots(host_rooms(tree)):
        yield sorted(knot)[0] + ".c", 1, "files of a host include each other: " + \
            ", ".join(sorted(knot))
    for knot in knots(rooms(tree)):
        if len(knot) > KNOT_MAX:
            names = ", ".join(sorted(room.removeprefix("core/") for room in knot))
            yield sorted(knot)[0] + ".c", 1, f"{len(knot)} rooms include each other, " \
                f"{KNOT_MAX} allowed: {names}"


def rule_hosts(tree):
    """a host includes core.h and a few named headers of the engine, and takes none of its locks"""
    for path, src in tree.items():
        if not re.match(r"host/\w+/.*\.[ch]$", path) or path.startswith(INSIDE_HOSTS) or \
                is_test(path):
            continue
        for number, name in includes(src):
            ours = name == "core.h" or name.split("/")[0] in LAYERS
            if ours and name not in OPEN_TO_HOSTS and "host/fuse/" + name not in tree:
                yield path, number, f"{name} is not open to hosts; core.h is"
        for number, line in enumerate(src.lines, 1):
            if LOCK_CALL.search(line):
                yield path, number, "a host takes no lock of the engine"


def rule_locked_names(tree):
    """a function whose name says that a lock is held asserts it"""
    for path, _, src in core_files(tree):
        for match in LOCKED_NAME.finditer(src.text):
            body = src.text[match.end():].split("\n}\n")[0]
            if "binder_assert_held(" not in body:
                line = src.text.count("\n", 0, match.start()) + 1
                yield path, line, f"{match.group(1)} does not assert that the lock is held"


def unchecked(tree):
    """Where the compiler's check of locks is switched off: (path, line)."""
    for path, _, src in core_files(tree):
        for number, line in enumerate(src.lines, 1):
            if not line.lstrip().startswith("#"):
                yield from [(path, number)] * len(re.findall(r"\bNO_TSA\b", line))


def rule_no_tsa(tree):
    """at most 12 functions of core/ are not checked by the compiler's lock analysis"""
    found = list(unchecked(tree))
    for path, line in found[NO_TSA_MAX:]:
        yield path, line, f"NO_TSA number {found.index((path, line)) + 1}, {NO_TSA_MAX} allowed"


def rule_tests(tree):
    """a file of core/ has its test beside it, or in its folder's, or says where it is tested"""
    for path, _, src in core_files(tree):
        folder, name = os.path.split(path)
        all_of_it = tree.get(f"{folder}/{os.path.basename(folder)}_test.c")
        if not path.endswith(".c") or path.replace(".c", "_test.c") in tree or all_of_it and (
                re.search(rf"\b{name}\b|all files of this folder", all_of_it.text)):
            continue
        match = re.search(r"Tested in: (\S+)", src.text)
        if not match:
            yield path, 1, "no test beside it, or in its folder's, and no `Tested in: FILE`"
        elif match.group(1) not in tree:
            yield path, 1, f"tested in {match.group(1)}, which does not exist"


def operations(src):
    functions = re.findall(r"^static inline [^;{]*?\b(host_\w+)\(", src.text, re.M)
    return functions + re.findall(r"!defined\((host_\w+)\)", src.text)


def rule_contract(tree):
    """a new host brings at most 72 operations"""
    src = tree.get("host/host.h")
    if not src:
        return
    count = len(set(operations(src)))
    if count > OPERATIONS_MAX:
        yield src.path, 1, f"{count} operations, {OPERATIONS_MAX} allowed"
    for path in (PORTING, ARCHITECTURE):
        if path in tree and f"{count} operations" not in " ".join(tree[path].text.split()):
            yield path, 1, f"host.h has {count} operations, which this page does not say"


def defines(src, name, kind):
    """Whether @src has the body of function @name, or the table @name."""
    if src.kind in FUNCTION_IN:
        return re.search(FUNCTION_IN[src.kind].format(name), src.text, re.M)
    if kind == "[]":
        return re.search(rf"^\w[^;\n]*\b{name}\[[^\]]*\][^;]*?=", src.text, re.M)
    return re.search(rf"^\w[^;{{}}\n]*\b{name}\([^;{{}}]*\{{", src.text, re.M)


def index_entries(src):
    inside = False
    for number, line in enumerate(src.lines, 1):
        if line.startswith("#"):
            inside = line.startswith(INDEX_HEADING)
        for path, name, kind in INDEX_ENTRY.findall(line) if inside else ():
            yield number, path, name, kind


def rule_index(tree):
    """docs/ARCHITECTURE.md says where behaviours are, and they are there"""
    src = tree.get(ARCHITECTURE)
    if not src:
        return
    entries = list(index_entries(src))
    if len(entries) < INDEX_MIN:
        yield src.path, 1, f"the index has {len(entries)} entries, {INDEX_MIN} are wanted"
    for number, path, name, kind in entries:
        if not any(there == path or path.endswith("/") and there.startswith(path)
                   for there in tree):
            yield src.path, number, f"there is no {path}"
        elif name and not (path in tree and defines(tree[path], name, kind)):
            yield src.path, number, f"{path} does not define {name}{kind}"


def files_by_folder(tree):
    """{folder: names of its files} of the engine and of host/fuse, as the tables name them."""
    found = {f"{layer}/": set() for layer in LAYERS}
    found.update({f"host/fuse/{layer}/": set() for layer in FUSE_LAYERS})
    for path in tree:
        match = re.match(r"(?:core/(?=\w+/)|(?=host/fuse/\w+/))(.*/)(\w+)\.[ch]$", path)
        if match and match.group(1) in found and not is_test(path) and "_test" not in path:
            found[match.group(1)].add(match.group(2))
    return found


def rule_layer_table(tree):
    """docs/ARCHITECTURE.md lists the files of each layer"""
    src = tree.get(ARCHITECTURE)
    if not src:
        return
    rows = {}
    for number, line in enumerate(src.lines, 1):
        match = re.match(r"\| `([\w/]+/)` \| ([^|]*)\|", line)
        if match:
            rows[match.group(1)] = (number, set(re.findall(r"`(\w+)`", match.group(2))))
    for folder, there in files_by_folder(tree).items():
        number, listed = rows.get(folder, (1, set()))
        for stem in sorted(there ^ listed):
            yield src.path, number, f"the row of {folder} and the folder differ in {stem}"


def excerpts(src):
    """Blocks of code after a line "From `PATH`:", as (line, path, lines)."""
    path = block = None
    for number, line in enumerate(src.lines, 1):
        match = re.fullmatch(r"From `([^`]+)`:", line)
        if match:
            path = match.group(1)
        elif path and line.startswith("```") and block is None:
            block = (number, path, [])
        elif block and line.startswith("```"):
            yield block
            path = block = None
        elif block:
            block[2].append(line)


def rule_excerpts(tree):
    """code that docs/ quotes stands in the file that it names"""
    for src in tree.values():
        if not src.path.startswith("docs/"):
            continue
        for number, path, lines in excerpts(src):
            if path not in tree or "\n".join(lines) not in tree[path].text:
                yield src.path, number, f"{path} does not contain this code"


RULES = [rule_layers, rule_fuse_layers, rule_fuse_door, rule_fuse_state, rule_knot, rule_hosts,
         rule_locked_names, rule_no_tsa, rule_tests, rule_contract, rule_index, rule_layer_table,
         rule_excerpts, tidy_pages.rule_lockless, tidy_pages.rule_pages, *tidy_rust.RULES]
