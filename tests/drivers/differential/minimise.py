# SPDX-License-Identifier: GPL-2.0
"""Cut a script that makes a difference down to the steps and commands that make it.

A boot of a virtual machine costs seconds and a script some milliseconds, so many candidates are
tried in one go: first each part alone is left out, then all those that can be spared together, as
far as the difference remains.
"""

import os
import shutil
import subprocess

import sides

BATCH = 96


def differ(candidates, pair, omit, options, work):
    """Which of the candidates (lists of steps) make a difference still."""
    dirs = []
    for name in ["scripts"] + [sides.directory_of(place, omit) for place in "ab"]:
        dirs.append(f"{work}/{name}")
        shutil.rmtree(dirs[-1], ignore_errors=True)
        os.makedirs(dirs[-1])
    job = ["--in-loop"] if options.in_loop else []
    for index, steps in enumerate(candidates):
        job.append(f"{dirs[0]}/{index}.script")
        with open(job[-1], "w") as file:
            file.write("\n".join(steps) + "\n")
    for name, out in zip(pair, dirs[1:]):
        sides.SIDES[name]([job], out)
    return [sides.transcript(f"{dirs[1]}/{index}.transcript") !=
            sides.transcript(f"{dirs[2]}/{index}.transcript")
            for index in range(len(candidates))]


def spare(parts, build, judge):
    """Leave out as many of the parts as can be spared. build(kept parts) is the candidate."""
    alone = []
    for at in range(0, len(parts), BATCH):
        batch = range(at, min(at + BATCH, len(parts)))
        alone += judge([build(parts[:i] + parts[i + 1:]) for i in batch])
    spared = [i for i, still in enumerate(alone) if still]
    if not spared:
        return parts
    # All of them together, all but the last, ..., down to the first alone.
    counts = sorted({len(spared) * k // 16 for k in range(1, 17)} | {1}, reverse=True)
    tries = [[part for i, part in enumerate(parts) if i not in spared[:count]]
             for count in counts if count]
    for kept, still in zip(tries, judge([build(kept) for kept in tries])):
        if still:
            return kept
    return parts


def by_steps(steps, judge):
    size = max(1, len(steps) // 12)
    while True:
        chunks = [steps[i:i + size] for i in range(0, len(steps), size)]
        kept = spare(chunks, lambda parts: [s for part in parts for s in part], judge)
        fewer = [step for chunk in kept for step in chunk]
        if len(fewer) == len(steps) and size == 1:
            return steps
        if len(fewer) == len(steps) or size > 1:
            size = max(1, size // 3)
        steps = fewer


def by_commands(steps, judge):
    def build(parts):
        kept = {}
        for index, command in parts:
            kept.setdefault(index, []).append(command)
        return [" ; ".join(kept[index]) for index in sorted(kept)]

    parts = [(index, command) for index, step in enumerate(steps)
             for command in step.split(" ; ")]
    heads = {(index, step.split(" ; ")[0]) for index, step in enumerate(steps)}
    while True:
        loose = [part for part in parts if part not in heads]
        kept = spare(loose, lambda left: build([p for p in parts if p in heads or p in left]),
                     judge) if loose else loose
        if len(kept) == len(loose):
            return build(parts)
        parts = [part for part in parts if part in heads or part in kept]


def script_of(name, omit, options):
    """The steps of a seed or of a file."""
    if name.startswith("seed-"):
        arguments = ["--seed", name[5:], "--steps", str(options.steps), *omit]
    else:
        arguments = [path for path in options.script + options.kept[True] + options.kept[False]
                     if sides.script_name(path) == name]
    text = subprocess.run([sides.PROGRAM, "--print-script"] + arguments, check=True,
                          capture_output=True, text=True).stdout
    return [line for line in text.splitlines() if not line.startswith("#")]


def minimise(pair, omit, name, options, out):
    work = out + "/minimise"

    def judge(candidates):
        return differ(candidates, pair, omit, options, work)

    steps = script_of(name, omit, options)
    texts = [sides.transcript(f"{out}/{sides.directory_of(side, omit)}/{name}.transcript")
             for side in pair]
    reached = 0
    for one, other in zip(*texts):
        if one.startswith("#"):
            reached = int(one[1:].split()[0])
        if one != other:
            break
    steps = steps[:reached + 1]
    if not judge([steps])[0]:
        print(f"differential: {name} does not differ any more when it is played alone")
        return
    steps = by_commands(by_steps(steps, judge), judge)
    path = f"{out}/{name}-{pair[0]}-{pair[1]}.script"
    with open(path, "w") as file:
        file.write("\n".join(steps) + "\n")
    print(f"differential: {len(steps)} steps are left, in {path}")
    judge([steps])
    for place, side in zip("ab", pair):
        print(f"--- {side}")
        for line in sides.transcript(f"{work}/{sides.directory_of(place, omit)}/0.transcript"):
            print(line[:160])
