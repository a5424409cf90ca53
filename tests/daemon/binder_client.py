# SPDX-License-Identifier: GPL-2.0
"""The raw client of the kit (python/anybinder/driver.py), for the tests of the daemon."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
# pylint: disable=wrong-import-position,wildcard-import,unused-wildcard-import
from anybinder.driver import *  # noqa: E402,F403
