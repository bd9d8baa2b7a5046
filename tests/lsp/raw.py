"""A client that says what it likes: bytes to a real server, and whatever comes back."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernel_ls.framing import BadMessage, MessageReader

ROOT = Path(__file__).resolve().parents[2]
SECONDS = float(os.environ.get("KERNEL_LS_TEST_SECONDS", "60"))


class RawClient:
    """One server and the bytes between it and a client. `start` first; `kill` leaves nothing behind."""

    def __init__(self, root: Path, cache: Path, python: str = sys.executable) -> None:
        self.root = root
        self.cache = cache
        self.python = python
        self.messages: list[dict[str, Any]] = []
        """Everything that the server said."""
        self.answers: dict[Any, dict[str, Any]] = {}
        """The last answer by its request's id."""
        self.diagnostics: dict[str, dict[str, Any]] = {}
        """What was published last, by URI."""
        self.states: list[str] = []
        self.heard: Callable[[dict[str, Any]], None] | None = None
        self._said = asyncio.Event()
        self._ids = 0
        self._errors = bytearray()

    async def start(self, *arguments: str, variables: dict[str, str] | None = None) -> None:
        """Start a server that has not been initialized yet."""
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kernel_ls", "server", "--cache-dir", str(self.cache), *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT)), **(variables or {})},
        )
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._drain())]

    async def initialize(self, **capabilities: Any) -> dict[str, Any]:
        """Shake hands; the answer."""
        answer = await self.ask(
            "initialize",
            {
                "processId": None,
                "capabilities": {"textDocument": {"publishDiagnostics": {"versionSupport": True}}, **capabilities},
                "initializationOptions": {"python": self.python},
                "workspaceFolders": [{"uri": self.root.as_uri(), "name": self.root.name}],
                "rootUri": None,
            },
        )
        self.tell("initialized", {})
        return answer

    # --------------------------------------------------------------------------------------------- talking

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send_json(self, value: Any) -> None:
        """Send a value as a message."""
        body = json.dumps(value).encode()
        self.send(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.send_json({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Any, seconds: float = SECONDS) -> dict[str, Any]:
        """Send a request and wait for its answer: the whole message."""
        self._ids += 1
        request = f"ask-{self._ids}"
        self.send_json({"jsonrpc": "2.0", "id": request, "method": method, "params": params})
        await self.until(lambda: request in self.answers, f"an answer to {method}", seconds)
        return self.answers.pop(request)

    async def until(self, holds: Callable[[], bool], what: str = "", seconds: float = SECONDS) -> None:
        """Wait for something that the server will say.

        Raises:
            AssertionError: it has ended, or not said it in time.
        """

        async def wait() -> None:
            while not holds():
                self._said.clear()
                assert self.process.returncode is None, f"the server ended: {self.errors[-2000:]}"
                assert not self._tasks[0].done(), f"the client broke: {self._tasks[0].exception()!r}"
                await self._said.wait()

        try:
            await asyncio.wait_for(wait(), seconds)
        except asyncio.TimeoutError:
            raise AssertionError(f"waited in vain for {what}; the server said: {self.errors[-2000:]}") from None

    @property
    def errors(self) -> str:
        """The end of what the server wrote to its standard error."""
        return self._errors.decode("utf-8", "replace")

    async def kill(self) -> None:
        """End the server and every task."""
        if self.process.returncode is None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            try:
                await asyncio.wait_for(self.process.wait(), 20)
            except asyncio.TimeoutError:
                self.process.kill()
        await self.process.wait()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self) -> None:
        assert self.process.stdout is not None
        reader = MessageReader()
        try:
            while data := await self.process.stdout.read(1 << 16):
                for message in reader.feed(data):
                    assert not isinstance(message, BadMessage), message
                    self._hear(message)
        finally:
            self._said.set()

    def _hear(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        method = message.get("method")
        if method is None:
            self.answers[message.get("id")] = message
        elif method == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]
        elif method == "kernelLs/status":
            self.states.append(message["params"]["state"])
        if method is not None and "id" in message:
            self.send_json({"jsonrpc": "2.0", "id": message["id"], "result": None})
        if self.heard is not None:
            self.heard(message)
        self._said.set()

    async def _drain(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(1 << 16):
            self._errors += data
            del self._errors[:-100_000]
        self._said.set()

    # ------------------------------------------------------------------------------------------- documents

    def uri(self, name: str) -> str:
        """A file of the workspace."""
        return (self.root / name).as_uri()

    def open(self, name: str, text: str, version: int = 1) -> None:
        """Open a document."""
        item = {"uri": self.uri(name), "languageId": "python", "version": version, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})

    def replace(self, name: str, text: str, version: int) -> None:
        """Replace a document's whole text."""
        document = {"uri": self.uri(name), "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    async def sees(self, name: str, expected: list[tuple[str, int]], version: int | None = None) -> None:
        """Wait until a document shows exactly these errors and warnings: (code, 1-based row)."""
        await self.until(
            lambda: (
                self.shown(name) == expected
                and (version is None or self.diagnostics[self.uri(name)].get("version") == version)
            ),
            f"{name}: {expected}, not {self.shown(name)}",
        )

    def shown(self, name: str) -> list[tuple[str, int]] | None:
        """The errors and warnings of a document as they were published last; None before the first time."""
        published = self.diagnostics.get(self.uri(name))
        if published is None:
            return None
        found = [(d["code"], d["range"]["start"]["line"] + 1) for d in published["diagnostics"] if d["severity"] <= 2]
        return sorted(found, key=lambda pair: (pair[1], pair[0]))
