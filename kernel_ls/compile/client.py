"""Who the rest of the server asks to compile: `Compiler`, and the one that keeps a worker process alive for it.

`WorkerCompiler` answers every job exactly once, whatever happens to its worker: a crash is tried again on a fresh
worker, a second one is the answer `CRASHED`; a job past its budget and grace is killed and answered `TIMEOUT`; without a
usable Triton the answer is `UNAVAILABLE` with the reason. Exceptions come only from cancellation and from defects.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from kernel_ls.compile import remembered
from kernel_ls.compile.decode import decode_result
from kernel_ls.compile.process import PythonEnvironment, RequestFailed, WorkerProcess, describe_exit
from kernel_ls.errors import KernelLsError, ProtocolError, TritonMissing, WorkerCrashed, WorkerError, WorkerKilled
from kernel_ls.model import CompileResult, Job, Json, Status

StateKind = Literal["starting", "ready", "busy", "restarting", "no-triton", "failed", "stopped"]
T = TypeVar("T")

_LOOK_SECONDS = 0.1
"""How often a worker's memory is looked at during a job."""

_MOST_MEMORY = 8 << 30


@dataclass(frozen=True, slots=True)
class WorkerState:
    """What a compiler is doing, for `doctor`, the editor's status item and logs.

    `message` is a sentence for the user and `next_step` what they can do, both empty while all is well. `triton` is a
    version, `python` a path, `pid` 0 while no process runs.
    """

    kind: StateKind
    message: str = ""
    next_step: str = ""
    triton: str = ""
    python: str = ""
    pid: int = 0


class Compiler(Protocol):
    """Something that runs jobs: a worker, a pool of them, a cache in front of either, or a test's fake."""

    @property
    def state(self) -> WorkerState:
        """What it is doing now."""

    def on_state(self, callback: Callable[[WorkerState], None]) -> Callable[[], None]:
        """Call `callback` at each change of state; the returned function ends that."""

    async def check(self, job: Job) -> CompileResult:
        """Run a job. Cancelling the caller gives the job up, and stops it if it does not end by itself soon."""

    async def api(self) -> Json:
        """The manifest of the Triton in use (ARCHITECTURE.md, "TritonApi").

        Raises:
            KernelLsError: there is no usable Triton.
        """

    async def environment(self) -> PythonEnvironment:
        """The interpreter in use, its search path and Triton.

        Raises:
            KernelLsError: there is no usable Triton.
        """

    async def close(self) -> None:
        """End what runs and release everything; harmless when repeated. Jobs in flight are answered `CRASHED`."""


