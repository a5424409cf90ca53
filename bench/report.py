# SPDX-License-Identifier: GPL-2.0
"""What the figures are held against."""
from statistics import median

KIB = 1024
MIB = 1024      # in KiB


def ratio(comparison, pairs, size, figure, peer, other):
    """Median of peer's figure over other's, each pair of figures from the same round."""
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


# Setting, pairs, bytes each way, figure, which of ours, beside which peer, limit, at most.
SPEED_TARGETS = [
    ("one core", 1, 0, "p50_us", "binder", "dbus-daemon", 0.5, True),
    ("one core", 1, 0, "p50_us", "binder-linger", "dbus-daemon", 0.5, True),
    ("one core", 1, 0, "p50_us", "binder", "dbus-broker", 1.0, True),
    ("one core", 1, 4 * KIB, "p50_us", "binder", "dbus-broker", 1.0, True),
    ("one core", 1, 64 * KIB, "p50_us", "binder", "dbus-daemon", 0.15, True),
    ("one core", 1, 64 * KIB, "p50_us", "binder-linger", "dbus-daemon", 0.15, True),
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
    """@memory: what Daemon.memory() said when idle and with a crowd of clients."""
    idle, crowd, clients = memory["idle"], memory["crowd"], memory["clients"]
    grown = (crowd["VmRSS"] - crowd["RssShmem"]) - (idle["VmRSS"] - idle["RssShmem"])
    return [
        target("idle daemon, resident", idle["VmRSS"] / MIB, 10, unit="MiB"),
        target(f"{clients} clients, resident beyond buffers", grown / MIB, 100, unit="MiB"),
        target(f"{clients} clients, threads more than idle",
               crowd["Threads"] - idle["Threads"], 0, unit=""),
    ]


def targets_table(targets):
    yield f"{'target':58}{'measured':>14}{'wanted':>14}"
    for one in targets:
        value = "-" if one["value"] is None else f"{one['value']:.2f} {one['unit']}"
        wanted = f"{'<=' if one['at_most'] else '>='} {one['limit']:g} {one['unit']}"
        verdict = {True: "met", False: "MISSED", None: "did not run"}[one["met"]]
        yield f"{one['name']:58}{value:>14}{wanted:>14}  {verdict}"
