# SPDX-License-Identifier: GPL-2.0
"""The interface that most of these tests fake."""
import pathlib

AIDL = str(pathlib.Path(__file__).resolve().parents[2] / "drivers/clients/aidl")
PEER = "anybinder.test.IPeer/default"
