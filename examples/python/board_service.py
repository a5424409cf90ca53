#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The service: keeps the notes, and calls the readers."""
import os
import sys

import gbinder
from gi.repository import GLib

import board

notes = []
# The readers that are called for each note.
readers = []


def post(note):
    notes.append(note)
    for reader in readers:
        client = gbinder.Client(reader, board.IREADER)
        request = client.new_request()
        request.append_string16(note)
        # One-way: this does not wait. It fails if the reader just died.
        client.transact_sync_oneway(board.ON_NOTE, request)
    return len(notes)


def post_file(fd):
    with os.fdopen(fd) as lines:
        for line in lines:
            post(line.rstrip("\n"))
    return len(notes)


def subscribe(reader):
    def died():
        readers.remove(reader)
        print(f"a reader died, {len(readers)} left", flush=True)
    reader.add_death_handler(died)
    readers.append(reader)
    print(f"{len(readers)} readers", flush=True)
    return len(readers)


def add_up(fd):
    try:
        return board.add_up(fd)
    finally:
        os.close(fd)


def answer(service, request, code):
    """A reply of AIDL: the exception code 0, then the result."""
    reply = service.new_reply()
    reply.append_int32(0)
    reader = request.init_reader()
    if code == board.POST:
        reply.append_int32(post(reader.read_string16()))
    elif code == board.POST_FILE:
        reply.append_int32(post_file(board.read_file(reader)))
    elif code == board.SUBSCRIBE:
        reply.append_int32(subscribe(reader.read_object()))
    elif code == board.READERS:
        reply.append_int32(len(readers))
    elif code == board.SUM:
        reply.append_int64(add_up(board.read_file(reader)))
    return reply


def main():
    manager = board.open_binder()
    service = manager.new_local_object(
        board.IBOARD, lambda request, code, flags: (answer(service, request, code), 0))

    def add():
        return manager.add_service_sync(board.NAME, service) == 0 or None

    def add_again():
        if add():
            print(f"serving {board.NAME} again", flush=True)
    if not board.until_there(add):
        sys.exit(f"{board.NAME} could not be registered")
    print(f"serving {board.NAME}", flush=True)
    board.look_after(manager, add_again)
    GLib.MainLoop().run()


main()
