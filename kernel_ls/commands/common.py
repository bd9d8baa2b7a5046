"""What the commands share: the project that arguments mean, and words on standard error."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from kernel_ls.discovery import Wanted
from kernel_ls.errors import UsageError
from kernel_ls.project import Project, root_of
from kernel_ls.settings import Settings, checked, load

OPTIONS = (
    *("python", "targets", "select", "ignore", "exclude", "jobs", "budget", "deadline", "cache", "cache_dir"),
    "include_info",
)
"""Arguments that are settings of the same name."""


def say(message: str) -> None:
    """A line for the user, on standard error."""
    sys.stderr.write(f"kernel-ls: {message}\n")


def not_yet(what: str) -> int:
    """Answer that something is not available; the exit status."""
    say(f"{what} is not available yet")
    return 2


def settings_of(arguments: argparse.Namespace, folder: Path) -> Settings:
    """The settings in force for a folder, with what is wrong in files said on standard error.

    Raises:
        UsageError: an option of the command line has a value that is not allowed.
    """
    given: Mapping[str, Any] = {name: getattr(arguments, name, None) for name in OPTIONS}
    settings = checked(load(folder, command_line={k: v for k, v in given.items() if v is not None}))
    for problem in settings.problems:
        say(f"{problem.message}; the default is used")
    return settings


def folder_of(wanted: list[Wanted]) -> Path:
    """The folder whose project a run is about: the working folder where it holds everything that was named."""
    here = Path.cwd()
    if not wanted or all(w.path.is_relative_to(here) for w in wanted):
        return here
    common = Path(os.path.commonpath([w.path for w in wanted]))
    return common if common.is_dir() else common.parent


def project_of(
    folder: Path, settings: Settings, *, workers: int = 1, prove_fixes: bool = False, imports: bool = False
) -> Project:
    """The project that a folder belongs to."""
    mode: Literal["static", "import"] = "import" if imports else "static"
    return Project(root_of(folder), settings, workers=workers, prove_fixes=prove_fixes, environment_mode=mode)


def split_place(text: str) -> tuple[Path, str]:
    """`FILE::KERNEL`, the kernel's part empty where it is left out.

    Raises:
        UsageError: there is no such file.
    """
    name, _, kernel = text.partition("::")
    path = Path(os.path.normpath(Path(name).absolute()))
    if not path.is_file():
        raise UsageError(f"there is no file {name!r}")
    return path, kernel
