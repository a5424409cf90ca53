# SPDX-License-Identifier: GPL-2.0
"""The tests of the service manager for AIDL and for HIDL on the kernel's driver, where this runs.

  kernel_test.py ANYBINDER    TEST=NAME runs one test
"""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    total = [0, 0, 0]
    for name in ("live_test.py", "hidl_test.py"):
        lines = []
        with subprocess.Popen([sys.executable, HERE / name, sys.argv[1]], text=True,
                              stdout=subprocess.PIPE, env={**os.environ, "KERNEL": "1"}) as job:
            for line in job.stdout:
                print(line, end="", flush=True)
                lines.append(line)
        counts = re.findall(r"(\d+) (?:passed|failed|skipped)", lines[-1] if lines else "")
        if len(counts) != 3:
            counts = [0, 1, 0]
        total = [sum(pair) for pair in zip(total, map(int, counts))]
    print("servicemanager on the kernel: {} passed, {} failed, {} skipped".format(*total))
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
