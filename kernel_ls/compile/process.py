"""One worker process: start, handshake, frames, kill. Policy (retry, restart, deadlines per job) is `client.py`'s."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import tempfile
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel_ls.errors import (
    InterpreterBroken,
    InterpreterNotFound,
    KernelLsError,
    ProtocolError,
    TritonBroken,
    TritonMissing,
    WorkerCrashed,
    WorkerKilled,
    WorkerStartError,
)
from kernel_ls.model import Json

PROTOCOL = 1
"""The protocol that this server speaks; a worker of another one is refused at the handshake."""

_PACKAGE = Path(__file__).resolve().parents[1]
_BOOTSTRAP = Path(__file__).with_name("worker") / "bootstrap.py"
_MAX_FRAME = 256 * 1024 * 1024
_STDERR_LINES = 200
_EXIT_GRACE = 2.0
_SIGKILL = 9
_UNSUPPORTED_PYTHON = 64
"""Exit status of `bootstrap.py` under a Python that it does not support."""

FRONTEND_VARIABLES = ("TRITON_", "MLIR_", "LLVM_")
"""Prefixes of environment variables that change what the generator does or prints. They are not handed to the worker:
a finding must not depend on the shell that the editor was started from."""

_KEPT_VARIABLES = frozenset({"TRITON_HOME", "TRITON_LIBDEVICE_PATH", "TRITON_PTXAS_PATH"})
"""Of those prefixes, where an installation lives."""


@dataclass(frozen=True, slots=True)
class PythonEnvironment:
    """What a worker's handshake says: the interpreter, its search path, and its Triton.

    `path` is the interpreter's `sys.path`; `targets` names the backends of its Triton, as in `cuda:90`.
    """

    python: str
    executable: str
    prefix: str
    path: tuple[str, ...]
    triton: str
    triton_path: str
    targets: tuple[str, ...] = ()

    @staticmethod
    def decode(wire: Json) -> PythonEnvironment:
        """Read a handshake's result.

        Raises:
            ProtocolError: it is not of the agreed form.
        """
        try:
            return PythonEnvironment(
                python=str(wire["python"]),
                executable=str(wire["executable"]),
                prefix=str(wire.get("prefix", "")),
                path=tuple(str(entry) for entry in wire["path"]),
                triton=str(wire["triton"]),
                triton_path=str(wire["triton_path"]),
                targets=tuple(str(target) for target in wire.get("targets", ())),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ProtocolError(f"the worker's handshake is not of the agreed form: {error!r}") from error


@dataclass(slots=True)
class RequestFailed(Exception):
    """The worker answered a request with an error; it is alive and ready for the next one."""

    kind: str
    text: str
    more: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text


def worker_environment(
    base: Mapping[str, str], *, cache_dir: Path, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment variables of a worker.

    Args:
        base: the server's own variables.
        cache_dir: the tool's cache; whatever Triton keeps goes there, never into the user's Triton cache.
        extra: variables that the settings ask for; they win.
    """
    variables = {
        name: value
        for name, value in base.items()
        if name in _KEPT_VARIABLES or not name.startswith(FRONTEND_VARIABLES)
    }
    # These belong to the server's interpreter: another Python that honoured them would find the wrong library.
    for name in ("PYTHONHOME", "__PYVENV_LAUNCHER__", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONWARNINGS"):
        variables.pop(name, None)
    variables["TRITON_CACHE_DIR"] = str(cache_dir / "triton")
    variables["PYTHONIOENCODING"] = "utf-8:backslashreplace"
    variables["PYTHONHASHSEED"] = "0"
    variables.update(extra or {})
    return variables


class WorkerProcess:
    """A running worker. Make one with `start`; after `kill` or `close` it is of no more use.

    One request may be in flight at a time; a request that is abandoned (cancelled, timed out) leaves the stream in the
    middle of nothing, so its worker has to be killed. `kill` and `close` leave no task, pipe or process behind.
    """

    def __init__(self, python: str, process: asyncio.subprocess.Process) -> None:
        self.python = python
        self.environment: PythonEnvironment | None = None
        self.resident_bytes = 0
        """Resident memory after the last reply, as the worker said; 0 where its system does not say."""
        self._process = process
        self._request = 0
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        self._drain = asyncio.ensure_future(self._read_stderr())

    @staticmethod
    async def start(
        python: str,
        *,
        cache_dir: Path,
        deadline: float,
        memory_limit: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> WorkerProcess:
        """Start a worker and shake hands.

        Args:
            python: the interpreter; a path.
            cache_dir: the tool's cache folder, where Triton may keep files.
            deadline: seconds for the start and the import of Triton together.
            memory_limit: a ceiling in bytes on the worker's memory; 0 for none.
            environment: further environment variables.

        Raises:
            InterpreterNotFound, InterpreterBroken, TritonMissing, TritonBroken: the interpreter is of no use.
            WorkerStartError: no answer within the deadline, or something else ended it (`WorkerKilled`).
            ProtocolError: something other than a worker of this version answered.
        """
        worker = WorkerProcess(python, await _spawn(python, cache_dir, environment))
        try:
            params = {"protocol": PROTOCOL, "memory_limit": memory_limit}
            worker.environment = PythonEnvironment.decode(await worker.request("hello", params, deadline))
        except asyncio.TimeoutError:
            await worker.kill()
            raise WorkerStartError(
                f"the worker under {python} did not answer within {deadline:g} s",
                f"try `{python} -c 'import triton'`; if that is slow, raise the start deadline",
            ) from None
        except RequestFailed as error:
            await worker.kill()
            raise _handshake_error(python, error) from None
        except WorkerCrashed as error:
            raise _start_error(python, error) from None
        except BaseException:
            await worker.kill()
            raise
        return worker

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def memory(self) -> int:
        """Resident memory at this moment in bytes; 0 where the system does not say."""
        try:
            statm = Path(f"/proc/{self.pid}/statm").read_bytes()
            return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError, AttributeError):
            return 0

    @property
    def running(self) -> bool:
        """Whether the process has not ended, as far as is known."""
        return self._process.returncode is None

    @property
    def stderr(self) -> str:
        """The last lines that the worker wrote to its standard error."""
        return "\n".join(self._stderr)

    async def wait(self) -> int:
        """Wait for the process to end; its exit status."""
        return await self._process.wait()

    async def request(self, method: str, params: Json, deadline: float) -> Json:
        """Ask for one thing and wait for its answer.

        Args:
            method: a name of ARCHITECTURE.md, "Wire formats".
            params: the method's parameters.
            deadline: seconds to wait; after `asyncio.TimeoutError` the worker has to be killed.

        Raises:
            RequestFailed: the worker answered with an error, and is ready for the next request.
            WorkerCrashed: the worker ended first; it is reaped.
            ProtocolError: the answer is no frame; the worker has to be killed.
        """
        self._request += 1
        frame = {"id": self._request, "method": method, "params": params}
        body = json.dumps(frame, separators=(",", ":")).encode("utf-8")
        return await asyncio.wait_for(self._exchange(body), deadline)

    async def _exchange(self, body: bytes) -> Json:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"%d\n%s" % (len(body), body))
            await self._process.stdin.drain()
        except (ConnectionError, RuntimeError):
            raise await self._crashed() from None
        while True:
            reply = await self._read_frame()
            # An error without an id answers a frame that the worker could not read: ours, as there is no other.
            if reply.get("id") in (self._request, None):
                break
        rss = reply.get("rss")
        self.resident_bytes = rss if isinstance(rss, int) else 0
        if "result" in reply:
            return reply["result"]
        error = reply.get("error")
        if not isinstance(error, dict):
            raise ProtocolError("the worker's reply has neither a result nor an error")
        raise RequestFailed(str(error.get("kind", "")), str(error.get("message", "")), error)

    async def _read_frame(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            header = await self._process.stdout.readuntil(b"\n")
            if not header.strip().isdigit() or int(header) > _MAX_FRAME:
                raise ProtocolError(f"the worker sent {header[:40]!r} where a frame begins")
            body = await self._process.stdout.readexactly(int(header))
        except asyncio.IncompleteReadError:
            raise await self._crashed() from None
        except (asyncio.LimitOverrunError, ConnectionError):
            raise ProtocolError("the worker sent bytes that are no frame") from None
        try:
            reply = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise ProtocolError(f"the worker sent a frame that is not JSON: {error}") from None
        if not isinstance(reply, dict):
            raise ProtocolError(f"the worker sent a JSON {type(reply).__name__} where an object was agreed")
        return reply

    async def _crashed(self) -> WorkerCrashed:
        """Reap the ended process and say how it ended."""
        returncode = self._process.returncode
        if returncode is None:
            # The pipe closes a moment before the process is reaped; one that closed it and lives on is no worker.
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), _EXIT_GRACE)
            returncode = self._process.returncode
        await self.kill()
        return WorkerCrashed(
            f"the worker {describe_exit(returncode)}", returncode=returncode, stderr=_tail(self._stderr)
        )

    async def kill(self) -> None:
        """End the process and what it started, at once, and wait until it is reaped. Harmless if it has ended."""
        if self._process.returncode is None:
            try:
                if hasattr(os, "killpg"):
                    # The worker leads a session of its own, so that an assembler it runs dies with it.
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            except (ProcessLookupError, PermissionError):
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
        await self._reap()

    async def close(self, grace: float = _EXIT_GRACE) -> None:
        """Ask an idle worker to end by closing its pipe; kill it if it has not within `grace` seconds."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), grace)
        await self.kill()

    async def _reap(self) -> None:
        await self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
            with contextlib.suppress(ConnectionError, OSError):
                await self._process.stdin.wait_closed()
        # What is still in the pipe is worth having: the last words of a worker that aborted.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._drain), 0.2)
        self._drain.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._drain
        # asyncio closes the transport only when all pipes have ended, and a grandchild may hold one of them.
        self._process._transport.close()  # type: ignore[attr-defined]

    async def _read_stderr(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        pending = b""
        while chunk := await stream.read(65536):
            *lines, pending = (pending + chunk).split(b"\n")
            self._stderr.extend(line.decode("utf-8", "replace")[:2000] for line in lines)
            pending = pending[-4000:]
        if pending:
            self._stderr.append(pending.decode("utf-8", "replace")[:2000])


async def _spawn(python: str, cache_dir: Path, environment: Mapping[str, str] | None) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            python,
            "-c",
            _BOOTSTRAP.read_text("utf-8"),
            str(_PACKAGE),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # No folder of the user's: nothing relative may be found by accident, and none is kept from being unmounted.
            cwd=tempfile.gettempdir(),
            env=worker_environment(os.environ, cache_dir=cache_dir, extra=environment),
            limit=1 << 20,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise InterpreterNotFound(
            f"there is no interpreter {python}", "choose another with --python or the setting `python`", python=python
        ) from None
    except OSError as error:
        raise InterpreterBroken(
            f"{python} does not start: {error.strerror or error}", "choose another interpreter", python=python
        ) from error


def _handshake_error(python: str, error: RequestFailed) -> KernelLsError:
    next_step = str(error.more.get("next_step", ""))
    if error.kind == "no-triton":
        return TritonMissing(error.text, next_step, python=python)
    if error.kind == "broken-triton":
        return TritonBroken(error.text, next_step, python=python)
    if error.kind == "protocol":
        return ProtocolError(error.text, "restart the server: its files were replaced while it ran")
    return TritonBroken(f"the worker under {python} failed to start: {error.text}", next_step, python=python)


def _start_error(python: str, error: WorkerCrashed) -> KernelLsError:
    lines = [line for line in error.stderr.splitlines() if line.strip()]
    last = lines[-1].strip() if lines else ""
    if error.returncode == _UNSUPPORTED_PYTHON and "unsupported Python" in last:
        version = last.rpartition(" ")[2]
        return InterpreterBroken(
            f"{python} is Python {version}; 3.9 or newer is needed", "choose another interpreter", python=python
        )
    said = f": {last}" if last else ""
    how = describe_exit(error.returncode)
    if error.returncode == -_SIGKILL:
        # Nothing of Triton's does that to itself.
        return WorkerKilled(
            f"the worker under {python} was killed by SIGKILL before it answered",
            "the system may have run out of memory",
        )
    if error.returncode is not None and error.returncode < 0:
        # Python itself seldom dies of a signal before it has run a line; a broken extension module does it on import.
        return TritonBroken(
            f"importing Triton under {python} {how}{said}",
            f"run `{python} -c 'import triton'` to see it",
            python=python,
        )
    return InterpreterBroken(
        f"{python} {how} before it answered{said}", "choose another interpreter or repair this one", python=python
    )


def describe_exit(returncode: int | None) -> str:
    """An exit status in words: `was killed by SIGSEGV`, `ended with status 3`."""
    if returncode is None:
        return "closed its pipe"
    if returncode < 0:
        try:
            name = signal.Signals(-returncode).name
        except ValueError:
            name = f"signal {-returncode}"
        return f"was killed by {name}"
    return f"ended with status {returncode}"


def _tail(lines: deque[str], count: int = 12) -> str:
    return "\n".join(list(lines)[-count:])