class WorkerCompiler:
    """A `Compiler` that keeps one worker process, started when first needed and again when it has died.

    Args:
        python: path of the interpreter whose Triton is used.
        cache_dir: the tool's cache folder.
        start_deadline: seconds for a worker's start, the import of Triton included.
        grace: seconds beyond a job's own budget after which it is killed.
        cancel_grace: seconds that a cancelled job gets to end by itself, which saves a restart.
        memory_limit: ceiling in bytes on a worker's memory, 0 for none; a job that runs into it fails alone. By default
            half of what the machine has, and no more than 8 GiB.
        recycle_bytes: a worker whose resident memory is above this after a job is replaced by a fresh one.
        retry_after: seconds after a failed start before the next is tried; until then the failure is the answer.
        variables: further environment variables for the worker.
    """

    def __init__(
        self,
        python: str,
        *,
        cache_dir: Path,
        start_deadline: float = 30.0,
        grace: float = 2.0,
        cancel_grace: float = 0.25,
        memory_limit: int | None = None,
        recycle_bytes: int = 400 << 20,
        retry_after: float = 5.0,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._python = python
        self._cache_dir = cache_dir
        self._start_deadline = start_deadline
        self._grace = grace
        self._cancel_grace = cancel_grace
        self._memory_limit = _half_of_memory() if memory_limit is None else memory_limit
        self._recycle_bytes = recycle_bytes
        self._retry_after = retry_after
        self._variables = dict(variables or {})
        self._lock = asyncio.Lock()
        self._worker: WorkerProcess | None = None
        self._stamp: tuple[int, ...] = ()
        self._failure: KernelLsError | None = None
        self._failed_at = 0.0
        self._closed = False
        self._starting: asyncio.Task[WorkerProcess] | None = None
        self._running: set[asyncio.Task[Any]] = set()
        self._watches: set[asyncio.Task[None]] = set()
        self._state = WorkerState("stopped", python=python)
        self._callbacks: dict[object, Callable[[WorkerState], None]] = {}

    # ------------------------------------------------------------------------------------------ state

    @property
    def state(self) -> WorkerState:
        """See `Compiler`."""
        return self._state

    def on_state(self, callback: Callable[[WorkerState], None]) -> Callable[[], None]:
        """See `Compiler`. Callbacks run in the event loop, in the order of the changes."""
        key = object()
        self._callbacks[key] = callback

        def end() -> None:
            self._callbacks.pop(key, None)

        return end

    def _enter(self, kind: StateKind, message: str = "", next_step: str = "") -> None:
        environment = self._worker.environment if self._worker is not None else None
        state = WorkerState(
            kind,
            message,
            next_step,
            triton=environment.triton if environment else "",
            python=self._python,
            pid=self._worker.pid if self._worker is not None else 0,
        )
        if state == self._state:
            return
        self._state = state
        for callback in list(self._callbacks.values()):
            callback(state)

    # --------------------------------------------------------------------------------------- requests

    async def check(self, job: Job) -> CompileResult:
        """See `Compiler`."""
        return await self._owned(lambda abandoned: self._check(job, abandoned))

    async def api(self) -> Json:
        """See `Compiler`. The manifest is kept on disk for each installed Triton."""
        environment = await self.environment()
        manifest = remembered.load_api(self._cache_dir, environment)
        if manifest is None:
            manifest = await self._owned(self._api)
            remembered.store_api(self._cache_dir, environment, manifest)
        return manifest

    async def environment(self) -> PythonEnvironment:
        """See `Compiler`. It is known without a worker where nothing of the interpreter changed since the last one."""
        worker = self._worker
        if worker is None:
            known = remembered.load_environment(self._cache_dir, self._python, self._variables)
            if known is not None:
                return known
        elif worker.running and worker.environment and remembered.stamp(worker.environment) == self._stamp:
            # What it is does not change while it works.
            return worker.environment
        return await self._owned(self._environment)

    async def start(self) -> None:
        """Start the worker ahead of the first job. A failure to start shows in `state` and is not raised."""
        with contextlib.suppress(KernelLsError):
            await self._owned(self._environment)

    async def restart(self) -> None:
        """Replace the worker by a fresh one and forget an earlier failure to start: the user's command."""
        async with self._lock:
            self._failure = None
            if self._worker is not None:
                await self._discard("restarted on request")
        await self.start()

    async def close(self) -> None:
        """See `Compiler`."""
        self._closed = True
        if self._starting is not None:
            self._starting.cancel()
        if self._worker is not None:
            await (self._worker.kill() if self._running else self._worker.close())
        # A request sees that its worker is gone and that this was meant; none waits for more than the reaping.
        while self._running or self._watches:
            await asyncio.gather(*self._running, *self._watches, return_exceptions=True)
        self._worker = None
        self._enter("stopped")

    # ------------------------------------------------------------------------------- in the owner's task

    async def _owned(self, make: Callable[[asyncio.Event], Coroutine[None, None, T]]) -> T:
        """Run `make(abandoned)` as the worker's only user, in a task of its own.

        The caller may be cancelled at any time and is then gone at once, while the task sees `abandoned`, brings the
        worker back to a known state, and only then lets the next user in.
        """
        await self._lock.acquire()
        abandoned = asyncio.Event()
        task = asyncio.ensure_future(make(abandoned))
        self._running.add(task)
        task.add_done_callback(self._disown)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            abandoned.set()
            raise

    def _disown(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        self._lock.release()
        if not task.cancelled():
            # Nobody may be left to see it; asked for here, it is not reported as lost.
            task.exception()

    async def _check(self, job: Job, abandoned: asyncio.Event) -> CompileResult:
        crash: WorkerCrashed | None = None
        for _ in range(2):
            try:
                worker = await self._ready()
            except KernelLsError as error:
                return CompileResult(Status.UNAVAILABLE, message=str(error))
            self._enter("busy")
            deadline = job.budget_seconds + self._grace
            try:
                reply = await self._request(worker, "check", job.wire(), deadline, abandoned)
                result = decode_result(reply)
            except _Abandoned:
                await self._discard("stopped a superseded job")
                return CompileResult(Status.CRASHED, message="the job was given up")
            except _TooLarge:
                return await self._too_large("stopped a job that took all memory")
            except asyncio.TimeoutError:
                await self._discard(f"stopped a job after {deadline:g} s")
                message = f"the code generator did not end within {deadline:g} s and was stopped"
                return CompileResult(Status.TIMEOUT, seconds=deadline, message=message)
            except RequestFailed as error:
                return await self._failed(error)
            except ProtocolError as error:
                await self._discard(str(error))
                return CompileResult(Status.CRASHED, message=str(error))
            except WorkerCrashed as error:
                await self._discard(str(error))
                if self._closed:
                    return CompileResult(Status.CRASHED, message="the compiler was closed")
                crash = error
                continue
            if worker.resident_bytes > self._recycle_bytes:
                await self._discard(f"recycled at {worker.resident_bytes >> 20} MiB")
            else:
                self._enter("ready")
            return result
        assert crash is not None
        return CompileResult(Status.CRASHED, message=crash_message(crash))

    async def _failed(self, error: RequestFailed) -> CompileResult:
        if error.kind == "memory":
            # What was allocated when the ceiling was met may never be given back.
            return await self._too_large(error.text)
        self._enter("ready")
        return CompileResult(Status.CRASHED, message=f"internal error of the worker: {error.text}")

    async def _too_large(self, why: str) -> CompileResult:
        await self._discard(why)
        limit = f"{self._memory_limit >> 20} MiB"
        message = f"the code generator needed more than {limit} of memory and was stopped"
        return CompileResult(Status.CRASHED, message=message)

    async def _api(self, abandoned: asyncio.Event) -> Json:
        worker = await self._ready()
        self._enter("busy")
        try:
            manifest = await self._request(worker, "api", {}, self._start_deadline, abandoned)
        except RequestFailed as error:
            self._enter("ready")
            raise WorkerError(f"internal error of the worker: {error.text}") from error
        except (asyncio.TimeoutError, KernelLsError, _Abandoned) as error:
            await self._discard("stopped while it read Triton's interface")
            raise WorkerError(f"Triton's interface could not be read: {error}") from error
        self._enter("ready")
        return manifest

    async def _environment(self, _abandoned: asyncio.Event) -> PythonEnvironment:
        worker = await self._ready()
        assert worker.environment is not None
        return worker.environment

    async def _request(
        self, worker: WorkerProcess, method: str, params: Json, deadline: float, abandoned: asyncio.Event
    ) -> Json:
        """One request that ends soon after it was abandoned, by `_Abandoned` if not by itself."""
        if abandoned.is_set():
            self._enter("ready")
            raise asyncio.CancelledError
        request = asyncio.ensure_future(worker.request(method, params, deadline))
        given_up = asyncio.ensure_future(abandoned.wait())
        try:
            while not request.done() and not given_up.done():
                await asyncio.wait((request, given_up), timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if not request.done() and 0 < self._memory_limit < worker.memory:
                    raise _TooLarge
            if not request.done():
                await asyncio.wait((request,), timeout=self._cancel_grace)
            if not request.done():
                raise _Abandoned
            return request.result()
        except asyncio.CancelledError:
            # The loop is shutting down: no process may outlive it.
            await self._discard("the event loop ended")
            raise
        finally:
            for task in (request, given_up):
                task.cancel()
            await asyncio.gather(request, given_up, return_exceptions=True)

    # ------------------------------------------------------------------------------------ the process

    async def _ready(self) -> WorkerProcess:
        """A worker that is alive and runs the Triton that is installed now.

        Raises:
            KernelLsError: there is none, and why.
        """
        if self._closed:
            raise WorkerError("the compiler was closed")
        worker = self._worker
        if worker is not None:
            if worker.running and remembered.stamp(worker.environment) == self._stamp:
                return worker
            await self._discard("Triton was replaced" if worker.running else "the worker had ended")
        now = asyncio.get_running_loop().time()
        if self._failure is not None and now < self._failed_at + self._retry_after:
            raise self._failure
        if self._state.kind != "restarting":
            self._enter("starting")
        try:
            try:
                worker = await self._start()
            except WorkerKilled:
                worker = await self._start()
        except KernelLsError as error:
            self._failure, self._failed_at = error, asyncio.get_running_loop().time()
            kind: StateKind = "no-triton" if isinstance(error, TritonMissing) else "failed"
            self._enter(kind, error.message, error.next_step)
            raise
        except asyncio.CancelledError:
            if self._closed:
                raise WorkerError("the compiler was closed") from None
            raise
        assert worker.environment is not None
        self._worker, self._failure = worker, None
        self._stamp = remembered.stamp(worker.environment)
        remembered.store_environment(self._cache_dir, self._python, self._variables, worker.environment)
        watch = asyncio.ensure_future(self._watch(worker))
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)
        self._enter("ready")
        return worker

    def _insist_on_open(self) -> None:
        if self._closed:
            raise WorkerError("the compiler was closed")

    async def _start(self) -> WorkerProcess:
        self._insist_on_open()
        start = WorkerProcess.start(
            self._python,
            cache_dir=self._cache_dir,
            deadline=self._start_deadline,
            # Beyond what is watched for, since what the system refuses ends in a crash more often than in an error.
            memory_limit=self._memory_limit * 5 // 4,
            environment=self._variables,
        )
        self._starting = asyncio.ensure_future(start)
        try:
            worker = await self._starting
        finally:
            self._starting = None
        if self._closed:
            # It was ready at the moment of the closing, which has not seen it.
            await worker.kill()
            raise WorkerError("the compiler was closed")
        return worker

    async def _discard(self, why: str) -> None:
        """Kill the worker; the next request starts another."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.kill()
            self._enter("restarting", why)

    async def _watch(self, worker: WorkerProcess) -> None:
        """Make the end of an idle worker visible when it happens, not at the next job."""
        returncode = await worker.wait()
        if self._worker is worker and not self._running and not self._closed:
            self._worker = None
            await worker.kill()
            self._enter("restarting", f"the idle worker {describe_exit(returncode)}")


class _TooLarge(Exception):
    """The worker has grown beyond its ceiling during a request."""


class _Abandoned(Exception):
    """The caller of a request is gone, and the request did not end within its grace."""


def _half_of_memory() -> int:
    try:
        return min(_MOST_MEMORY, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    except (ValueError, OSError, AttributeError):
        return _MOST_MEMORY


def crash_message(crash: WorkerCrashed) -> str:
    """What to tell the user of a job that ended two workers: the signal or status, and the worker's last words."""
    exit_text = describe_exit(crash.returncode)
    message = f"the compiler crashed on this kernel: its process {exit_text}, twice"
    if crash.returncode == -9:
        message += "; the system may have run out of memory"
    words = [line for line in crash.stderr.splitlines() if line.strip()]
    return message + "".join(f"\n  {line}" for line in words[-6:])
