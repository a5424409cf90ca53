# SPDX-License-Identifier: GPL-2.0
"""A service or a client of libgbinder, at the ApiLevel that /etc/gbinder.conf sets; of HIDL with
$DEVICE /dev/hwbinder, where NAME is INTERFACE/INSTANCE.

  gbinder_client.py serve NAME    adds NAME, prints "added", and answers code 1 with twice an int32
  gbinder_client.py use NAME...   lists and finds each, calls each +NAME; prints "works"
  gbinder_client.py absent NAME...  prints "absent" if none of them is registered
  gbinder_client.py watch NAME    prints "watching", then "registered" each time NAME is registered
"""
import ctypes
import os
import sys

import gbinder
from gi.repository import GLib

INTERFACE = "anybinder.test.IDouble"
DEVICE = os.environ.get("DEVICE", "/dev/binder")
IS_HIDL = "hwbinder" in DEVICE


def fail(why):
    print("FAILED:", why, flush=True)
    sys.exit(1)


def answer(obj):
    def handler(request, code, flags):
        reply = obj[0].new_reply()
        status, value = request.init_reader().read_int32()
        if code != 1 or not status:
            return None, -1
        if IS_HIDL:
            reply.append_int32(0)
        reply.append_int32(2 * value)
        return reply, 0
    return handler


def manager():
    found = gbinder.ServiceManager(DEVICE)
    if not found.wait(10000):
        fail("no service manager answers")
    return found


def serve(name):
    services = manager()
    interface = INTERFACE
    if IS_HIDL:
        interface, name = name.split("/", 1)
    obj = []
    obj.append(services.new_local_object(interface, answer(obj)))
    status = services.add_service_sync(name, obj[0])
    if status != 0:
        fail(f"add_service_sync returns {status}")
    print("added", flush=True)
    GLib.MainLoop().run()


def use(*arguments):
    services = manager()
    listed = services.list_sync()
    for argument in arguments:
        name = argument.removeprefix("+")
        if name not in listed:
            fail(f"{name} is not among {listed}")
        remote, status = services.get_service_sync(name)
        if remote is None or status != 0:
            fail(f"{name}: get_service_sync returns {remote}, {status}")
        if name == argument:
            continue
        client = gbinder.Client(remote, name.split("/")[0] if IS_HIDL else INTERFACE)
        request = client.new_request()
        request.append_int32(21)
        reply, status = client.transact_sync_reply(1, request)
        if status != 0:
            fail(f"{name}: the call returns {status}")
        reader = reply.init_reader()
        if IS_HIDL and reader.read_int32()[1] != 0:
            fail(f"{name}: the reply begins with a failure")
        value = reader.read_int32()[1]
        if value != 42:
            fail(f"{name}: the answer is {value}")
    print("works", flush=True)


def absent(*names):
    services = manager()
    listed = services.list_sync()
    for name in names:
        remote = services.get_service_sync(name)[0]
        if remote is not None or name in listed:
            fail(f"{name} is still registered")
    print("absent", flush=True)


def watch(name):
    """By the library itself: python3-gbinder 1.3.1 cannot add a registration handler."""
    library = ctypes.CDLL("libgbinder.so.1")
    handler_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    handler = handler_type(lambda *_: print("registered", flush=True))
    library.gbinder_servicemanager_new.restype = ctypes.c_void_p
    library.gbinder_servicemanager_new.argtypes = [ctypes.c_char_p]
    add = library.gbinder_servicemanager_add_registration_handler
    add.restype = ctypes.c_ulong
    add.argtypes = [ctypes.c_void_p, ctypes.c_char_p, handler_type, ctypes.c_void_p]
    services = library.gbinder_servicemanager_new(DEVICE.encode())
    # HIDL is asked for an interface, and told each instance.
    name = name.split("/")[0] if IS_HIDL else name
    if not services or not add(services, name.encode(), handler, None):
        fail("no handler was added")
    print("watching", flush=True)
    GLib.MainLoop().run()


ROLES = {"serve": serve, "use": use, "absent": absent, "watch": watch}
ROLES[sys.argv[1]](*sys.argv[2:])
