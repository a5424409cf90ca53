# SPDX-License-Identifier: Apache-2.0
"""What a test needs of Binder on any Linux: a private bus, services that answer as told, calls.

The modules, lowest first; each is named after its noun:

  process         programs, child processes, mount namespaces, waiting for a condition
  driver          one open of a device by raw ioctls, and the one encoder of commands
  parcel          what libbinder of each Android release writes into a parcel, and reads from one
  servicemanager  a raw client of the service manager, at each of its levels
  hidl            the same for HIDL
  service         a process that registers objects and answers the calls to them as told
  daemon          anybinderd in the background, at a private mount
  call            the `anybinder` command with the mount of a test
  bus             `anybinder up`: a driver, its service managers, a state directory
  errors          what calls fail with, by the names of AIDL
  kit             fake services, clients, callbacks, faults and traces on a bus
  pytest_plugin   the fixture `binder`

Only the standard library is used. Times are in seconds where nothing else is said.
"""
