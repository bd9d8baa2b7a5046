"""What is known of an interpreter's Triton without starting a worker, kept in the tool's cache folder.

Two kinds of files, both JSON and both only ever hints: what cannot be read, or no longer fits the stamps of the files it
speaks of, is as if it were not there, and what cannot be written is not kept.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from kernel_ls.compile.process import PROTOCOL, PythonEnvironment
from kernel_ls.errors import ProtocolError
from kernel_ls.model import Json, digest

_FORMAT = 1


def stamp(environment: PythonEnvironment | None) -> tuple[int, ...]:
    """Sizes and modification times that change when the interpreter or its Triton is replaced."""
    if environment is None:
        return ()
    triton = Path(environment.triton_path)
    files = (triton / "__init__.py", triton / "_C", triton / "_C" / "libtriton.so", Path(environment.executable))
    return tuple(number for file in files for number in _file_stamp(file))


def load_environment(cache_dir: Path, python: str, variables: Mapping[str, str]) -> PythonEnvironment | None:
    """The environment that the last worker under this interpreter reported, if nothing it rests on changed since."""
    entry = _read(_environment_file(cache_dir, python, variables))
    if not isinstance(entry, dict):
        return None
    try:
        environment = PythonEnvironment.decode(entry.get("environment"))
    except ProtocolError:
        return None
    return environment if entry.get("stamps") == _stamps(environment) else None


def store_environment(
    cache_dir: Path, python: str, variables: Mapping[str, str], environment: PythonEnvironment
) -> None:
    """Keep what a worker reported."""
    entry = {"environment": asdict(environment), "stamps": _stamps(environment)}
    _write(_environment_file(cache_dir, python, variables), entry)


def load_api(cache_dir: Path, environment: PythonEnvironment) -> Json | None:
    """The manifest of the environment's Triton, if it was read before."""
    return _read(_api_file(cache_dir, environment))


def store_api(cache_dir: Path, environment: PythonEnvironment, manifest: Json) -> None:
    """Keep a manifest."""
    _write(_api_file(cache_dir, environment), manifest)


def _environment_file(cache_dir: Path, python: str, variables: Mapping[str, str]) -> Path:
    # What decides the search path beside the interpreter itself.
    search = [os.environ.get(name, "") for name in ("PYTHONPATH", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "HOME")]
    key = digest([_FORMAT, PROTOCOL, python, search, sorted(variables.items())])
    return cache_dir / "interpreters" / f"{key[:32]}.json"


def _api_file(cache_dir: Path, environment: PythonEnvironment) -> Path:
    key = digest([_FORMAT, PROTOCOL, environment.triton, environment.triton_path, stamp(environment), _api_source()])
    return cache_dir / "api" / f"{key[:32]}.json"


def _api_source() -> tuple[int, ...]:
    return _file_stamp(Path(__file__).with_name("worker") / "api.py")


def _stamps(environment: PythonEnvironment) -> list[int]:
    """Stamps of the interpreter, its Triton, and every folder where another Triton could be put before it."""
    folders = [number for entry in environment.path for number in _file_stamp(Path(entry))]
    return [*stamp(environment), *folders]


def _file_stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


def _read(path: Path) -> Json | None:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _write(path: Path, value: Json) -> None:
    # Written beside and moved, so that a reader never sees half a file.
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(value, separators=(",", ":")), "utf-8")
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
