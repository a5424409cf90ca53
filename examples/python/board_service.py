#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The service: keeps the notes, and calls the readers."""
import errno
import os
import sys
import traceback

import gbinder
from gi.repository import GLib

import board

UNKNOWN_TRANSACTION = -errno.EBADMSG
SERVICE_SPECIFIC = -8

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
    """A reply of AIDL: the exception code 0, then the result. None to a code that is not known."""
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
    else:
        return None
    return reply


def failure(service, error):
    """A reply of AIDL with the exception ServiceSpecific and the code 1."""
    reply = service.new_reply()
    reply.append_int32(SERVICE_SPECIFIC & 0xFFFFFFFF)    # append_int32() takes no negative number
    reply.append_string16(str(error))
    reply.append_int32(0)    # no stack trace
    reply.append_int32(1)
    return reply


def handle(service, request, code):
    """What the library calls: a reply and its status. A client whose call raises an error that is
    not caught here would get an empty reply."""
    try:
        reply = answer(service, request, code)
    except Exception as error:    # pylint: disable=broad-exception-caught
        traceback.print_exc()
        return failure(service, error), 0
    return (reply, 0) if reply else (None, UNKNOWN_TRANSACTION)


def main():
    manager = board.open_binder()
    service = manager.new_local_object(
        board.IBOARD, lambda request, code, flags: handle(service, request, code))

    def add_again():
        if board.register(manager, service):
            print(f"serving {board.NAME} again", flush=True)
    if not board.until_there(lambda: board.register(manager, service)):
        sys.exit(f"{board.NAME} could not be registered")
    print(f"serving {board.NAME}", flush=True)
    board.look_after(manager, add_again)
    GLib.MainLoop().run()


main()
