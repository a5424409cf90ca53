# SPDX-License-Identifier: GPL-2.0
"""table.py DIRECTORY: the long form of the attacks, and a table of all of them.
table.py --write DIRECTORY PAGE: puts the table of a former run into a page of docs/.

Runs the attacks, and makes of the rows that they leave in DIRECTORY table.txt and table.json, and
of the worst of each row summary.md. The machine should have nothing else to do.
"""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

PHASES = ("alone", "honest", "attacked")
TEXTS = {"calls": "a call", "files": "a file", "deaths": "a death notification",
         "reports": "a report"}


def order(row):
    digits = re.match(r"\d*", row["row"]).group()
    return int(digits or 1000), row["row"]


def latency(result):
    if not result:
        return "-"
    if result["stopped"]:
        return "stopped"
    text = f"{result['p50_ms']:.2f} / {result['p99_ms']:.1f} / {result['worst_ms']:.0f}"
    return text + (f", {result['failed']} failed" if result["failed"] else "")


def lines_of(row):
    """A list of cells for each kind of victim of an attack; the attack stands in the first."""
    memory = " / ".join(f"{row['memory_kib'][when] / 1024:.1f}"
                        for when in ("before", "peak", "after"))
    first = [row["row"], row["title"], memory, f"{row['ended_s']:.2f}"]
    for kind in row["seen"]["attacked"]:
        yield first[:2] + [TEXTS[kind]] + [
            latency(row["seen"].get(phase, {}).get(kind)) for phase in PHASES] + first[2:]
        first = [""] * 4


def waits(row, phase):
    """The longest wait of each kind of victim."""
    return {kind: result["worst_ms"] for kind, result in row["seen"].get(phase, {}).items()}


def summary_of(row):
    """One line for an attack: the longest waits, and how far one is above what it is held to."""
    beside, attacked = waits(row, "honest") or waits(row, "alone"), waits(row, "attacked")
    above = max(attacked[kind] - beside[kind] for kind in attacked)
    longest = [f"{max(waits(row, phase).values()):.0f}" if waits(row, phase) else "-"
               for phase in PHASES]
    return [row["title"], *longest, f"{max(above, 0):.0f} of {row['margin_ms']}",
            f"{row['memory_kib']['peak'] / 1024:.1f}", f"{row['ended_s']:.2f}"]


MARKS = ("<!-- table -->", "<!-- end of table -->")
HEAD = ["row", "attack", "victim waits for", "alone, ms", "honest load, ms", "attack, ms",
        "memory, MiB", "ended, s"]
SUMMARY_HEAD = ["attack", "alone, ms", "honest load, ms", "attack, ms", "longer by, ms",
                "memory, MiB", "ended, s"]


def as_text(rows):
    table = [HEAD] + [line for row in rows for line in lines_of(row)]
    widths = [max(map(len, column)) for column in zip(*table)]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() + "\n"
                   for line in table)


def as_markdown(head, lines):
    return "".join("| " + " | ".join(line) + " |\n" for line in [head, ["---"] * len(head), *lines])


def write_into(path, table):
    before, rest = pathlib.Path(path).read_text(encoding="utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    pathlib.Path(path).write_text(f"{before}{MARKS[0]}\n{table}{MARKS[1]}{after}", encoding="utf-8")


def main(directory):
    """Returns the exit status of the attacks."""
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    environment = dict(os.environ, HOSTILE_TABLE=os.path.abspath(directory))
    words = ["/usr/bin/python3", "-m", "pytest", "--long", os.path.dirname(__file__)]
    status = subprocess.run(words, env=environment, check=False).returncode
    rows = []
    for path in glob.glob(os.path.join(directory, "*.json")):
        rows.append(json.loads(pathlib.Path(path).read_text(encoding="utf-8")))
    rows.sort(key=order)
    for name, text in (("table.json", json.dumps(rows, indent=1)), ("table.txt", as_text(rows)),
                       ("summary.md", as_markdown(SUMMARY_HEAD, map(summary_of, rows)))):
        pathlib.Path(os.path.join(directory, name)).write_text(text, encoding="utf-8")
    print("\nLatencies are p50 / p99 / worst, the daemon's memory before / at most / afterwards.\n")
    print(as_text(rows))
    for row in rows:
        for text in row["missed"]:
            print(f"{row['row']} ({row['title']}): {text}")
    return status


if sys.argv[1] == "--write":
    with open(os.path.join(sys.argv[2], "summary.md"), encoding="utf-8") as written:
        write_into(sys.argv[3], written.read())
else:
    sys.exit(main(sys.argv[1]))
