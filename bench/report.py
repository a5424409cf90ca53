# SPDX-License-Identifier: GPL-2.0
"""The targets, the tables of them, and where other peers are faster."""
import sys
from statistics import median

KIB = 1024
MIB = 1024      # in KiB


# No other peers: another mode of the daemon, and lower bounds of a call.
NO_OTHERS = ("binder", "binder-global", "futex", "fuse")


def place(cell):
    return cell["pairs"], cell["request_bytes"], cell["reply_bytes"]


def figures(comparison, figure):
    """{place: {peer: {round: figure}}}"""
    found = {}
    for cell in comparison["cells"]:
        rounds = {one["round"]: one[figure] for one in cell["rounds"]}
        found.setdefault(place(cell), {})[cell["peer"]] = rounds
    return found


def ratio(peers, peer, other):
    """The median ratio of @peer's figures to those of @other, each within a round; None: there is
    no such round. @peers: figures() of a place."""
    ours, theirs = peers.get(peer, {}), peers.get(other, {})
    both = set(ours) & set(theirs)
    return median(ours[number] / theirs[number] for number in both) if both else None


def target(name, value, limit, at_most=True, unit="x"):
    met = None if value is None else (value <= limit if at_most else value >= limit)
    return {"name": name, "value": value, "limit": limit, "at_most": at_most, "unit": unit,
            "met": met}


# Setting, pairs, bytes each way, figure, peer, other peer, limit of the ratio, whether at most.
SPEED_TARGETS = [
    ("one core", 1, 0, "p50_us", "binder", "dbus-daemon", 0.5, True),
    ("one core", 1, 0, "p50_us", "binder", "dbus-broker", 1.0, True),
    ("one core", 1, 4 * KIB, "p50_us", "binder", "dbus-broker", 1.0, True),
    ("one core", 1, 64 * KIB, "p50_us", "binder", "dbus-daemon", 0.15, True),
    ("one core", 1, 64 * KIB, "p50_us", "binder", "dbus-broker", 1.0, True),
    ("one core", 1, KIB * KIB, "p50_us", "binder", "dbus-broker", 1.0, True),
    ("unpinned", 4, 0, "calls_per_s", "binder", "dbus-daemon", 1.4, False),
]


def size_text(size):
    for unit, factor in (("MiB", KIB * KIB), ("KiB", KIB)):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} B"


def place_text(setting, where):
    pairs, request, reply = where
    size = size_text(request) + ("" if request == reply else f" / {size_text(reply)}")
    return f"{setting}, {pairs} pair{'s' if pairs > 1 else ''}, {size}"


def behind(comparisons):
    """Where other peers make more calls: (place, [(peer, calls/s of binder to its calls/s)])."""
    found = []
    for comparison in comparisons:
        for where, peers in figures(comparison, "calls_per_s").items():
            others = {peer: ratio(peers, "binder", peer) for peer in peers if peer not in NO_OTHERS}
            faster = [(peer, value) for peer, value in others.items() if value and value < 1]
            if faster:
                name = place_text(comparison["setting"], where)
                found.append((name, sorted(faster, key=lambda one: one[1])))
    return found


def speed_targets(comparisons):
    """The targets whose figures were measured."""
    found = []
    tables = [(one["setting"], {name: figures(one, name) for name in ("p50_us", "calls_per_s")})
              for one in comparisons]
    for setting, pairs, size, figure, ours, other, limit, at_most in SPEED_TARGETS:
        values = [ratio(table[figure].get((pairs, size, size), {}), ours, other)
                  for where, table in tables if where == setting]
        values = [value for value in values if value is not None]
        if values:
            what = "round trip" if figure == "p50_us" else "calls/s"
            name = f"{ours}, {what} / {other}: {place_text(setting, (pairs, size, size))}"
            found.append(target(name, values[0], limit, at_most))
    return found


def memory_targets(memory):
    """@memory: Daemon.memory() when idle, and full with so many idle clients."""
    idle, full, clients = memory["idle"], memory["full"], memory["clients"]
    grown = (full["Pss"] - full["Pss_Shmem"]) - (idle["Pss"] - idle["Pss_Shmem"])
    return [
        target("idle daemon, memory", idle["Pss"] / MIB, 10, unit="MiB"),
        target(f"{clients} clients, memory beyond buffers", grown / MIB, 100, unit="MiB"),
        # The helper process starts a thread that closes files when there is one to close.
        target(f"{clients} clients, threads more than idle",
               full["threads"] - idle["threads"], 1, unit=""),
    ]


def target_rows(targets):
    """(name, measured, wanted, verdict) of each target."""
    for one in targets:
        unit, bound = one["unit"], "most" if one["at_most"] else "least"
        value = "-" if one["value"] is None else f"{one['value']:.2f} {unit}".rstrip()
        wanted = f"at {bound} {one['limit']:g} {unit}".rstrip()
        verdict = {True: "met", False: "MISSED", None: "did not run"}[one["met"]]
        yield one["name"], value, wanted, verdict


def self_test():
    def cell(peer, pairs, request, reply, *calls_per_s):
        rounds = [{"round": number, "calls_per_s": one} for number, one in enumerate(calls_per_s)]
        return {"peer": peer, "pairs": pairs, "request_bytes": request, "reply_bytes": reply,
                "rounds": rounds}

    cells = [cell("binder", 1, 0, 0, 10, 20, 30), cell("pipe", 1, 0, 0, 100, 40, 60),
             cell("grpc", 1, 0, 0, 9, 21, 29), cell("futex", 1, 0, 0, 99, 99, 99),
             cell("unix", 1, 0, 0, 20, 30, 40), cell("binder", 2, 4096, 0, 10),
             cell("capnp", 2, 4096, 0, 20), cell("binder", 4, 0, 0, 10), cell("grpc", 4, 0, 0)]
    expected = [("unpinned, 1 pair, 0 B", [("pipe", 0.5), ("unix", 20 / 30)]),
                ("unpinned, 2 pairs, 4 KiB / 0 B", [("capnp", 0.5)])]
    found = behind([{"setting": "unpinned", "cells": cells}])
    if found != expected:
        print(f"FAILED: {found}")
    print(f"bench report: {int(found == expected)} passed, {int(found != expected)} failed")
    return int(found != expected)


if __name__ == "__main__":
    sys.exit(self_test())
