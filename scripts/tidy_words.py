# SPDX-License-Identifier: GPL-2.0
"""Retired words: what scripts/tidy refuses and docs/GLOSSARY.md lists.

A word is searched for in paths, identifiers (each piece of snake_case and
CamelCase names) and prose. docs/GLOSSARY.md says what replaced it; its table
and RETIRED below must name the same words.
"""
import re

# word: what to look for. A plain list holds whole pieces of names or words of
# prose, in lower case; a pattern is matched against the line as it stands.
RETIRED = {
    "home": ["home", "homes"],
    "regime": ["regime", "regimes"],
    "linger": ["linger", "lingers", "lingered", "lingering", "lingerer", "lingerers"],
    "sheet": ["sheet", "sheets"],
    "crowd": ["crowd", "crowds", "crowded", "crowding"],
    "bury": ["bury", "buries", "buried", "burying", "burial"],
    "take apart": re.compile(r"\b(taken?|takes|took|taking)[ _](\w+[ _]){0,2}apart\b", re.I),
    "settle": ["settle", "settles", "settled", "settling", "settlement"],
    "peek_": re.compile(r"\bpeek_\w|\bPEEKS\b"),
    "BINDER_ASIDE": re.compile(r"\bBINDER_(ASIDE|KEEP|UNSET)\b"),
    "trouble": ["trouble", "troubles"],
    "whoever": ["whoever", "whomever", "whosoever"],
    "nobody": ["nobody"],
    "somebody": ["somebody", "someone"],
    "everybody": ["everybody", "everyone"],
}

# Not refused, because each also has a use that stays; `tidy --words` counts them.
WATCHED = {
    "told, tell": ["told", "tell", "tells", "telling"],
    "heard of, met": re.compile(r"\b(hears?|heard|hearing)\b|\b(is|are|was|were) met\b", re.I),
    "come by": re.compile(r"\b(comes?|came|coming) by\b", re.I),
    "who, whom": ["who", "whom"],
    "part (verb)": re.compile(r"\b(parts|parted|parting) (with|from)\b|_part_from\b", re.I),
    "mark": ["mark", "marks", "marked"],
    "place (Rust)": re.compile(r"\b(Place|place)\b"),
    "hold (count)": re.compile(r"\b\w+_hold\(|\b(holds?|held) (it|them|him) (weakly|alive)", re.I),
}

# Other meanings of the same letters.
HARMLESS = [
    re.compile(r"\$[{(]?HOME\b|\bHOME[=/:\"']|[\"']HOME[\"']|\b(CARGO|XDG\w*)_HOME\b"),
    re.compile(r"\bhome director(y|ies)\b|\bhome_dir\b"),
    re.compile(r"(?<![\w.])/home\b"),
    re.compile(r"\bMSG_PEEK\b|\bSO_LINGER\b|\bstruct linger\b|\bl_linger\b"),
    re.compile(r"\budevadm settle\b|\benable-linger\b"),
]

# (path, word): where a retired word must stand, and why.
ALLOWED = {
    ("host/linux/main.c", "regime"): "answers the old parameter",
    ("tools/anybinder/src/main.rs", "regime"): "tests the answer to the old option",
    ("tools/anybinder/src/main.rs", "linger"): "tests the answer to the old option",
    ("tools/bench/src/heap.rs", "linger"): "answers the old option",
    ("tools/bench/src/peer.rs", "linger"): "answers the removed peer",
    ("tools/mount/src/daemon.rs", "regime"): "answers the old option",
    ("tests/tools/command/run", "regime"): "tests the answer to the old option",
    ("tests/tools/command/run", "linger"): "tests the answer to the removed peer",
    ("tests/kernel/module/guest", "regime"): "tests the answer to the old parameter",
    ("tests/drivers/clients/src/cases/calls.rs", "nobody"): "the user nobody",
    ("docs/PERFORMANCE.md", "linger"): "why completion batching was removed",
}
GLOSSARY = "docs/GLOSSARY.md"
TABLE_HEADING = "## Retired words"
# This file and its caller spell the words out; the licences are not ours to word.
SKIPPED = ("scripts/tidy", "scripts/tidy_words.py", "LICENSES/")

PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def pieces(line):
    return {piece.lower() for piece in PIECE.findall(line)}


def occurs(what, line, found):
    if isinstance(what, list):
        return any(word in found for word in what)
    return bool(what.search(line))


def words_in(line, table):
    """The words of @table that stand in @line."""
    for pattern in HARMLESS:
        line = pattern.sub(" ", line)
    found = pieces(line)
    return [word for word, what in table.items() if occurs(what, line, found)]


def glossary_table(src):
    """Line numbers of the table of retired words, which may name them."""
    inside = False
    for number, line in enumerate(src.lines, 1):
        if line.startswith("#"):
            inside = line.startswith(TABLE_HEADING)
        if inside:
            yield number, line


def breaches(src, table=None):
    """(line, word) for each; line 1 also stands for the path."""
    if src.path.startswith(SKIPPED):
        return
    table = table or RETIRED
    excused = {n for n, _ in glossary_table(src)} if src.path == GLOSSARY else ()
    for word in words_in(src.path, table):
        yield 1, word
    for number, line in enumerate(src.lines, 1):
        if number in excused:
            continue
        for word in words_in(line, table):
            if (src.path, word) not in ALLOWED:
                yield number, word


def listed_words(src):
    """The words in the first column of the glossary's table."""
    for number, line in glossary_table(src):
        match = re.match(r"\| ((?:`[^`]+`(?:, )?)+)", line)
        if match:
            for word in re.findall(r"`([^`]+)`", match.group(1)):
                yield number, word


def rule_retired_words(src):
    """no word that docs/GLOSSARY.md has retired"""
    for number, word in breaches(src):
        yield number, f"`{word}` is retired; {GLOSSARY} says what to use"
    if src.path == GLOSSARY:
        listed = dict((word, number) for number, word in listed_words(src))
        for word in RETIRED:
            if word not in listed:
                yield 1, f"`{word}` is missing from the table of retired words"


def area_of(path):
    """core/things, host/fuse, tests/drivers ...: where the work is done."""
    parts = path.split("/")
    if len(parts) > 2 and parts[0] in ("core", "host", "tests", "tools", "heap"):
        return "/".join(parts[:2])
    return parts[0] if len(parts) > 1 else "."


def show_table(title, table, files):
    counts = {}
    for src in files:
        for _, word in breaches(src, table):
            counts.setdefault(area_of(src.path), {}).setdefault(word, 0)
            counts[area_of(src.path)][word] += 1
    print(title)
    width = max([len(area) for area in counts] + [8])
    total = {}
    for area in sorted(counts):
        row = ", ".join(f"{word} {n}" for word, n in sorted(counts[area].items()))
        print(f"  {area:{width}}  {sum(counts[area].values()):5}  {row}")
        for word, n in counts[area].items():
            total[word] = total.get(word, 0) + n
    row = ", ".join(f"{word} {total.get(word, 0)}" for word in table)
    print(f"  {'all':{width}}  {sum(total.values()):5}  {row}")


def show(files, paths):
    """scripts/tidy --words [PATH...]: lines below the paths, or a table of all."""
    if not paths:
        show_table("refused (lines with the word; paths count as a line):", RETIRED, files)
        show_table("to be looked at, not refused:", WATCHED, files)
        return
    for src in files:
        if src.path.startswith(tuple(paths)):
            for number, word in breaches(src):
                print(f"{src.path}:{number}: {word}: {src.lines[number - 1].strip()}")
