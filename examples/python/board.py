# SPDX-License-Identifier: Apache-2.0
"""What the service and the client share: the codes of IBoard.aidl, and buffers in shared memory."""
import fcntl
import mmap
import os
import struct
import sys
import time

import gbinder
from gi.repository import GLib

NAME = "example.IBoard/default"
IBOARD = "example.IBoard"
IREADER = "example.IBoard.IReader"
POST, POST_FILE, SUBSCRIBE, READERS, SUM = range(1, 6)
ON_NOTE = 1
DEVICE = "/dev/binder"
# Set in a program that begins anew: it waits for what is not there yet.
ANEW = "BOARD_ANEW"
ATTEMPTS = 300

DMA_HEAP_IOCTL_ALLOC = 0xC0184800


def until_there(attempt):
    """Tries once; for minutes in a program that begins anew."""
    for _ in range(ATTEMPTS if ANEW in os.environ else 0):
        if (outcome := attempt()) is not None:
            return outcome
        time.sleep(1)
    return attempt()


def open_device():
    """True if the device can be opened."""
    try:
        os.close(os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return None
    return True


def open_binder():
    """The service manager of the device. Ends this program if there is none."""
    if not until_there(open_device):
        sys.exit(f"{DEVICE} cannot be opened: start this with `anybinder run -- COMMAND`")
    manager = gbinder.ServiceManager(DEVICE)
    if not until_there(lambda: manager.wait(5000) or None):
        sys.exit(f"no service manager answers on {DEVICE}: see /etc/gbinder.conf in "
                 "docs/TUTORIAL.md")
    return manager


def register(manager, service):
    """True if the service has its name now, else None.

    add_service_sync() returns 0 also where the service manager refuses, so the name is looked up. A
    name that was taken may still be another's: the object of this program is found as none.
    """
    was_taken = NAME in manager.list_sync()
    manager.add_service_sync(NAME, service)
    has_name = NAME in manager.list_sync()
    is_others = was_taken and manager.get_service_sync(NAME)[0] is not None
    return (has_name and not is_others) or None


def look_after(manager, missing):
    """Asks the service manager for its list every second, in the main loop.

    missing is called if the service is not registered. The program begins anew when nothing can be
    asked any more: libgbinder does not tell that the driver is gone.
    """
    def look():
        # A service manager that answers has itself in the list.
        names = manager.list_sync()
        if not names:
            begin_anew()
        if NAME not in names:
            missing()
        return True
    GLib.timeout_add_seconds(1, look)


def begin_anew():
    """Executes this program again: the open device fails for ever."""
    print("the driver is gone: beginning anew", flush=True)
    os.environ[ANEW] = "1"
    os.execv(sys.executable, [sys.executable] + sys.argv)


def append_file(message, fd):
    """Appends a ParcelFileDescriptor: not null, no second channel, the descriptor."""
    writer = message.init_writer()
    writer.append_int32(1)
    writer.append_int32(0)
    writer.append_fd(fd)


def read_file(reader):
    """Reads a ParcelFileDescriptor; the caller closes the descriptor."""
    reader.read_int32()
    reader.read_int32()
    return reader.read_dup_fd()


def allocate(size):
    """A buffer of the DMA-BUF heap `system` where there is one, else a memfd; and which it is."""
    try:
        heap = os.open("/dev/dma_heap/system", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        fd = os.memfd_create("board", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        # The receiver insists on this: reading a mapping of a file that shrinks is a SIGBUS.
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        return fd, "memfd"
    # struct dma_heap_allocation_data: len, fd, fd_flags, heap_flags
    allocation = bytearray(struct.pack("QIIQ", size, 0, os.O_RDWR | os.O_CLOEXEC, 0))
    fcntl.ioctl(heap, DMA_HEAP_IOCTL_ALLOC, allocation)
    os.close(heap)
    return struct.unpack("QIIQ", allocation)[1], "DMA-BUF"


def add_up(fd):
    """The sum of the bytes of a received buffer, which must not be able to shrink."""
    try:
        seals = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    except OSError:
        # A DMA-BUF has no seals, and cannot shrink.
        seals = fcntl.F_SEAL_SHRINK
    if not seals & fcntl.F_SEAL_SHRINK:
        raise PermissionError("the buffer can shrink")
    size = os.lseek(fd, 0, os.SEEK_END)
    with mmap.mmap(fd, size, prot=mmap.PROT_READ) as memory:
        return sum(sum(memory[start:start + 65536]) for start in range(0, size, 65536))
