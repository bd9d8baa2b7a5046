"""`kernel-ls doctor`: what is used, where each setting came from, what is wrong and what to do."""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kernel_ls import __version__
from kernel_ls.commands.common import OPTIONS
from kernel_ls.compile.cache import ResultCache
from kernel_ls.errors import KernelLsError
from kernel_ls.project import Project, root_of
from kernel_ls.settings import Settings, checked, load, options, plain


@dataclass
class Trouble:
    """One thing that is wrong, and the next step."""

    what: str
    next_step: str = ""


@dataclass
class Diagnosis:
    """Everything that the command tells."""

    version: int = 1
    kernel_ls: str = __version__
    server_python: str = ""
    folder: str = ""
    interpreter: dict[str, str] = field(default_factory=dict)
    triton: dict[str, str] = field(default_factory=dict)
    targets: list[dict[str, Any]] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)
    cache: dict[str, Any] = field(default_factory=dict)
    settings: list[dict[str, Any]] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)


def run(arguments: argparse.Namespace) -> int:
    """Look at everything and tell; the exit status: 2 where no kernel can be checked.

    Raises:
        UsageError: an option of the command line has a value that is not allowed.
    """
    folder = Path.cwd()
    given = {n: getattr(arguments, n) for n in OPTIONS if getattr(arguments, n, None) is not None}
    settings = checked(load(folder, command_line=given))
    diagnosis = asyncio.run(diagnose(folder, settings))
    if arguments.format == "json":
        sys.stdout.write(json.dumps(asdict(diagnosis), indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(as_text(diagnosis))
    return 0 if diagnosis.triton else 2


async def diagnose(folder: Path, settings: Settings) -> Diagnosis:
    """Look at everything. What fails is a trouble in the answer."""
    found = Diagnosis(
        server_python=f"{platform.python_version()} {sys.executable}",
        folder=str(root_of(folder)),
        gpus=_gpus(),
        cache=_cache(settings),
        settings=[
            {
                "name": option.name,
                "value": plain(getattr(settings, option.name.replace("-", "_"))),
                "origin": settings.origin(option.name),
            }
            for option in options()
        ],
        troubles=[Trouble(p.message, "the default is used until it is mended") for p in settings.problems],
    )
    if found.cache["off"]:
        found.troubles.append(
            Trouble(found.cache["off"], "everything is generated anew; `cache-dir` names another folder")
        )
    try:
        project = Project(root_of(folder), settings)
    except KernelLsError as error:
        found.troubles.append(Trouble(error.message, error.next_step))
        return found
    found.interpreter = {"path": project.interpreter.path, "chosen_by": project.interpreter.source}
    try:
        await project.open()
    except KernelLsError as error:
        found.troubles.append(Trouble(error.message, error.next_step))
        return found
    finally:
        await project.close()
    environment = project.environment
    assert environment is not None
    found.interpreter["version"] = environment.python
    found.triton = {"version": environment.triton, "path": environment.triton_path}
    backends = {target.split(":")[0] for target in environment.targets}
    for target in settings.targets:
        usable = not backends or target.backend in backends
        found.targets.append({"target": str(target), "warp_size": target.warp_size, "usable": usable})
        if not usable:
            step = f"its backends are: {', '.join(sorted(backends))}"
            found.troubles.append(Trouble(f"this Triton has no backend for {target}", step))
    return found


def as_text(found: Diagnosis) -> str:
    """The answer for a person."""
    lines = [f"kernel-ls {found.kernel_ls} under Python {found.server_python}", f"project      {found.folder}"]
    if found.interpreter:
        version = f"Python {found.interpreter['version']}, " if "version" in found.interpreter else ""
        lines.append(f"interpreter  {found.interpreter['path']} ({version}chosen by: {found.interpreter['chosen_by']})")
    else:
        lines.append("interpreter  none")
    if found.triton:
        lines.append(f"Triton       {found.triton['version']} at {found.triton['path']}")
    else:
        lines.append("Triton       none")
    lines += [
        f"target       {t['target']} (warps of {t['warp_size']}{'' if t['usable'] else ', not usable'})"
        for t in found.targets
    ]
    lines.append(f"GPU          {'; '.join(found.gpus) or 'none (checking needs none)'}")
    cache = found.cache
    state = (
        cache["off"]
        or f"{cache['entries']} results, {cache['bytes'] / (1 << 20):.1f} of {cache['max_bytes'] >> 20} MiB"
    )
    lines.append(f"cache        {cache['path']} ({state})")
    lines += ["", "settings"]
    width = max(len(s["name"]) for s in found.settings)
    for setting in found.settings:
        value = json.dumps(setting["value"], ensure_ascii=False)
        lines.append(f"  {setting['name']:<{width}}  {value}  ({setting['origin']})")
    lines.append("")
    if not found.troubles:
        lines.append("Nothing is wrong.")
    for trouble in found.troubles:
        lines.append(f"WRONG  {trouble.what}")
        if trouble.next_step:
            lines.append(f"       {trouble.next_step}")
    return "\n".join([*lines, ""])


def _cache(settings: Settings) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "path": str(settings.cache_folder),
        "entries": 0,
        "bytes": 0,
        "max_bytes": settings.cache_size << 20,
        "off": "",
    }
    if not settings.cache:
        shown["off"] = "the cache is off by the setting `cache`"
        return shown
    cache = ResultCache(settings.cache_folder, max_bytes=settings.cache_size << 20)
    stats = cache.stats()
    cache.close()
    return shown | {"path": stats.path, "entries": stats.entries, "bytes": stats.bytes, "off": stats.off}


def _gpus() -> list[str]:
    """The GPUs that the drivers' own tools list; none is needed for anything but launching."""
    for command in (
        ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"],
        ["rocminfo"],
    ):
        program = shutil.which(command[0])
        if program is None:
            continue
        try:
            done = subprocess.run([program, *command[1:]], capture_output=True, text=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode != 0:
            continue
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        if command[0] == "nvidia-smi":
            return lines
        return sorted({line.split(":", 1)[1].strip() for line in lines if line.startswith("Name:") and "gfx" in line})
    return []
