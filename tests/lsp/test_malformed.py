"""Nothing that a client sends ends the server, and every request has an answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from lsp.conftest import BROKEN
from lsp.raw import RawClient

BOTH = [("constexpr-global", 11), ("undefined-name", 17)]


@pytest_asyncio.fixture
async def client(folder: Path, tmp_path: Path) -> AsyncIterator[RawClient]:
    made = RawClient(folder, tmp_path / "cache")
    await made.start()
    yield made
    await made.kill()


def request(method: Any, params: Any, identity: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


async def test_before_the_handshake_requests_are_refused_and_notifications_dropped(client: RawClient) -> None:
    client.open("broken.py", BROKEN)
    answer = await client.ask("textDocument/hover", {"textDocument": {"uri": "file:///x"}, "position": {}})
    assert answer["error"]["code"] == -32002
    assert "result" in await client.initialize()
    client.open("broken.py", BROKEN)
    await client.sees("broken.py", BOTH)
    again = await client.ask("initialize", {"processId": None, "capabilities": {}, "rootUri": None})
    assert again["error"]["code"] == -32600


async def test_a_handshake_that_cannot_be_read_may_be_repeated(client: RawClient) -> None:
    assert (await client.ask("initialize", {"rootUri": None}))["error"]["code"] == -32602
    assert "result" in await client.initialize()


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (request("textDocument/hover", None), -32602),
        (request("textDocument/hover", {"textDocument": 3, "position": {"line": 0, "character": 0}}), -32602),
        (request("textDocument/hover", {"textDocument": {"uri": "x"}, "position": {"line": -1, "character": 0}}), -32602),
        (request("textDocument/hover", {"textDocument": {"uri": "x"}, "position": {"line": 1 << 80, "character": 0}}), -32602),
        (request("textDocument/diagnostic", {}), -32602),
        (request("no/such/method", {}), -32601),
        (request(["textDocument/hover"], {}), -32600),
        ({"id": 1, "method": "textDocument/hover"}, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "textDocument/hover"}, -32600),
        (request("workspace/executeCommand", {"command": "rm"}), -32602),
        (request("workspace/executeCommand", {"command": "kernelLs.selectSpecialization", "arguments": [[], 1, 2, 3]}), None),
        (request("kernelLs/ir", {"textDocument": {}, "stage": 7}), None),
        (request("codeLens/resolve", {"range": {}}), -32602),
        (request("callHierarchy/incomingCalls", {"item": {"name": "k"}}), -32602),
        (request("textDocument/hover", {"textDocument": {"uri": "file:///%00"}, "position": {"line": 0, "character": 0}}), 0),
        (request("textDocument/definition", {"textDocument": {"uri": ""}, "position": {"line": 9, "character": 9}}), 0),
        (request("textDocument/documentSymbol", {"textDocument": {"uri": "http://[::1"}}), None),
    ],
    ids=lambda value: json.dumps(value)[24:90] if isinstance(value, dict) else None,
)  # fmt: skip
async def test_every_request_has_an_answer(client: RawClient, message: dict[str, Any], code: int | None) -> None:
    """`code` 0: it is answered with a result; None: with either."""
    await client.initialize()
    client.send_json(message)
    await client.until(lambda: 1 in client.answers, "an answer")
    answer = client.answers[1]
    if code == 0:
        assert "result" in answer
    elif code is not None:
        assert answer["error"]["code"] == code


async def test_what_has_an_id_that_is_none_is_refused(client: RawClient) -> None:
    await client.initialize()
    for identity in ([1], {}, None, True, 1.5):
        client.send_json(request("textDocument/codeLens", {"textDocument": {"uri": "file:///x"}}, identity))
        client.send_json({"jsonrpc": "2.0", "id": identity, "result": None})
    assert (await client.ask("textDocument/codeLens", {"textDocument": {"uri": "file:///x"}}))["result"] == []
    assert client.answers == {}


async def test_bytes_that_are_no_message_are_answered_and_skipped(client: RawClient) -> None:
    await client.initialize()
    client.open("broken.py", BROKEN)
    hover = json.dumps(request("textDocument/hover", {})).encode()
    for bad in (
        b"hello\r\n\r\n",
        hover,
        b"Content-Length: 5\r\n\r\n" + hover,
        b"Content-Length: 5000\r\n\r\n" + hover,
        b"Content-Length: 999999999999999\r\n\r\n" + hover,
        b"Content-Length: x\r\n\r\n" + hover,
        b"Content-Length: 4\r\n\r\n\xff\xfe\xff\xfe",
        b"Content-Length: 5\r\n\r\n[1,2]",
        b"Content-Length: 4\r\n\r\nnull",
        b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000,
    ):
        client.send(bad)
    await client.sees("broken.py", BOTH)
    assert "result" in await client.ask("shutdown", None)
    assert client.answers[None]["error"]["code"] == -32700


@pytest.mark.parametrize(
    "params",
    [
        {},
        None,
        {"id": [1]},
        {"textDocument": {"uri": "file:///x"}, "contentChanges": 3},
        {"textDocument": {"uri": None, "version": "x"}, "contentChanges": []},
        {"settings": [1, {"kernelLs": 7}]},
        {"changes": [{"uri": "file:///\x00", "type": 1}]},
        {"event": {"added": [{"uri": "::", "name": ""}], "removed": [{"uri": "file:///nowhere", "name": "x"}]}},
        {"files": [{"oldUri": "a", "newUri": "file:///\x00"}]},
        {"token": {}, "value": []},
    ],
)
async def test_no_notification_ends_the_server(client: RawClient, params: Any) -> None:
    await client.initialize()
    for method in (
        *("$/cancelRequest", "$/setTrace", "$/progress", "no/such/notification", "initialized"),
        *(f"textDocument/did{what}" for what in ("Open", "Change", "Save", "Close")),
        *(f"workspace/did{what}" for what in ("ChangeConfiguration", "ChangeWatchedFiles", "ChangeWorkspaceFolders")),
        *(f"workspace/did{what}Files" for what in ("Rename", "Create", "Delete")),
        *("notebookDocument/didOpen", "window/workDoneProgress/cancel"),
    ):
        client.tell(method, params)
    client.open("broken.py", BROKEN)
    await client.sees("broken.py", BOTH)


@pytest.mark.parametrize(
    "uri",
    ["", "file:", "file:///", "::", "untitled:Untitled-1", "file:///%00/x.py", "http://h/x.py", "\ud800", "file://h/x.py", "x" * 5000],
)  # fmt: skip
async def test_a_document_of_any_name_is_only_a_document(client: RawClient, uri: str) -> None:
    await client.initialize()
    item = {"uri": uri, "languageId": "python", "version": 1, "text": BROKEN}
    client.tell("textDocument/didOpen", {"textDocument": item})
    for method in ("documentSymbol", "codeLens", "diagnostic"):
        await client.ask(f"textDocument/{method}", {"textDocument": {"uri": uri}})
    client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
    client.open("broken.py", BROKEN)
    await client.sees("broken.py", BOTH)
    client.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    client.replace("broken.py", BROKEN.replace("SCALE = 0.5", "SCALE = tl.constexpr(0.5)"), 2)
    await client.sees("broken.py", BOTH[1:])


async def test_places_outside_of_the_text_are_its_ends(client: RawClient) -> None:
    await client.initialize()
    client.open("broken.py", BROKEN)
    await client.sees("broken.py", BOTH)
    far = {"line": 900_000, "character": 900_000}
    for number, (start, end, text) in enumerate(
        [
            (far, far, "# end"),
            ({"line": 3, "character": 900_000}, {"line": 3, "character": 900_000}, "  # behind the line"),
            ({"line": 8, "character": 9}, {"line": 2, "character": 0}, ""),
        ]
    ):
        change = {"range": {"start": start, "end": end}, "text": text}
        document = {"uri": client.uri("broken.py"), "version": 2 + number}
        client.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
    for method in ("hover", "completion", "signatureHelp", "definition"):
        await client.ask(f"textDocument/{method}", {"textDocument": {"uri": client.uri("broken.py")}, "position": far})
    await client.ask(
        "textDocument/inlayHint",
        {"textDocument": {"uri": client.uri("broken.py")}, "range": {"start": far, "end": {"line": 0, "character": 0}}},
    )
    await client.sees("broken.py", BOTH)
