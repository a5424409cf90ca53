# SPDX-License-Identifier: GPL-2.0
"""The steps of examples/ci/github-workflow.yml that start the daemon, use it and stop it, as the
service does: each in a shell of its own, ended at the first error. The programs are those of
build/bin, the mount is in a temporary directory."""
import os
import pathlib
import re
import subprocess
import tempfile
import textwrap

import pytest
from building import TOP as TREE

TOP = pathlib.Path(TREE)
WORKFLOW = TOP / "examples/ci/github-workflow.yml"
INSTALLED = "/opt/anybinder/bin/x86_64"
STEPS = ("start", "test", "stop")
TIMEOUT_S = 300


def scripts(text):
    """The script of each step by its name."""
    found = {}
    for step in text.split("\n      - name: ")[1:]:
        name, _, rest = step.partition("\n")
        one = re.search(r"^        run: (?!\|)(.+)$", rest, re.M)
        many = re.search(r"^        run: \|\n((?:          .*\n|\n)+)", rest + "\n", re.M)
        if one or many:
            found[name] = textwrap.dedent(many[1]) if many else one[1]
    return found


def run(script, environment):
    with open(environment["GITHUB_PATH"], encoding="utf-8") as file:
        path = ":".join(file.read().split() + [os.environ["PATH"]])
    script = script.replace(INSTALLED, str(TOP / "build/bin"))
    # The service ends what a step leaves; here the output would be waited for.
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
                              env={**environment, "PATH": path}, stdin=subprocess.DEVNULL,
                              stdout=output, stderr=output, check=False, timeout=TIMEOUT_S)
        output.seek(0)
        return done.returncode, output.read()


@pytest.mark.long
def test_workflow(program, root, scratch, case):    # pylint: disable=unused-argument
    program("anybinder")
    found = scripts(WORKFLOW.read_text(encoding="utf-8"))
    environment = {**os.environ, "GITHUB_PATH": f"{scratch}/path",
                   "ANYBINDER_MOUNT": f"{scratch}/mount",
                   "ANYBINDER_STATE_DIR": f"{scratch}/state"}
    pathlib.Path(environment["GITHUB_PATH"]).touch()
    for name in STEPS:
        status, text = run(found[name], environment)
        case(name, not status, text)
