# SPDX-License-Identifier: Apache-2.0
"""fragile.py DEVICE NAME HOW: a service of IFragile that some calls kill, block, or make grow."""
import os
import struct
import sys
import time

from anybinder.driver import Failed
from anybinder.parcel import Parcel
from anybinder.service import Server
from anybinder.servicemanager import NOT_ENOUGH_DATA

INTERFACE = "test.IFragile"
AIDL = """package test;
interface IFragile {
    int fine(int a, String text);
    int sharp(int a, in String[] texts);
    oneway void soon(boolean flag);
}
"""
OK = Parcel().i32(0).i32(7)


def main(device, name, how):
    kept = []

    def sharp(call):
        try:
            number = server.reader(call).i32()
        except struct.error as error:
            raise Failed(NOT_ENOUGH_DATA) from error
        if how == "kill" and number < -1000:
            os._exit(1)
        if how == "block" and number == 2147483647:
            time.sleep(1000)
        if how == "grow":
            kept.append(b"x" * (1 << 20))
        return OK

    server = Server(device, INTERFACE, {1: OK, 2: sharp, 3: b""})
    assert server.add(name) == 0
    server.serve_until_killed()


if __name__ == "__main__":
    main(*sys.argv[1:])
