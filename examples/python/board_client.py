#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The client, a command for each method of the service."""
import mmap
import os
import sys

import gbinder
from gi.repository import GLib

import board

USAGE = "usage: board_client.py post NOTE | file PATH | sum MEBIBYTES | readers | watch"


def call(client, code, request):
    """The reply after its exception code, which must be 0."""
    reply, status = client.transact_sync_reply(code, request)
    if status != 0:
        sys.exit(f"the call failed with status {status}")
    reader = reply.init_reader()
    _, exception = reader.read_int32()
    if exception != 0:
        sys.exit(f"the service answered with exception {exception}")
    return reader


def count(client, code, request):
    return call(client, code, request).read_int32()[1]


def pass_file(client, path):
    request = client.new_request()
    with open(path, "rb") as file:
        board.append_file(request, file.fileno())
        return count(client, board.POST_FILE, request)


def pass_buffer(client, mebibytes):
    size = mebibytes << 20
    fd, kind = board.allocate(size)
    pattern = bytes(range(251))
    with mmap.mmap(fd, size) as memory:
        memory[:] = (pattern * (size // len(pattern) + 1))[:size]
    request = client.new_request()
    board.append_file(request, fd)
    got = call(client, board.SUM, request).read_int64()[1]
    wanted = board.add_up(fd)
    os.close(fd)
    if got != wanted:
        sys.exit(f"the service added up {got}, want {wanted}")
    print(f"{mebibytes} MiB in a {kind}: sum {got}")


def watch(manager, client, service):
    """Prints the notes until the service dies."""
    loop = GLib.MainLoop()

    def on_note(request, code, flags):
        print(f"note: {request.init_reader().read_string16()}", flush=True)
        return printer.new_reply(), 0
    printer = manager.new_local_object(board.IREADER, on_note)
    service.add_death_handler(loop.quit)
    request = client.new_request()
    request.append_local_object(printer)
    print(f"watching, {count(client, board.SUBSCRIBE, request)} readers", flush=True)
    board.look_after(manager, lambda: None)
    loop.run()
    print("the service died")


def main(command, *arguments):
    manager = board.open_binder()
    service = board.until_there(lambda: manager.get_service_sync(board.NAME)[0])
    if service is None:
        sys.exit(f"{board.NAME} is not registered: start a service")
    client = gbinder.Client(service, board.IBOARD)
    request = client.new_request()
    if command == "post":
        request.append_string16(arguments[0])
        print(count(client, board.POST, request), "notes")
    elif command == "file":
        print(pass_file(client, arguments[0]), "notes")
    elif command == "sum":
        pass_buffer(client, int(arguments[0]))
    elif command == "readers":
        print(count(client, board.READERS, request), "readers")
    else:
        watch(manager, client, service)


WANTED = {"post": 1, "file": 1, "sum": 1, "readers": 0, "watch": 0}
if len(sys.argv) < 2 or WANTED.get(sys.argv[1]) != len(sys.argv) - 2:
    sys.exit(USAGE)
main(*sys.argv[1:])
