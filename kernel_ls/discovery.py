"""Which files a run checks: those that are named, and the Python files of folders that version control and settings leave in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pathspec

from kernel_ls.errors import InputError, UsageError

NEVER = frozenset(
    {
        *(".git", ".hg", ".svn", ".venv", ".tox", ".nox", ".eggs", "node_modules", "__pycache__"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints"),
    }
)
"""Folders that hold no code of the project's own."""

_MENTIONS = (b"triton", b"gluon", b"jit")
_Spec = pathspec.GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class Wanted:
    """One argument: a file or folder, and the kernels meant by `FILE::KERNEL`; `named` if it is that very file."""

    path: Path
    kernels: frozenset[str] = frozenset()


@dataclass
class Found:
    """The files of a run in order, with the kernels meant (none means all of them), and what could not be read."""

    files: dict[Path, set[str] | None] = field(default_factory=dict)
    errors: list[InputError] = field(default_factory=list)

    def add(self, path: Path, kernels: Iterable[str] = ()) -> None:
        """Enter a file; a file that is named as a whole once is checked as a whole."""
        wanted = set(kernels)
        if not wanted or (path in self.files and self.files[path] is None):
            self.files[path] = None
        else:
            self.files[path] = (self.files.get(path) or set()) | wanted


def parse_argument(text: str) -> Wanted:
    """`FILE`, `FOLDER` or `FILE::KERNEL`.

    Raises:
        UsageError: there is no such file or folder.
    """
    name, _, kernel = text.partition("::")
    path = Path(name).absolute()
    path = Path(os.path.normpath(path))
    if not path.exists():
        raise UsageError(f"there is no file or folder {name!r}")
    if "::" in text and (path.is_dir() or not kernel):
        raise UsageError(f"{text!r} is not of the form FILE::KERNEL")
    return Wanted(path, frozenset([kernel]) if kernel else frozenset())


def discover(wanted: Sequence[Wanted], *, exclude: Sequence[str] = (), root: Path | None = None) -> Found:
    """The files that arguments mean.

    Args:
        wanted: the arguments; a file among them is taken whatever its name and whoever ignores it.
        exclude: patterns of .gitignore's kind, relative to `root`.
        root: the project's folder.
    """
    found = Found()
    for argument in wanted:
        if argument.path.is_dir():
            for path in walk(argument.path, exclude=exclude, root=root, errors=found.errors):
                found.add(path)
        else:
            found.add(argument.path, argument.kernels)
    return found


def walk(
    folder: Path,
    *,
    exclude: Sequence[str] = (),
    root: Path | None = None,
    errors: list[InputError] | None = None,
    mentioning: Sequence[bytes] = _MENTIONS,
) -> Iterator[Path]:
    """The Python files below a folder, in order, that hold one of some words: by default, that may hold kernels.

    Files that mention neither Triton nor Gluon nor jit are left out without being parsed.
    """
    specs = _outer_specs(folder)
    base = root or folder
    if exclude:
        # The user's word for this tool: no .gitignore takes it back.
        specs = [(base, pathspec.GitIgnoreSpec.from_lines(exclude)), *specs]
    yield from _walk(folder, specs, 1 if exclude else 0, errors if errors is not None else [], mentioning)


def _walk(
    folder: Path, specs: list[tuple[Path, _Spec]], excludes: int, errors: list[InputError], words: Sequence[bytes]
) -> Iterator[Path]:
    own = _spec_of(folder)
    if own is not None:
        specs = [*specs[:excludes], (folder, own), *specs[excludes:]]
    try:
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError as error:
        errors.append(InputError(f"{folder} cannot be read: {error.strerror or error}"))
        return
    for entry in entries:
        path = folder / entry.name
        # A link to a folder is not followed: what it leads to is found at its own place, and loops end here.
        if entry.is_dir(follow_symlinks=False):
            if entry.name in NEVER or (path / "pyvenv.cfg").is_file() or _ignored(path, True, specs):
                continue
            yield from _walk(path, specs, excludes, errors, words)
        elif entry.name.endswith(".py") and not _ignored(path, False, specs):
            try:
                if entry.is_file() and (not words or _mentions(path, words)):
                    yield path
            except OSError as error:
                errors.append(InputError(f"{path} cannot be read: {error.strerror or error}"))


def _ignored(path: Path, is_folder: bool, specs: Sequence[tuple[Path, _Spec]]) -> bool:
    # The nearest .gitignore that says anything about the path decides, as in git.
    for base, spec in specs:
        if not path.is_relative_to(base):
            continue
        name = path.relative_to(base).as_posix() + ("/" if is_folder else "")
        include = spec.check_file(name).include
        if include is not None:
            return include
    return False


def _spec_of(folder: Path) -> _Spec | None:
    file = folder / ".gitignore"
    try:
        lines = file.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return None
    try:
        return pathspec.GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return None


def _outer_specs(folder: Path) -> list[tuple[Path, _Spec]]:
    """The .gitignore files above a folder, nearest first, up to the root of its repository."""
    if (folder / ".git").exists():
        return []
    found: list[tuple[Path, _Spec]] = []
    for parent in folder.parents:
        spec = _spec_of(parent)
        if spec is not None:
            found.append((parent, spec))
        if (parent / ".git").exists():
            # Of an ignored folder that was named, everything is wanted that its own files leave in.
            return [] if _ignored(folder, True, found) else found
    return []


def _mentions(path: Path, words: Sequence[bytes]) -> bool:
    content = path.read_bytes()
    return any(word in content for word in words)
