# SPDX-License-Identifier: Apache-2.0
"""Access rules of the service manager, as the command shows them, and their check."""
import os
import re
import shutil
import tempfile

import pytest
from building import TOP



NOTHING = '[[rule]]\nname = "*"\nadd = "any"\n'
DECLARED = ('[global]\nlist = "any"\n[[rule]]\nname = "a.*"\nfind = "any"\n'
            + "".join(f'[[service]]\nname = "{name}"\n' for name in (
                "a.b.IClock/default", "a.b.IClock/second", "hidden.IClock/default")))
DEMO = "anybinder.demo.IAddInts/default"
DEMO_RULES = ('[[rule]]\nname = "anybinder.*"\nfind = "any"\nadd = "any"\n'
              f'[[service]]\nname = "{DEMO}"\n')


@pytest.fixture
def policy():
    """A directory of rules: none is taken from one that every user can write, as under /tmp."""
    under = f"{TOP}/build" if os.geteuid() else "/run"
    directory = tempfile.mkdtemp(prefix="anybinder-test-policy.", dir=under)

    def write(text, name="rules"):
        path = os.path.join(directory, f"{name}.toml")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    write.directory = directory
    yield write
    shutil.rmtree(directory)


def test_neither_list_nor_find_is_allowed(absent, policy):
    policy(NOTHING)
    absent(0, "up at", "up", "--policy", policy.directory)
    absent(0, "not tried: the service manager does not let you find", "doctor")
    absent(8, "policy of the service manager does not let you list", "list")
    absent(8, "policy of the service manager does not let you find", "ping", "x")
    absent(8, '"kind": "denied"', "ping", "x", "--json")


def test_a_list_of_nothing(absent, policy):
    policy('[global]\nlist = "any"\n' + NOTHING)
    absent(0, "up at", "up", "--policy", policy.directory)
    absent(0, "lets you find none of its services", "list")


def test_declared_services(absent, policy):
    policy(DECLARED)
    policy(DEMO_RULES, "demo")
    absent(0, "up at", "up", "--policy", policy.directory)
    lines = absent(0, "a.b", "list", "--declared").splitlines()
    assert not [line for line in lines if "hidden" in line], lines
    assert [line.split() for line in lines if "a.b" in line] == [
        ["-", "-", "a.b.IClock/default"], ["-", "-", "a.b.IClock/second"]]
    with absent.command.started("demo-service"):
        absent(0, "is registered", "wait", DEMO)
        absent(0, f"^ *[0-9][0-9]*  .* {DEMO}$", "list", "--declared")
        absent(0, '"pid": null', "list", "--declared", "--json")


def test_rules_are_checked(absent, policy):
    """The examples of the documentation are right, each by itself."""
    with open(f"{TOP}/docs/RULES.md", encoding="utf-8") as file:
        blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", file.read(), re.M)
    blocks = [re.sub("^    ", "", block, flags=re.M) for block in blocks]
    examples = [policy(block, f"example{number}") for number, block in enumerate(
        [block for block in blocks if re.match(r"\s*[#\[]", block)], 1)]
    assert len(examples) >= 3
    words = [word for path in examples for word in ("--check", path)]
    absent(0, "example2.toml: 1 rules, 3 declared", "servicemanager", *words)
    absent(0, "rules.toml: 1 rules", "servicemanager", "--check", policy(NOTHING))


@pytest.mark.parametrize("rules, said", [
    ('[[rule]]\nname = "*"\nad = "any"\n',
     "rules.toml, line 3, column 1: there is no key ad, but name, add, find.$"),
    ('[[rule]]\nname = "*"\nadd = { user = ["nobody-here"] }\n',
     "rules.toml, line 3, column 17: no such user")], ids=["key", "user"])
def test_wrong_rules(absent, policy, rules, said):
    path = policy(rules)
    absent(1, said, "servicemanager", "--check", path)
    absent(1, said.rstrip("$").partition(", but")[0], "up", "--policy", path)


def test_rules_that_are_not_there(absent):
    absent(1, "/nonexistent cannot be read", "servicemanager", "--check", "/nonexistent")
