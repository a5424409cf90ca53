#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Play the same scripts on two drivers and compare the transcripts.

    compare.py [--seeds N] [--first N] [--steps N] [--pair ref-fuse] [--pair ref-module] ...

The drivers of kernels and the module run in virtual machines (vm/run), one boot each for all
scripts; fuse is the daemon on this machine. Those of kept.scripts are played as well. With
--minimise, the script of the first seed that differs is reduced to the steps that make the
difference and written to build/differential/. Runs at the same time need an --out each. Prints TAP,
a case for each transcript.
"""

import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import sys
import time

import minimise  # noqa: E402
import sides  # noqa: E402

HERE = os.path.dirname(os.path.realpath(__file__))
OUT = os.path.join(sides.TOP, "build", "differential")
KEPT = re.compile(r"^\[(\w+)\]( differs)?\n((?:[^\[\n].*\n)+)", re.M)
CONTEXT_LINES = 12

OPTIONS = {
    "--seeds": dict(type=int, default=200, help="how many seeds (default %(default)s)"),
    "--first": dict(type=int, default=1, help="the first seed (default %(default)s)"),
    "--steps": dict(type=int, default=300, help="steps of a seed (default %(default)s)"),
    "--pair": dict(action="append", help="drivers to compare (default ref-fuse, ref-module)"),
    "--script": dict(action="append", default=[], help="play this file too"),
    "--in-loop": dict(action="store_true", help="each thread enters the loop before all else"),
    "--show": dict(type=int, default=5, help="differences to show (default %(default)s)"),
    "--minimise": dict(action="store_true", help="reduce the first difference"),
    "--out": dict(default=OUT, help="directory of the transcripts (default build/differential)"),
    "--twice": dict(action="store_true", help="compare each driver with itself"),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, how in OPTIONS.items():
        parser.add_argument(name, **how)
    options = parser.parse_args()
    options.pair = [pair.split("-") for pair in options.pair or ["ref-fuse", "ref-module"]]
    for pair in options.pair:
        if len(pair) != 2 or set(pair) - set(sides.SIDES):
            parser.error(f"no such pair: {'-'.join(pair)}")
    if options.twice:
        options.pair = [[name, name] for name in sorted({n for pair in options.pair for n in pair})]
    return options


def unpack_kept(directory):
    """Writes each script of kept.scripts to a file, {whether the drivers must differ: paths}."""
    paths = {True: [], False: []}
    os.makedirs(directory, exist_ok=True)
    with open(HERE + "/kept.scripts", encoding="utf-8") as file:
        for name, differs, text in KEPT.findall(file.read()):
            paths[bool(differs)].append(f"{directory}/{name}.script")
            with open(paths[bool(differs)][-1], "w", encoding="utf-8") as script:
                script.write(text)
    return paths


def play_side(name, omit, options, out):
    """All scripts of one side in one go; the directory of its transcripts."""
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    scripts = options.kept[False] + options.script
    if name not in sides.RUST_PAIR:
        scripts += options.kept[True]
    if "--omit-freeze-notices" in omit:
        scripts = [path for path in scripts if not sides.is_new(path)]
    jobs = [["--seed", str(options.first), "--seeds", str(options.seeds),
             "--steps", str(options.steps), *omit]]
    if not options.seeds:
        jobs = []
    loop = ["--in-loop"] if options.in_loop else []
    if scripts:
        jobs.append([os.path.realpath(path) for path in scripts])
    sides.SIDES[name]([loop + job for job in jobs], out)
    return out


def first_difference(one, other):
    """Where two transcripts (lists of lines) begin to differ; None if they do not."""
    for at, (a, b) in enumerate(zip(one, other)):
        if a != b:
            return at
    return None if len(one) == len(other) else min(len(one), len(other))


def must_differ(script, pair, options):
    """Does this script show a deliberate difference of the two?"""
    explained = map(sides.script_name, options.kept[True])
    return script in explained and sum(side in sides.OURS for side in pair) == 1


def show(name, sides_of, texts, at):
    print(f"{name}: {sides_of[0]} and {sides_of[1]} differ:")
    for line in texts[0][max(0, at - CONTEXT_LINES):at]:
        print("    " + line[:160])
    for side, text in zip(sides_of, texts):
        for line in text[at:at + 3]:
            print(f"  {side:>5} {line[:160]}")


def compare(pair, outs, options, tap):
    """The names of the transcripts that do not agree; a case for each."""
    names = sorted({os.path.basename(path) for out in outs
                    for path in glob.glob(out + "/*.transcript")}, key=sides.order)
    differing = []
    for name in names:
        texts = [sides.transcript(out + "/" + name) for out in outs]
        at = first_difference(*texts)
        script = sides.script_name(name)
        good = bool(all(texts)) and (at is not None) == must_differ(script, pair, options)
        if not good:
            differing.append(script)
            if len(differing) <= options.show:
                show(script, pair, texts, at or 0)
        tap.append(good)
        print(f"{'ok' if good else 'not ok'} {len(tap)} - {'-'.join(pair)} {script}")
    return differing


def main():
    options = parse()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sides.stop_all())
    started = time.monotonic()
    options.out = os.path.realpath(options.out)
    options.kept = unpack_kept(options.out + "/kept")
    tap, todo = [], {}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for index, pair in enumerate(options.pair):
            omit = sides.omissions(pair)
            for place, name in enumerate(pair):
                key = (name, omit, place if options.twice else 0)
                if key not in todo:
                    out = f"{options.out}/{sides.directory_of(name, omit)}"
                    todo[key] = pool.submit(play_side, name, omit, options,
                                            out + (str(place) if options.twice else ""))
    for pair in options.pair:
        omit = sides.omissions(pair)
        outs = [todo[(name, omit, place if options.twice else 0)].result()
                for place, name in enumerate(pair)]
        differing = compare(pair, outs, options, tap)
        if options.minimise and differing:
            minimise.minimise(pair, omit, differing[0], options, options.out)
            break
    print(f"took {time.monotonic() - started:.0f} s", file=sys.stderr)
    print(f"1..{len(tap)}")
    return int(not (tap and all(tap)))


if __name__ == "__main__":
    sys.exit(main())
