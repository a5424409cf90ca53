# SPDX-License-Identifier: Apache-2.0
"""How a client of a board is tested without a board, and a board without its clients."""
import pathlib

import pytest
from anybinder.errors import DeadObject, ServiceSpecific
from anybinder.kit import DEAD

NAME = "example.IBoard/default"
CLIENT = str(pathlib.Path(__file__).resolve().parents[2] / "build/bin/board-client")


def test_a_board_that_is_full(binder):
    board = binder.fake(NAME, post=1)
    board.answers("post", 1, ServiceSpecific(42, "full"), DEAD, after=0.1)
    client = binder.client(NAME)
    assert client.post("a note") == 1
    with pytest.raises(ServiceSpecific, match="full"):
        client.post("another")
    with pytest.raises(DeadObject):
        client.post("a third")
    board.restart()
    assert board.calls[0].arguments == {"note": "a note"}


def test_a_reader_is_called(binder):
    board = binder.fake(NAME, subscribe=1)
    reader = binder.callback("example.IBoard.IReader")
    binder.client(NAME).subscribe(reader)
    board.call_back("reader", "onNote", "news")
    assert reader.calls[0].arguments == {"note": "news"}


def test_the_real_client(binder):
    board = binder.fake(NAME, post=lambda note: len(note))
    done = binder.run([CLIENT, "post", "12345"])
    assert done.stdout == "5 notes\n"
    assert [call.method for call in board.calls] == ["post"]
