"""What Linux says of other processes: their memory, files and children."""

from __future__ import annotations

import os
import signal
from pathlib import Path


class Peaks:
    """The highest resident memory that was seen of each kind of process, in bytes."""

    def __init__(self) -> None:
        self.found: dict[str, int] = {}

    def look(self, kind: str, pid: int) -> None:
        """Take a process' peak into account; one that has ended has none."""
        self.found[kind] = max(self.found.get(kind, 0), peak_bytes(pid))


def peak_bytes(pid: int) -> int:
    """The highest resident memory of a process so far (`VmHWM`), 0 where it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def open_files(pid: int) -> int:
    """How many descriptors a process has."""
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used, 0 where it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    """The processes that a process' threads started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in task.read_text().split()]
        except OSError:
            continue
    return found


def is_worker(pid: int) -> bool:
    """Whether a server's child is a worker by now: one that was only just forked is still the server's image."""
    try:
        return b"_kernel_ls_worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def kill(pid: int) -> bool:
    """Send SIGKILL; whether there was such a process."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
