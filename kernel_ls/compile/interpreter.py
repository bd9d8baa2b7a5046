"""Which Python the user means, and what its Triton is or why there is none.

The order (surface.md): the setting, the client's choice, an activated or `.venv` environment of the workspace, the
server's own if it has Triton, `python3` on the PATH. A setting or a client's choice is taken at its word: if it is not
there, that is an error, not a reason to go on.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_ls.compile.process import PythonEnvironment, WorkerProcess
from kernel_ls.errors import InterpreterNotFound

_FOLDERS = (".venv", "venv", ".env", "env")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter to run workers under.

    Attributes:
        path: the executable as found; links are kept, since an environment is found by the link's place.
        source: who chose it, as a phrase for `doctor`: `the setting`, `.venv of /home/me/project`.
    """

    path: str
    source: str


def resolve(
    *,
    setting: str = "",
    client: str = "",
    folders: Sequence[Path] = (),
    environ: Mapping[str, str] | None = None,
    own: str = sys.executable,
    own_has_triton: bool | None = None,
) -> Interpreter:
    """Find the interpreter the user means.

    Args:
        setting: the setting `python` or the option `--python`: an executable, an environment's folder, or a name on the
            PATH; relative paths are looked for in the workspace's folders first.
        client: the editor's choice, of the same forms.
        folders: the workspace's folders, the most relevant first.
        environ: environment variables; those of this process by default.
        own: the server's interpreter.
        own_has_triton: whether that has Triton; found out (without importing it) by default.

    Raises:
        InterpreterNotFound: what was named is not there, or there is no Python at all.
    """
    variables = os.environ if environ is None else environ
    for named, source in ((setting, "the setting"), (client, "the client")):
        if named:
            found = _named(named, folders, variables)
            if found is None:
                raise InterpreterNotFound(
                    f"there is no Python interpreter {named!r}, which {source} names",
                    "name an executable or the folder of an environment",
                    python=named,
                )
            return Interpreter(found, source)
    for candidate in _environments(folders, variables):
        return candidate
    if _has_triton() if own_has_triton is None else own_has_triton:
        return Interpreter(own, "the server's own")
    for name in ("python3", "python"):
        found = shutil.which(name, path=variables.get("PATH"))
        if found is not None:
            return Interpreter(found, f"{name} on the PATH")
    raise InterpreterNotFound(
        "no Python interpreter was found", "set `python` (or --python) to the one whose Triton you use"
    )


async def probe(python: str, *, cache_dir: Path, deadline: float = 30.0) -> PythonEnvironment:
    """Start a worker under the interpreter to see what it has, and end it.

    Raises:
        InterpreterError: it is of no use; the subclass and the message say why.
        WorkerError: it did not answer as a worker does.
    """
    worker = await WorkerProcess.start(python, cache_dir=cache_dir, deadline=deadline)
    try:
        assert worker.environment is not None
        return worker.environment
    finally:
        await worker.close()


def _named(named: str, folders: Sequence[Path], variables: Mapping[str, str]) -> str | None:
    text = os.path.expanduser(named)  # noqa: PTH111
    candidates = [Path(text)] if os.path.isabs(text) else [*(folder / text for folder in folders), Path(text)]  # noqa: PTH117
    for candidate in candidates:
        if candidate.is_dir():
            inside = executable_of(candidate)
            if inside is not None:
                return inside
        elif candidate.is_file():
            return str(candidate.absolute())
    if "/" not in named and "\\" not in named:
        return shutil.which(named, path=variables.get("PATH"))
    return None


def _environments(folders: Sequence[Path], variables: Mapping[str, str]) -> Iterator[Interpreter]:
    # An activated environment is a choice that the user made just now; conda's base is only where they happen to be.
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = variables.get(variable)
        if prefix and not (variable == "CONDA_PREFIX" and variables.get("CONDA_DEFAULT_ENV") == "base"):
            found = executable_of(Path(prefix))
            if found is not None:
                yield Interpreter(found, f"{variable}, the activated environment")
    for folder in folders:
        for name in _FOLDERS:
            place = folder / name
            if (place / "pyvenv.cfg").is_file() or (place / "conda-meta").is_dir():
                found = executable_of(place)
                if found is not None:
                    yield Interpreter(found, f"{name} of {folder}")


def executable_of(prefix: Path) -> str | None:
    """The interpreter of an environment's folder, in the system's layout; None if it has none."""
    for parts in (("bin", "python"), ("bin", "python3"), ("Scripts", "python.exe"), ("python.exe",)):
        candidate = prefix.joinpath(*parts)
        if candidate.is_file():
            return str(candidate.absolute())
    return None


def _has_triton() -> bool:
    try:
        spec = importlib.util.find_spec("triton")
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None
