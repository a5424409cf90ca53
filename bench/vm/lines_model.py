# SPDX-License-Identifier: GPL-2.0
"""How often cache lines move between CPUs, from the file that bench/vm/lines.c wrote.

The model is that of processors with coherent caches (MESI), each with a cache without limit. A
CPU that reads a line needs a valid copy, one that writes needs the only one. Whenever it has to
get that from another CPU, the line moves: it was written by another CPU since this one last had
it, or this one writes and others have copies. Getting a line from memory for the first time is
not a move.

Each end of a pair has a CPU of its own, client N the CPU 2 N and its server the next one, so that a
move is within a pair or between pairs.
"""
import array
import collections
import statistics
import sys

READ, WRITE, BEGIN, END, CALL = range(5)
PC_BITS = 0xffff << 48
# Calls of each pair that are left out: the caches of the model fill.
WARM_UP = 5


class Caches:
    """The state of every line: a set of the CPUs that have a valid copy, and who wrote it last."""

    def __init__(self):
        self.holders = {}
        self.writers = {}

    def access(self, cpu, line, writes):
        """The CPUs that the access had to ask: a bit for each, 0 if it had the line."""
        mine = 1 << cpu
        holders = self.holders.get(line, 0)
        if writes:
            self.holders[line] = mine
            self.writers[line] = mine
            return holders & ~mine
        if holders & mine:
            return 0
        self.holders[line] = holders | mine
        # A line that no CPU wrote comes from memory, or as well from there.
        return self.writers.get(line, 0) & ~mine


class Window:
    """What moved in one measurement, call by call."""

    def __init__(self, pairs):
        self.pairs = pairs
        self.within = []    # moves, one figure for each part of the window
        self.between = []
        self.lines = collections.Counter()      # line: moves between pairs
        self.touched = collections.defaultdict(set)     # line: instructions that accessed it
        self.places = collections.Counter()     # (line, instruction, between pairs?): moves
        self.calls = 0
        self.instructions = 0

    def add_part(self, moves):
        """A call of each pair was made. @moves: as the keys of places."""
        self.calls += self.pairs
        self.places.update(moves)
        self.lines.update(line for line, _, between in moves if between)
        between = sum(between for _, _, between in moves)
        self.between.append(between)
        self.within.append(len(moves) - between)

    def per_call(self):
        """Medians over the parts: those with a timer tick or another guest process drop out."""
        return tuple(statistics.median(part) / self.pairs for part in (self.within, self.between))


def is_between(cpu, others, pairs):
    """Was a CPU asked that is not of the pair of @cpu?"""
    return bool(others & ~(3 << (cpu & ~1)) & ((1 << 2 * pairs) - 1))


def replay(records, pairs):
    """The window in which all clients made calls. @records: (what, pc, cpu, kind)"""
    window, caches = Window(pairs), Caches()
    begun, calls, first_instruction = 0, 0, 0
    moves = []
    for what, pc, cpu, kind in records:
        if kind <= WRITE:
            others = caches.access(cpu, what, kind == WRITE)
            window.touched[what].add(pc)
            if others and calls > WARM_UP * pairs and cpu < 2 * pairs:
                moves.append((what, pc, is_between(cpu, others, pairs)))
        elif kind == BEGIN:
            begun += 1
        elif kind == END:
            break
        elif begun == pairs:
            calls += 1
            if calls == WARM_UP * pairs + 1:
                first_instruction = what
            elif calls > WARM_UP * pairs and (calls - 1) % pairs == 0:
                window.add_part(moves)
                moves = []
                window.instructions = what - first_instruction
    return window


def read_windows(path):
    """The records of each measurement, in order."""
    words = array.array("Q")
    with open(path, "rb") as file:
        words.frombytes(file.read())
    records, ended = [], True
    for what, second in zip(words[::2], words[1::2]):
        kind, cpu, pc = second >> 56, second >> 48 & 0xff, second | PC_BITS
        if kind == BEGIN and ended:
            records, ended = [], False
        records.append((what, pc, cpu, kind))
        if kind == END:
            ended = True
            yield records


# ---- self-test -----------------------------------------------------------------

PAIRS = 2
SHARED, PRIVATE = 0x1000, 0x2000


def measurement(accesses, calls=WARM_UP + 10):
    """A record in which every client makes @calls, each with @accesses: (cpu, line, kind)."""
    records = [(0, 0, 2 * pair, BEGIN) for pair in range(PAIRS)]
    for call in range(calls * PAIRS):
        records.append((100 * call, 0, call % PAIRS * 2, CALL))
        if call % PAIRS == 0:
            records += [(line, 1, cpu, kind) for cpu, line, kind in accesses]
    return records + [(0, 0, 0, END)]


def moves(*accesses):
    """What a call moves within a pair and between pairs."""
    return tuple(each * PAIRS for each in replay(measurement(accesses), PAIRS).per_call())


# What is tested: the accesses of a call, and the moves within a pair and between pairs.
EXPECTED = {
    "a line of one CPU stays": ([(0, SHARED, WRITE), (0, SHARED, READ)], (0, 0)),
    "a line that all read stays": ([(0, SHARED, READ), (2, SHARED, READ)], (0, 0)),
    "two that write move it twice": ([(0, SHARED, WRITE), (1, SHARED, WRITE)], (2, 0)),
    "a reader gets it, the writer takes it back": ([(0, SHARED, WRITE), (1, SHARED, READ)], (2, 0)),
    "a second read is free": ([(0, SHARED, WRITE), (1, SHARED, READ), (1, SHARED, READ)], (2, 0)),
    "between pairs": ([(0, SHARED, WRITE), (2, SHARED, WRITE)], (0, 2)),
    "one of each": ([(0, SHARED, WRITE), (1, SHARED, WRITE), (2, SHARED, WRITE)], (1, 2)),
    "lines are apart": ([(0, SHARED, WRITE), (2, PRIVATE, WRITE)], (0, 0)),
    "other CPUs do not count": ([(5, SHARED, WRITE), (4, SHARED, WRITE)], (0, 0)),
}


def self_test():
    failed = 0
    for what, (accesses, wanted) in EXPECTED.items():
        found = moves(*accesses)
        if found != wanted:
            failed += 1
            print(f"lines_model: {what}: {found} moves, {wanted} expected")
    window = replay(measurement([(0, SHARED, WRITE), (2, SHARED, WRITE)]), PAIRS)
    if window.instructions != 100 * window.calls or window.lines[SHARED] != window.calls:
        failed += 1
        print(f"lines_model: {window.calls} calls with {window.instructions} instructions")
    print(f"source-lines: {len(EXPECTED) + 1 - failed} passed, {failed} failed, 0 skipped")
    return failed


if __name__ == "__main__":
    sys.exit(min(self_test(), 1))
