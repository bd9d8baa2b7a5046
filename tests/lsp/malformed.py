"""Messages and frames that no honest peer sends, at random: broken JSON, wrong lengths, wrong types, wrong places."""

from __future__ import annotations

import json
import random
from typing import Any

METHODS = (
    *(f"textDocument/{name}" for name in ("hover", "inlayHint", "codeLens", "completion", "signatureHelp", "definition")),
    *(f"textDocument/{name}" for name in ("references", "prepareCallHierarchy", "codeAction", "documentSymbol")),
    *(f"textDocument/{name}" for name in ("diagnostic", "didOpen", "didChange", "didSave", "didClose")),
    *(f"workspace/{name}" for name in ("didChangeConfiguration", "didChangeWatchedFiles", "didRenameFiles")),
    *(f"workspace/{name}" for name in ("didCreateFiles", "didDeleteFiles", "executeCommand", "didChangeWorkspaceFolders")),
    *("inlayHint/resolve", "codeLens/resolve", "callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"),
    *("kernelLs/ir", "kernelLs/specializations", "$/cancelRequest", "$/setTrace", "$/progress", "initialize", "initialized"),
    *("no/such/method", "window/workDoneProgress/cancel", "notebookDocument/didOpen", "", "\x00"),
)  # fmt: skip

_ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1 << 31, 1 << 80, 1.5, "", "\x00", "\ud800", "x" * 3000, [], {}, [[]], {"uri": 3}, [None] * 3),
    *("file:///nowhere.py", "file:///%00", "http://[", "untitled:x"),
)


def odd(rng: random.Random) -> Any:
    """A JSON value that hardly fits anywhere."""
    return rng.choice(_ODD)


def parameters(rng: random.Random, uri: str) -> dict[str, Any]:
    """Parameters of all kinds of requests at once, some of them wrong."""
    position = {
        "line": rng.choice((0, 5, 1 << 30, -1, 10**20, "x")),
        "character": rng.choice((0, 3, 1 << 30, -7, None)),
    }
    whole = {
        "textDocument": {"uri": rng.choice((uri, "file:///nowhere.py", odd(rng))), "version": odd(rng)},
        "position": rng.choice((position, odd(rng))),
        "range": rng.choice(({"start": position, "end": position}, odd(rng))),
        "context": rng.choice(({"diagnostics": [], "includeDeclaration": True}, odd(rng))),
        "contentChanges": [{"range": {"start": position, "end": odd(rng)}, "text": odd(rng)}],
        "item": odd(rng),
        "data": odd(rng),
        "settings": rng.choice(({"kernelLs": None}, {"other": {}}, 3)),
        "changes": [{"uri": odd(rng), "type": rng.choice((1, 2, 9, "x"))}],
        "files": [{"oldUri": odd(rng), "newUri": odd(rng), "uri": odd(rng)}],
        "command": rng.choice(("kernelLs.showIr", "kernelLs.selectSpecialization", "kernelLs.nothing", odd(rng))),
        "arguments": rng.choice(([], [odd(rng)], [odd(rng), odd(rng), odd(rng)], odd(rng))),
        "event": {"added": odd(rng), "removed": []},
        "kernel": odd(rng),
        "stage": rng.choice(("ttir", "ptx", 3)),
        "id": odd(rng),
        "token": odd(rng),
    }
    return {name: value for name, value in whole.items() if rng.random() < 0.7}


def message(rng: random.Random, uri: str, identity: int) -> bytes:
    """Bytes for the server. Nothing of it is a valid edit of the document `uri`, whose text stays what it was."""
    method = rng.choice(METHODS)
    value: Any = {"jsonrpc": "2.0", "method": method, "params": parameters(rng, uri)}
    if method == "textDocument/didChange":
        value["params"]["contentChanges"] = odd(rng)
    if method.startswith("textDocument/did") and isinstance(value["params"].get("textDocument"), dict):
        value["params"]["textDocument"]["uri"] = "file:///nowhere.py"
    if method == "workspace/didChangeWorkspaceFolders":
        value["params"]["event"] = odd(rng)
    if rng.random() < 0.6:
        value["id"] = rng.choice((identity, str(identity), 10**30, -1, None, [1], "x" * 2000))
    if rng.random() < 0.2:
        value[rng.choice(("jsonrpc", "method", "params", "id", "result", "error"))] = odd(rng)
    if rng.random() < 0.1:
        value = odd(rng) if rng.random() < 0.5 else [value]
    body = json.dumps(value).encode()
    way = rng.randrange(12)
    if way == 0:
        body = body[: rng.randrange(len(body))]
    elif way == 1:
        place = rng.randrange(len(body))
        body = body[:place] + bytes(rng.randrange(256) for _ in range(4)) + body[place + 4 :]
    elif way == 2:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(200)))
    elif way == 3:
        return body
    length = len(body)
    if rng.random() < 0.15:
        length = rng.choice((0, 1, length - 1, length + 1, length + 300, 10**15, 10**40))
    return b"%s: %d\r\n\r\n%s" % (
        rng.choice((b"Content-Length",) * 8 + (b"content-length", b"Content-Size")),
        length,
        body,
    )


def frame(rng: random.Random, job: dict[str, Any]) -> bytes:
    """Bytes for a worker; the last of them end with a newline, so that a reader finds the next header."""
    way = rng.randrange(8)
    if way == 0:
        return bytes(rng.choice(b"0123456789abc \xff\x00{}") for _ in range(rng.randrange(40))) + b"x\n"
    if way == 1:
        return rng.choice((b"-1\n", b"\n", b"9" * 400 + b"\n", b"99999999999\n", b"x" * 9000 + b"\n"))
    value: Any = {"id": rng.choice((1, 2, 10**30, -1, None, "x", [1])), "method": "check", "params": mutated(rng, job)}
    if way == 2:
        value["method"] = rng.choice(("ping", "hello", "api", "no", 3, None, "check"))
        value["params"] = odd(rng)
    if way == 3:
        value = odd(rng)
    body = json.dumps(value).encode()
    if way == 4:
        body = body[: rng.randrange(len(body))]
    return b"%d\n%s" % (len(body), body)


def mutated(rng: random.Random, value: Any, share: float = 0.04) -> Any:
    """A JSON value of which some parts are other than they should be."""
    if rng.random() < share:
        return odd(rng)
    if isinstance(value, dict):
        return {k: mutated(rng, v, share) for k, v in value.items() if rng.random() > share / 4}
    if isinstance(value, list):
        return [mutated(rng, v, share) for v in value]
    return value
