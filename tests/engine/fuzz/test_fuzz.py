# SPDX-License-Identifier: GPL-2.0
"""Every kept input of the fuzzers, then a bounded search from there."""
import os
import subprocess
import sys

import pytest
from building import BUILD, TOP

# How many inputs the search tries. The clock is no judge in a test.
RUNS = {"range": 3000, "object": 100000, "sg": 100000, "stream": 15000}


@pytest.mark.computing
@pytest.mark.takes(30)
@pytest.mark.parametrize("target", RUNS)
def test_fuzz(program, target, tmp_path):
    """Inputs are unpacked each time: libFuzzer adds what it finds to the first directory. An input
    that made a run fail is left in build/fuzz."""
    kept = tmp_path / "kept"
    os.makedirs(os.path.join(BUILD, "fuzz"), exist_ok=True)
    subprocess.run([sys.executable, "tests/engine/fuzz/inputs.py", "unpack",
                    f"tests/engine/fuzz/corpus/{target}.hex", str(kept)], cwd=TOP, check=True)
    done = subprocess.run(
        ["nice", "-n19", program(f"fuzz-{target}"), str(kept), "-seed=1", f"-runs={RUNS[target]}",
         "-max_len=4096", f"-artifact_prefix={BUILD}/fuzz/{target}-"], check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    assert not done.returncode, done.stdout[-4000:]
