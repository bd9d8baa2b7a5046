"""Compilers made of other compilers: several workers as one, and a cache in front of any."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from kernel_ls.compile import remembered
from kernel_ls.compile.cache import ResultCache
from kernel_ls.compile.client import Compiler, StateKind, WorkerCompiler, WorkerState
from kernel_ls.compile.process import PythonEnvironment
from kernel_ls.model import CompileResult, Job, Json

_RANK: tuple[StateKind, ...] = ("failed", "no-triton", "busy", "restarting", "starting", "ready", "stopped")
"""Which member's state stands for a pool's: the first of these that one is in."""


class CompilerPool:
    """Several compilers that share the work: a job goes to one that is idle, in the order of asking.

    Args:
        compilers: its members, which it owns.

    Raises:
        ValueError: there are none.
    """

    def __init__(self, compilers: list[Compiler]) -> None:
        if not compilers:
            raise ValueError("a pool has at least one compiler")
        self._compilers = compilers
        self._idle = list(compilers)
        self._free = asyncio.Semaphore(len(compilers))
        self._callbacks: dict[object, Callable[[WorkerState], None]] = {}
        self._shown = self.state
        self._ends = [compiler.on_state(self._member_changed) for compiler in compilers]

    @staticmethod
    def of_workers(count: int, python: str, *, cache_dir: Path, start_deadline: float = 30.0) -> CompilerPool:
        """A pool of `count` worker processes under one interpreter; each starts when it is first needed."""
        return CompilerPool(
            [WorkerCompiler(python, cache_dir=cache_dir, start_deadline=start_deadline) for _ in range(count)]
        )

    @property
    def state(self) -> WorkerState:
        """The state of the member that most wants the user's attention."""
        return min((compiler.state for compiler in self._compilers), key=lambda state: _RANK.index(state.kind))

    def on_state(self, callback: Callable[[WorkerState], None]) -> Callable[[], None]:
        """See `Compiler`."""
        key = object()
        self._callbacks[key] = callback

        def end() -> None:
            self._callbacks.pop(key, None)

        return end

    def _member_changed(self, _state: WorkerState) -> None:
        state = self.state
        if state != self._shown:
            self._shown = state
            for callback in list(self._callbacks.values()):
                callback(state)

    async def check(self, job: Job) -> CompileResult:
        """See `Compiler`."""
        async with self._free:
            # The last that became idle: a small load keeps few workers, and those are warm.
            compiler = self._idle.pop()
            try:
                return await compiler.check(job)
            finally:
                self._idle.append(compiler)

    async def api(self) -> Json:
        """See `Compiler`."""
        return await self._compilers[0].api()

    async def environment(self) -> PythonEnvironment:
        """See `Compiler`."""
        return await self._compilers[0].environment()

    async def close(self) -> None:
        """See `Compiler`."""
        await asyncio.gather(*(compiler.close() for compiler in self._compilers))
        for end in self._ends:
            end()


class CachedCompiler:
    """A compiler that answers from a cache where it can, without even starting a worker.

    Args:
        inner: who compiles; owned, closed with this.
        cache: where results are kept; not owned, as several compilers may share it.
    """

    def __init__(self, inner: Compiler, cache: ResultCache) -> None:
        self._inner = inner
        self._cache = cache
        self._pending: dict[str, asyncio.Event] = {}

    @property
    def state(self) -> WorkerState:
        """See `Compiler`."""
        return self._inner.state

    def on_state(self, callback: Callable[[WorkerState], None]) -> Callable[[], None]:
        """See `Compiler`."""
        return self._inner.on_state(callback)

    async def check(self, job: Job) -> CompileResult:
        """See `Compiler`. Two callers with the same job at the same time cost one compilation."""
        try:
            environment = await self._inner.environment()
        except Exception:
            # Let the compiler say in its own way that there is no usable Triton.
            return await self._inner.check(job)
        stamp = remembered.stamp(environment)
        key = self._cache.key(job, f"{environment.triton} {stamp}")
        while (pending := self._pending.get(key)) is not None:
            await pending.wait()
        kept = self._cache.get(key)
        if kept is not None:
            return kept
        done = self._pending[key] = asyncio.Event()
        try:
            result = await self._inner.check(job)
            # Of a Triton that was replaced meanwhile, nobody knows whether the result is the old one's.
            if remembered.stamp(environment) == stamp:
                self._cache.put(key, result)
            return result
        finally:
            del self._pending[key]
            done.set()

    async def api(self) -> Json:
        """See `Compiler`."""
        return await self._inner.api()

    async def environment(self) -> PythonEnvironment:
        """See `Compiler`."""
        return await self._inner.environment()

    async def close(self) -> None:
        """See `Compiler`."""
        await self._inner.close()
