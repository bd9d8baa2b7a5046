"""Results on disk, by content: one SQLite file in the tool's cache folder, shared by every server and CLI of a user.

Nothing here may cost a finding. A cache that cannot be read or written (a full disk, a read-only folder, a lock that is
not given up, a file that is no database) is off with a reason that `doctor` shows, and everything is compiled anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel_ls.compile.decode import decode_result, encode_result
from kernel_ls.compile.process import PROTOCOL
from kernel_ls.errors import ProtocolError
from kernel_ls.model import CompileResult, Job, Status

_SCHEMA = 1
_FILE = "results.sqlite3"
_BUSY_SECONDS = 1.0
_TOUCH_SECONDS = 3600.0
"""How stale an entry's time of use may be; writing it at each read would make reading as dear as writing."""

_SHRINK_EVERY = 200
"""Writes between two looks at the size."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What a cache holds. `bytes` counts the compressed results; `off` says why the cache is off, or is empty."""

    path: str
    entries: int = 0
    bytes: int = 0
    hits: int = 0
    misses: int = 0
    off: str = ""


def worker_digest() -> str:
    """A digest of the worker's own source: results of another worker are another compiler's."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256(str(PROTOCOL).encode())
    for folder in (root / "compile" / "worker", root / "pyeval"):
        for file in sorted(folder.rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


class ResultCache:
    """A bounded map from jobs to results. Safe to use from several threads and several processes.

    Args:
        folder: where the file lives; made if need be.
        max_bytes: what the results may occupy; the least recently used go first.
    """

    def __init__(self, folder: Path, *, max_bytes: int = 512 << 20) -> None:
        self.path = folder / _FILE
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._worker = worker_digest()
        self._hits = 0
        self._misses = 0
        self._writes = 0
        self._off = ""
        self._rebuilt = False
        self._database: sqlite3.Connection | None = None
        with self._lock, self._guarded():
            self._open()

    @property
    def off(self) -> str:
        """Why the cache is off, in a sentence; empty while it works."""
        return self._off

    def key(self, job: Job, triton: str) -> str:
        """The key of a job under a Triton: `triton` tells versions and builds apart (version and stamp)."""
        return hashlib.sha256(f"{job.key}\n{triton}\n{self._worker}\n{_SCHEMA}".encode()).hexdigest()

    def get(self, key: str) -> CompileResult | None:
        """The result kept under `key`, if there is one that can be read."""
        blob = self._fetch(key)
        result = _decode(blob) if blob is not None else None
        if result is None:
            self._misses += 1
        else:
            self._hits += 1
        return result

    def read(self, key: str) -> bytes | None:
        """What `write` kept under a key."""
        blob = self._fetch(key)
        try:
            return None if blob is None else zlib.decompress(blob)
        except zlib.error:
            return None

    def write(self, key: str, data: bytes) -> None:
        """Keep data of another kind than results, under a key of the caller's making; it counts towards the same bound."""
        self._store(key, zlib.compress(data, 1))

    def _fetch(self, key: str) -> bytes | None:
        row: tuple[bytes, float] | None = None
        with self._lock, self._guarded():
            if self._database is not None:
                found = self._database.execute("SELECT result, used FROM results WHERE key = ?", (key,))
                row = found.fetchone()
                if row is not None and time.time() - row[1] > _TOUCH_SECONDS:
                    self._database.execute("UPDATE results SET used = ? WHERE key = ?", (time.time(), key))
        return row[0] if row is not None else None

    def put(self, key: str, result: CompileResult) -> None:
        """Keep a result. One that says nothing about the job (a crash, a timeout) is not kept.

        Nor is one whose generation was cut short: another time the machine may be quicker.
        """
        if result.status is not Status.DONE or result.truncated:
            return
        self._store(key, zlib.compress(json.dumps(encode_result(result), separators=(",", ":")).encode(), 1))

    def _store(self, key: str, blob: bytes) -> None:
        with self._lock, self._guarded():
            if self._database is None:
                return
            self._database.execute(
                "INSERT OR REPLACE INTO results (key, result, size, used) VALUES (?, ?, ?, ?)",
                (key, blob, len(blob), time.time()),
            )
            self._writes += 1
            if self._writes % _SHRINK_EVERY == 0:
                self._shrink()

    def clear(self) -> int:
        """Forget everything; the number of results that were kept."""
        with self._lock, self._guarded():
            if self._database is not None:
                (count,) = self._database.execute("SELECT count(*) FROM results").fetchone()
                self._database.execute("DELETE FROM results")
                self._database.execute("VACUUM")
                return int(count)
        return 0

    def stats(self) -> CacheStats:
        """What it holds, and how it did in this process."""
        entries = size = 0
        with self._lock, self._guarded():
            if self._database is not None:
                row = self._database.execute("SELECT count(*), coalesce(sum(size), 0) FROM results").fetchone()
                entries, size = row
        return CacheStats(str(self.path), entries, size, self._hits, self._misses, self._off)

    def close(self) -> None:
        """Release the file; harmless when repeated. A closed cache is off."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            if self._database is not None:
                if self._writes:
                    self._shrink()
                self._database.close()
        self._database = None
        self._off = self._off or "closed"

    # ------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Autocommit: each statement is a transaction of its own, which a killed process leaves whole or not at all.
        database = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        self._database = database
        database.execute("PRAGMA journal_mode = WAL")
        # With a write-ahead log this risks the last results at a power cut, never the file.
        database.execute("PRAGMA synchronous = NORMAL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version not in (0, _SCHEMA):
            database.execute("DROP TABLE IF EXISTS results")
        database.execute(
            "CREATE TABLE IF NOT EXISTS results"
            " (key TEXT PRIMARY KEY, result BLOB NOT NULL, size INTEGER NOT NULL, used REAL NOT NULL) WITHOUT ROWID"
        )
        database.execute("CREATE INDEX IF NOT EXISTS results_used ON results (used)")
        if version != _SCHEMA:
            database.execute(f"PRAGMA user_version = {_SCHEMA}")

    def _shrink(self) -> None:
        assert self._database is not None
        (size,) = self._database.execute("SELECT coalesce(sum(size), 0) FROM results").fetchone()
        if size <= self._max_bytes:
            return
        # To well below the bound, so that not every few writes pay for it.
        excess = size - self._max_bytes * 3 // 4
        doomed = []
        for key, each in self._database.execute("SELECT key, size FROM results ORDER BY used"):
            if excess <= 0:
                break
            doomed.append((key,))
            excess -= each
        self._database.execute("BEGIN IMMEDIATE")
        try:
            self._database.executemany("DELETE FROM results WHERE key = ?", doomed)
        finally:
            self._database.execute("COMMIT")

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn what goes wrong with the file into the cache being off; a file that is no database is made anew, once."""
        try:
            yield
        except sqlite3.OperationalError as error:
            # Another process holds the lock: this one result is not read or kept, and the next may be.
            if "locked" not in str(error) and "busy" not in str(error):
                self._turn_off(error)
        except sqlite3.DatabaseError as error:
            if self._rebuilt or not self._rebuild():
                self._turn_off(error)
        except (OSError, sqlite3.Error) as error:
            self._turn_off(error)

    def _turn_off(self, error: Exception) -> None:
        self._off = f"the cache {self.path} is off: {error}"
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
        self._database = None

    def _rebuild(self) -> bool:
        """Put a fresh file in the place of a damaged one; whether that worked."""
        self._rebuilt = True
        if self._database is not None:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
            self._database = None
        try:
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            self._open()
        except (OSError, sqlite3.Error):
            return False
        return True


def _decode(blob: bytes) -> CompileResult | None:
    try:
        return decode_result(json.loads(zlib.decompress(blob)))
    except (zlib.error, ValueError, TypeError, ProtocolError):
        return None
