"""Whatever bytes a client sends, the messages among them are read, and what is none is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_ls.framing import MAX_MESSAGE, BadMessage, MessageReader

HOVER = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "textDocument/hover",
    "params": {"text": "é\r\nContent-Length: 5\r\n\r\n"},
}


def framed(value: Any, *, length: int | None = None) -> bytes:
    body = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body) if length is None else length, body)


def read(data: bytes, sizes: list[int] | None = None) -> list[Any]:
    """What a reader makes of bytes that arrive in pieces of these sizes, and then of one byte each."""
    reader, found, start = MessageReader(), [], 0
    for size in [*(sizes or [len(data)]), *[1] * len(data)]:
        found += reader.feed(data[start : start + size])
        start += size
    return found


def good(found: list[Any]) -> list[Any]:
    return [item for item in found if not isinstance(item, BadMessage)]


def test_messages_are_read_in_order() -> None:
    assert read(framed({"id": 1}) + framed(HOVER) + framed([1])) == [{"id": 1}, HOVER, [1]]


def test_other_headers_are_skipped() -> None:
    body = json.dumps(HOVER).encode()
    kind = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
    head = b"content-length:%d\r\n" % len(body)
    assert read(kind + head + b"\r\n" + body + head + kind + b"\r\n" + body) == [HOVER, HOVER]


@pytest.mark.parametrize(
    "bad",
    [
        b"hello\r\n\r\n",
        b'{"jsonrpc": "2.0"}',
        b"Content-Length: many\r\n\r\n{}",
        b"Content-Length: -5\r\n\r\n{}",
        b"Content-Length: 99999999999999999999999999\r\n\r\n{}",
        framed(HOVER, length=MAX_MESSAGE + 1),
        framed(HOVER, length=3),
        framed(HOVER, length=500),
        framed(HOVER, length=len(json.dumps(HOVER, ensure_ascii=False).encode()) + 4),
        framed(HOVER, length=0),
        framed(b"{"),
        framed(b"\xff\xfe{}"),
        framed(b"[" * 100_000),
        framed(b"1" * 10_000),
        b"x" * 100_000,
        b"\x00" * 100,
        b"Content-Length: 20\r\n",
        b"Content-Length: 20",
        b"Content-Le",
    ],
)
@pytest.mark.parametrize("sizes", [None, [1]])
def test_what_is_no_message_costs_no_other(bad: bytes, sizes: list[int] | None) -> None:
    found = read(bad + framed(HOVER) + framed({"id": 8}), sizes)
    assert good(found)[-2:] == [HOVER, {"id": 8}]
    assert len(good(found)) == 2


def test_a_bad_message_says_what_was_wrong() -> None:
    (bad,) = read(framed(b"\xff"))
    assert "not JSON" in str(bad)
    (bad,) = [item for item in read(b"hello\r\n" + framed({})) if isinstance(item, BadMessage)]
    assert "expected a header" in str(bad)


def test_a_length_that_nothing_follows_is_no_hang_for_what_comes_later() -> None:
    reader = MessageReader()
    assert reader.feed(framed(HOVER, length=1_000_000)) == []
    found = reader.feed(framed({"id": 8}))
    assert good(found) == [{"id": 8}]


def test_what_is_kept_of_an_endless_line_is_bounded() -> None:
    reader = MessageReader()
    for _ in range(1000):
        reader.feed(b"x" * 65536)
    assert len(reader._pending) < 100_000


_PIECE = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([b"Content-Length: ", b"Content-Length: 12\r\n", b"\r\n", b"\r\n\r\n", b"{", b"\r", b"C", b"12"]),
    st.builds(lambda n: framed({"id": -1}, length=n), st.integers(0, 80)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECE, max_size=6), st.lists(st.integers(1, 40), max_size=30))
def test_messages_after_any_bytes_are_read(pieces: list[bytes], sizes: list[int]) -> None:
    """In pieces of any size."""
    found = read(b"".join(pieces) + framed(HOVER) + framed({"id": 8}), sizes)
    assert good(found)[-2:] == [HOVER, {"id": 8}]
