# SPDX-License-Identifier: GPL-2.0
"""What every test of this tree may use: the fixtures and hooks of tests/lib (docs/TESTING.md)."""
pytest_plugins = ("anybinder.pytest_plugin", "building", "cases", "guests", "places", "schedule")
