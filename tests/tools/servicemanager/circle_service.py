# SPDX-License-Identifier: GPL-2.0
"""A service with one thread that calls another service while it is called.

  circle_service.py DEVICE NAME OTHER FLAG

Code 1 waits until the file FLAG is there, then calls code 2 of OTHER and awaits its reply.
"""
import os
import sys
import time

sys.dont_write_bytecode = True
from shell_service import CODES, INTERFACE, LEVEL, PING, Parcel, Reply, Service, raw


class Circle(Service):
    """One of two that wait for each other."""
    other = flag = None

    def await_reply(self, handle, code, parcel):
        codes = self.send(raw.BC_TRANSACTION, handle, code, 0, parcel)
        while True:
            for one, argument in codes:
                if one == raw.BR_REPLY:
                    return self.data_of(argument)
            codes = self.exchange(b"")

    def handle(self, argument):
        code = raw.TRANSACTION.unpack(argument)[2]
        reply = Parcel(LEVEL, None)
        if code == INTERFACE:
            reply.string("anybinder.test.ICircle")
        elif code == 1:
            while not os.path.exists(self.flag):
                time.sleep(0.01)
            found = Reply(LEVEL, self.await_reply(0, CODES[LEVEL]["get"],
                                                  Parcel(LEVEL).string(self.other)))
            assert found.int() == 0, "an exception"
            # The buffer of the reply is kept, and with it the handle.
            self.await_reply(found.handle(), 2, Parcel(LEVEL, None))
        elif code not in (2, PING):
            raise ValueError(code)
        self.send(raw.BC_REPLY, 0, 0, 0, reply)
        self.write_read(raw.free_buffer(argument), 0)


def main():
    device, name, Circle.other, Circle.flag = sys.argv[1:]
    service = Circle(device)
    service.register(name)
    service.serve()


if __name__ == "__main__":
    main()
