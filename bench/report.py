# SPDX-License-Identifier: GPL-2.0
"""The targets, and the tables of them."""
from statistics import median

KIB = 1024
MIB = 1024      # in KiB


def ratio(comparison, pairs, size, figure, peer, other):
    """The median ratio of a figure of @peer to that of @other, each within a round."""
    found = {}
    for cell in comparison["cells"]:
        if (cell["pairs"], cell["request_bytes"], cell["reply_bytes"]) == (pairs, size, size):
            found[cell["peer"]] = {one["round"]: one[figure] for one in cell["rounds"]}
    ours, theirs = found.get(peer, {}), found.get(other, {})
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


def speed_targets(comparisons):
    """The targets whose figures were measured."""
    found = []
    for setting, pairs, size, figure, ours, other, limit, at_most in SPEED_TARGETS:
        values = [ratio(one, pairs, size, figure, ours, other) for one in comparisons
                  if one["setting"] == setting]
        values = [value for value in values if value is not None]
        if values:
            what = "round trip" if figure == "p50_us" else "calls/s"
            plural = "s" if pairs > 1 else ""
            name = f"{ours}, {what} / {other}: {setting}, {pairs} pair{plural}, {size_text(size)}"
            found.append(target(name, values[0], limit, at_most))
    return found


def memory_targets(memory):
    """@memory: Daemon.memory() when idle, and full with so many idle clients."""
    idle, full, clients = memory["idle"], memory["full"], memory["clients"]
    grown = (full["VmRSS"] - full["RssShmem"]) - (idle["VmRSS"] - idle["RssShmem"])
    return [
        target("idle daemon, resident", idle["VmRSS"] / MIB, 10, unit="MiB"),
        target(f"{clients} clients, resident beyond buffers", grown / MIB, 100, unit="MiB"),
        target(f"{clients} clients, threads more than idle",
               full["Threads"] - idle["Threads"], 0, unit=""),
    ]


def target_rows(targets):
    """(name, measured, wanted, verdict) of each target."""
    for one in targets:
        unit, bound = one["unit"], "most" if one["at_most"] else "least"
        value = "-" if one["value"] is None else f"{one['value']:.2f} {unit}".rstrip()
        wanted = f"at {bound} {one['limit']:g} {unit}".rstrip()
        verdict = {True: "met", False: "MISSED", None: "did not run"}[one["met"]]
        yield one["name"], value, wanted, verdict
