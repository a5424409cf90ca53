#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""compare SEEDS: the Rust driver beside the C driver and the module, on one kernel.

The conformance suite on all three. The C driver and the module must pass; the tests that the Rust
driver fails must be those of vm/rust-driver/differs, which docs/PROTOCOL.md explains. Then the
differential run: SEEDS random scripts and the kept ones, on the C driver and on the Rust driver,
with all threads in the loop, without which the first read is the first difference of nearly every
script. After its first difference a script plays on other ground, so only that is looked at: the
line of each driver and the step that it belongs to. CLASSES says which class the pair is of; each
has a row in docs/PROTOCOL.md.

The outputs are in build/vm-rust.
"""
import collections
import concurrent.futures
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
DIFFERS = TOP + "/vm/rust-driver/differs"
OUTPUT = TOP + "/build/vm-rust"
BACKENDS = {"C": "ref-newest", "module": "module-newest", "Rust": "rust"}
FAILED = re.compile(r"^not ok (?:\d+ )?(?:- )?(\w+)", re.MULTILINE)
# Of a boot, in wall time; and of a test on the Rust driver, which keeps many of them waiting for
# what does not come. A test that fails unexpectedly has a second try with the usual limit.
LIMIT_S = "7200"
RUST_TEST_LIMIT_S = "10"
TRANSCRIPTS = OUTPUT + "/scripts"
UNKNOWN = "not explained"
# Class -> of the step, of the C driver's line, of the Rust driver's line. The first that fits.
CLASSES = [
    ("a read with less room than a call takes", r" room=[1-7]?[0-9](?![0-9x])", "^  = ",
     r"^  = 0 "),
    ("a write that is cut off", r" cut=", "^  = 0 ", "^  = EFAULT "),
    ("the offsets' address of a call without objects", "", "^  BR_.* offsets=[+]",
     "^  BR_.* offsets=0[?]"),
    ("the error code of malformed data", " error$", r"BR_FAILED_REPLY -\d", r"BR_FAILED_REPLY -\d"),
    ("a failed freeze of a process with several opens", "", "^  BR_TRANSACTION_(COMPLETE|PENDING)",
     "^  BR_TRANSACTION_(COMPLETE|PENDING)"),
    ("poll with work that came to nothing", " poll$", "^  = 0 1$", "^  = 0 0$"),
    ("a freeze of a process without a device", " freeze client=99", "^  = EINVAL$", "^  = 0$"),
    ("the references of an unknown handle", " ref_info", "^  = EINVAL$", "^  = ENOENT$"),
    ("the reference counts of a handle's node", " ref_info", "^  = 0 ", "^  = 0 "),
    ("a read of work that came to nothing", " old_read=", "^  = 0 ", "^  = EAGAIN "),
    ("handle 0 sent as an object", "", r"^    object .* [sw]h flags=\w+ 0 ",
     r"^    object .* [sw]h flags=\w+ [1-9]"),
    ("the call that makes a suspect", "", "^  BR_TRANSACTION_COMPLETE",
     "^  BR_ONEWAY_SPAM_SUSPECT"),
]


def expected():
    """The names in vm/rust-driver/differs."""
    with open(DIFFERS, encoding="ascii") as file:
        return {line.split()[0] for line in file if line.strip() and not line.startswith("#")}


def say(text):
    print(f"vm-rust: {text}", file=sys.stderr, flush=True)


def run_suite(name, path, arguments, environment):
    """One boot: the output, which is also kept in @path."""
    with open(path, "w", encoding="utf-8") as file:
        done = subprocess.run([TOP + "/tests/drivers/conformance/run_backend.py", BACKENDS[name],
                               *arguments],
                              stdin=subprocess.DEVNULL, stdout=file, check=False,
                              env=dict(os.environ, VM_TIMEOUT_S=LIMIT_S, **environment))
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if done.returncode not in (0, 1) or not text:
        sys.exit(f"vm-rust: conformance on {name} ended with status {done.returncode}: {path}")
    return text


def conformance(name):
    """Runs the suite: the last line, and the tests that fail."""
    say(f"conformance on {name}")
    path = f"{OUTPUT}/conformance-{name}"
    limit = {"VM_TEST_TIMEOUT_S": RUST_TEST_LIMIT_S} if name == "Rust" else {}
    text = run_suite(name, path, [], limit)
    failed = set(FAILED.findall(text))
    again = sorted(failed - expected()) if name == "Rust" else []
    if again:
        say(f"once more: {' '.join(again)}")
        filters = [word for test in again for word in ("--filter", test)]
        failed -= set(again) - set(FAILED.findall(run_suite(name, path + "-again", filters, {})))
    return {"summary": text.splitlines()[-1], "failed": sorted(failed)}


def differential(seeds):
    """Plays the scripts; the transcripts are in TRANSCRIPTS."""
    say(f"{seeds} scripts and those of tests/drivers/differential/kept.scripts")
    script = TOP + "/tests/drivers/differential/compare.py"
    done = subprocess.run([script, "--pair", "c-rust", "--seeds",
                           seeds, "--show", "0", "--out", TRANSCRIPTS, "--in-loop"],
                          stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1) or not os.path.isdir(TRANSCRIPTS + "/c"):
        sys.exit(f"vm-rust: the differential run ended with status {done.returncode}")


def judge_conformance(results):
    """Prints what is not as expected; returns how many."""
    known = expected()
    failed = {name: set(results[name]["failed"]) for name in BACKENDS}
    bad = 0
    for name, tests in failed.items():
        print(f"{name}: {results[name]['summary']}")
        for test in sorted(tests - (known if name == "Rust" else set())):
            print(f"not ok {name} {test}")
            bad += 1
    for test in sorted(known - failed["Rust"]):
        print(f"not ok Rust {test}: passes, but vm/rust-driver/differs has it")
        bad += 1
    print(f"conformance: {len(known & failed['Rust'])} known differences, {bad} others")
    return bad


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


def first_difference(one, other):
    """(step, line of one, line of the other); None if there is none."""
    step = ""
    for at in range(max(len(one), len(other))):
        texts = [lines[at] if at < len(lines) else "" for lines in (one, other)]
        if texts[0] != texts[1]:
            return step, *texts
        if texts[0].startswith("#"):
            step = texts[0]
    return None


def class_of(difference):
    for name, *patterns in CLASSES:
        if all(re.search(pattern, text) for pattern, text in zip(patterns, difference)):
            return name
    return UNKNOWN


def differences():
    """Yields the name of each script and its first difference or None."""
    for name in sorted(os.listdir(TRANSCRIPTS + "/c")):
        if name.endswith(".transcript"):
            yield name[:-len(".transcript")], first_difference(
                *(lines_of(f"{TRANSCRIPTS}/{driver}/{name}") for driver in ("c", "rust")))


def judge_scripts(seeds):
    """Prints the classes, and what is in none; returns how many scripts that are."""
    alike, classes = 0, collections.defaultdict(list)
    for name, difference in differences():
        alike += not difference
        if difference:
            classes[class_of(difference)].append(name)
            if class_of(difference) == UNKNOWN:
                print(f"{name}: {UNKNOWN}", *(text[:140] for text in difference), sep="\n    ")
    print(f"scripts of {seeds} seeds and the kept ones: "
          f"{alike} alike, {sum(map(len, classes.values()))} differ")
    for name, scripts in sorted(classes.items(), key=lambda each: -len(each[1])):
        print(f"  {len(scripts):4} {name}: {' '.join(scripts[:6])}")
    return len(classes[UNKNOWN])


def main():
    seeds = sys.argv[1]
    os.makedirs(OUTPUT, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(BACKENDS, pool.map(conformance, BACKENDS)))
    differential(seeds)
    bad = judge_conformance(results)
    unknown = judge_scripts(seeds)
    print(f"vm-rust: {bad} tests and {unknown} scripts that docs/PROTOCOL.md does not explain")
    return 1 if bad or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
