"""A client's connection: its bytes in, messages to the server's handlers, and an answer for every request.

pygls dispatches messages; reading them is done here, since its own reader loses every later message once one header is
wrong, and leaves requests that it cannot read without an answer, so that a client waits for good.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.io_ import StdoutWriter

from kernel_ls.errors import UsageError
from kernel_ls.framing import BadMessage, MessageReader
from kernel_ls.memory import Collector
from kernel_ls.server import KernelServer, create_server

log = logging.getLogger("kernel_ls")

_SWITCH_SECONDS = 0.001
_CHUNK = 1 << 16

Read = Callable[[], Awaitable[bytes]]
"""The next bytes of a client; none at the end."""


def serve_stdio(command_line: Mapping[str, Any]) -> int:
    """Serve one client on standard input and output; the exit status."""
    _log_to_stderr(command_line)
    # The protocol owns the real standard output; a stray print, of whichever library, goes to the log.
    protocol_out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    server = create_server(command_line)
    server.protocol.set_writer(StdoutWriter(protocol_out))

    async def read() -> bytes:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(server.thread_pool, os.read, sys.stdin.fileno(), _CHUNK)

    try:
        asyncio.run(_serve(server, read))
    except (BrokenPipeError, ConnectionError, KeyboardInterrupt):
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def serve_tcp(host: str, port: int, command_line: Mapping[str, Any]) -> int:
    """Serve one client on a socket, with the address said on standard error; the exit status.

    Raises:
        UsageError: the address cannot be listened on.
    """
    _log_to_stderr(command_line)
    try:
        return asyncio.run(_serve_one(host, port, command_line))
    except KeyboardInterrupt:
        return 130
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0


async def _serve_one(host: str, port: int, command_line: Mapping[str, Any]) -> int:
    connected: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if connected.qsize() or listening.is_set():
            writer.close()
        else:
            connected.put_nowait((reader, writer))

    listening = threading.Event()
    try:
        listener = await asyncio.start_server(accept, host, port)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    bound = listener.sockets[0].getsockname()
    sys.stderr.write(f"kernel-ls: listening on {bound[0]}:{bound[1]}\n")
    sys.stderr.flush()
    reader, writer = await connected.get()
    listening.set()
    listener.close()
    server = create_server(command_line)
    server.protocol.set_writer(_StreamWriter(writer))

    async def read() -> bytes:
        try:
            return await reader.read(_CHUNK)
        except ConnectionError:
            return b""

    await _serve(server, read)
    return 0


class _StreamWriter:
    """A stream as the protocol writes to it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    def close(self) -> None:
        self._writer.close()


async def _serve(server: KernelServer, read: Read) -> None:
    """Handle messages until the client says so or goes; then end the workers."""
    loop = asyncio.get_running_loop()
    # A thread that computes gives way to one that answers after this long.
    sys.setswitchinterval(_SWITCH_SECONDS)
    server.collector = Collector()

    def terminate() -> None:
        async def close() -> None:
            await server.session.close()
            # The thread that reads standard input cannot be woken; nothing else is left to do.
            os._exit(0)

        server._terminating = loop.create_task(close())  # type: ignore[attr-defined]

    if sys.platform != "win32":
        loop.add_signal_handler(signal.SIGTERM, terminate)
    connection = Connection(server)
    messages = MessageReader()
    try:
        while data := await read():
            for message in messages.feed(data):
                connection.receive(message)
                # What a message set going runs before the next one is looked at.
                await asyncio.sleep(0)
    finally:
        await server.session.close()


class Connection:
    """Hands messages to a server's handlers. Whatever a message is, `receive` returns; a request is answered, if only by an error."""

    def __init__(self, server: KernelServer) -> None:
        self._server = server
        self._initialized = False

    def receive(self, message: Any) -> None:
        """Handle one JSON value of the client's, or a `BadMessage`.

        Raises:
            SystemExit: the client said `exit`.
            BrokenPipeError: the client reads no more.
        """
        if isinstance(message, BadMessage):
            self._refuse(None, lsp.ErrorCodes.ParseError, str(message))
            return
        request = _request_id(message)
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self._refuse(request, lsp.ErrorCodes.InvalidRequest, 'a message is an object with `jsonrpc`: "2.0"')
            return
        method = message.get("method")
        if not isinstance(method, str | None):
            self._refuse(request, lsp.ErrorCodes.InvalidRequest, "a method is a string")
            return
        if "id" in message and request is None:
            self._refuse(request, lsp.ErrorCodes.InvalidRequest, "an id is a number or a string")
            return
        if method is not None and not self._is_in_order(method, request):
            return
        protocol = self._server.protocol
        try:
            structured = protocol.structure_message(message)
            self._initialized = self._initialized or method == lsp.INITIALIZE
            protocol.handle_message(structured)
        except JsonRpcException as error:
            self._refuse(request if method else None, error.code, f"{method or 'a reply'}: {_cause(error)}")
        except BrokenPipeError:
            raise
        except Exception as error:
            log.exception("%s could not be handled", method or "a reply")
            self._refuse(request if method else None, lsp.ErrorCodes.InternalError, f"{type(error).__name__}: {error}")

    def _is_in_order(self, method: str, request: int | str | None) -> bool:
        """Whether a message may come now; one that may not is answered here."""
        if method == lsp.INITIALIZE:
            if self._initialized:
                self._refuse(request, lsp.ErrorCodes.InvalidRequest, "the server is initialized already")
                return False
        elif not self._initialized and method != lsp.EXIT:
            self._refuse(request, lsp.ErrorCodes.ServerNotInitialized, "the server is not initialized yet")
            return False
        return True

    def _refuse(self, request: int | str | None, code: int, why: str) -> None:
        log.warning("refused a message: %s", why[:300])
        if request is not None or code == lsp.ErrorCodes.ParseError:
            # A notification has no answer; what cannot even be read is answered without an id.
            self._server.protocol._send_response(request, None, lsp.ResponseError(code, why[:300]))  # type: ignore[arg-type]


def _request_id(message: Any) -> int | str | None:
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None


def _cause(error: BaseException) -> str:
    """The innermost reason, in a line: converters wrap what is wrong with a field in groups."""
    while True:
        inner = getattr(error, "exceptions", None)
        further = inner[0] if inner else error.__cause__
        if further is None:
            return f"{type(error).__name__}: {error}"
        error = further


def _log_to_stderr(command_line: Mapping[str, Any]) -> None:
    level = logging.DEBUG if command_line.get("trace") else logging.INFO
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    log.setLevel(level)
    # What a broken client sends is its own affair; pygls logs every message's content at lower levels.
    logging.getLogger("pygls").setLevel(logging.ERROR)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_not_told_here)


def _is_not_told_here(record: logging.LogRecord) -> bool:
    # A page of converters' frames for each message that does not fit; `Connection` says it in a line.
    return not str(record.msg).startswith("Unable to deserialize")
