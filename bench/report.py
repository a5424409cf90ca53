# SPDX-License-Identifier: GPL-2.0
"""What the figures say: medians, ratios within a round, the table, the targets."""
from statistics import median

FIGURES = ("min_us", "avg_us", "p50_us", "p99_us", "calls_per_s", "user_us", "system_us",
           "daemon_us")
MIB = 1024


def size_text(size):
    request, reply = size

    def one(count):
        for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
            if count >= factor:
                return f"{count // factor} {unit}"
        return f"{count} B"

    return one(request) if request == reply else f"{one(request)} / {one(reply)}"


def group_text(group):
    setting, pairs, size = group
    return f"{setting}, {pairs} pair{'s' if pairs > 1 else ''}, {size_text(size)}"


def medians(rounds):
    return {key: median(one[key] for one in rounds) for key in FIGURES if key in rounds[0]}


def ratio(results, group, figure, peer, other):
    """Median of peer's figure over other's, each pair of figures from the same round."""
    ours = results.get((group, peer), {})
    theirs = results.get((group, other), {})
    both = sorted(set(ours) & set(theirs))
    if not both:
        return None
    return median(ours[number][figure] / theirs[number][figure] for number in both)


def table(results, groups, peers):
    """Lines of text: one block for each group, one line for each peer."""
    yield (f"  {'':14}{'min':>9}{'avg':>9}{'p50':>9}{'p99':>10}{'calls/s':>11}"
           f"{'CPU us of':>12}{'':>9}{'binder is':>11}")
    yield (f"  {'':14}{'us':>9}{'us':>9}{'us':>9}{'us':>10}{'':>11}"
           f"{'both ends':>12}{'daemon':>9}{'x this':>11}")
    for group in groups:
        yield group_text(group)
        for peer in peers:
            rounds = results.get((group, peer))
            if not rounds:
                yield f"  {peer:14}{'did not run':>16}"
                continue
            mid = medians(list(rounds.values()))
            against = ratio(results, group, "p50_us", "binder", peer)
            yield (f"  {peer:14}{mid['min_us']:9.1f}{mid['avg_us']:9.1f}{mid['p50_us']:9.1f}"
                   f"{mid['p99_us']:10.1f}{mid['calls_per_s']:11,.0f}"
                   f"{mid['user_us'] + mid['system_us']:12.1f}"
                   + (f"{mid['daemon_us']:9.1f}" if "daemon_us" in mid else f"{'-':>9}")
                   + (f"{against:11.2f}" if against is not None and peer != "binder" else ""))


def target(name, value, limit, at_most=True, unit="x"):
    met = None if value is None else (value <= limit if at_most else value >= limit)
    return {"name": name, "value": value, "limit": limit, "at_most": at_most, "unit": unit,
            "met": met}


def speed_targets(results, groups):
    """The targets whose figures were measured."""
    found = []
    for group in groups:
        setting, pairs, (request, reply) = group
        if request != reply:
            continue
        where = group_text(group)
        if setting == "one core" and pairs == 1:
            limit = {0: 0.6, 65536: 0.2}.get(request)
            if limit:
                value = ratio(results, group, "p50_us", "binder", "dbus-daemon")
                found.append(target(f"round trip / dbus-daemon: {where}", value, limit))
            value = ratio(results, group, "p50_us", "binder", "dbus-broker")
            found.append(target(f"round trip / dbus-broker: {where}", value, 1.0))
        if setting == "unpinned" and pairs == 4 and request == 0:
            value = ratio(results, group, "calls_per_s", "binder", "dbus-daemon")
            found.append(target(f"calls/s / dbus-daemon: {where}", value, 1.4, at_most=False))
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
