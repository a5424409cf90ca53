# SPDX-License-Identifier: Apache-2.0
"""`python3 -m anybinder ...`: the command of the same name."""
import os
import sys

from .process import program

if __name__ == "__main__":
    os.execvp(program("anybinder"), ["anybinder", *sys.argv[1:]])
