"""When Python looks for garbage: when nobody waits.

A full collection stops every thread for as long as it takes to look at every object, 60 to 80 ms with a large file's syntax
trees in memory: longer than a hover may take. So the server keeps full collections from coming by themselves, and has one
made when the client has been silent for a while, or after many checks, or much that was taken, without such a pause.
"""

from __future__ import annotations

import asyncio
import gc
import os
from pathlib import Path

_PAUSE_SECONDS = 1.5
_MOST_CHECKS = 60
"""Checks after which garbage is collected although the client was never silent for long."""

_GROWTH = 32 << 20
"""Bytes that the process may grow by before garbage is collected although the client was never silent for long."""

_MUCH_GROWTH = 4 * _GROWTH
"""Bytes that it may grow by before everything is looked at in spite of that."""

_NEVER = 1_000_000


def seldom() -> None:
    """Look for garbage less often than Python does by itself: for a command, which ends soon and makes many trees that stay.

    With Python's own thresholds, a third of the time of checking a library goes into looking at them again and again.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


class Collector:
    """Collects when the server is idle. Make one when everything is imported; `touched` is called at each message.

    What a collection finds in use is set aside, so that the next one, which may come while somebody types, looks only at what
    was made since. Only in a pause, and after much growth, everything is looked at again.
    """

    def __init__(self) -> None:
        # What is loaded by now stays: no collection needs to look at it again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(5_000, 20, _NEVER)
        self._timer: asyncio.TimerHandle | None = None
        self._checks = 0
        self._least = resident_bytes()
        """Resident memory after the last collection."""
        self._whole = self._least
        """Resident memory after everything was looked at last."""

    def touched(self) -> None:
        """The client said something: wait for its next pause."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self._paused)

    def checked(self) -> None:
        """A check has ended, which leaves an earlier text's trees behind."""
        self._checks += 1
        if self._checks >= _MOST_CHECKS or resident_bytes() > self._least + _GROWTH:
            self._collect(_MUCH_GROWTH)

    def _paused(self) -> None:
        if self._checks:
            self._collect(_GROWTH)

    def _collect(self, growth: int) -> None:
        self._checks = 0
        whole = resident_bytes() > self._whole + growth
        if whole:
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._least = resident_bytes()
        if whole:
            self._whole = self._least


def resident_bytes(pid: int | None = None) -> int:
    """Resident memory of a process, by default this one; 0 where the system does not say, or the process has ended."""
    try:
        statm = Path(f"/proc/{pid or 'self'}/statm").read_bytes()
        return int(statm.split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0
