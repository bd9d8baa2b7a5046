"""`kernel-ls record`: run a command and write down every launch of a Triton kernel that it makes."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from kernel_ls import recording
from kernel_ls.analysis.specialize.from_recorded import FILE, merged, records
from kernel_ls.commands.common import say
from kernel_ls.errors import UsageError
from kernel_ls.model import DEFAULT_TARGET, Target
from kernel_ls.project import root_of

SITE = Path(recording.__file__).parent / "site"


def run(arguments: argparse.Namespace) -> int:
    """Run the command; its exit status, or 2 where it could not be run."""
    command = [*arguments.command]
    if command[:1] == ["--"]:
        del command[0]
    if not command:
        raise UsageError("record needs a command: kernel-ls record -- python script.py")
    root = root_of(Path.cwd())
    target = _target(arguments.target)
    output = Path(arguments.output).absolute() if arguments.output else root / FILE
    with tempfile.TemporaryDirectory(prefix="kernel-ls-") as place:
        made = Path(place, "launches")
        status = _run(command, _environment(made, target if arguments.dry_run else None))
        text = made.read_text("utf-8", "replace") if made.is_file() else ""
    found = records(text)
    if not found.launches:
        say(
            f"no launch was recorded: does `{command[0]}` import Triton and launch a kernel"
            f"{'' if arguments.dry_run else ' (with no GPU, use --dry-run)'}?"
        )
        return status
    try:
        before = output.read_text("utf-8", "replace") if output.is_file() else ""
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=output.parent, delete=False, encoding="utf-8") as new:
            new.write(merged(before, text, root.as_posix()))
        Path(new.name).replace(output)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from None
    kernels = {(launch.file, launch.kernel) for launch in found.launches}
    count = len(found.launches)
    say(
        f"recorded {count} distinct launch{'' if count == 1 else 'es'} of {len(kernels)} "
        f"kernel{'' if len(kernels) == 1 else 's'} in {output}"
    )
    return status


def _target(text: str | None) -> Target:
    try:
        return Target.parse(text) if text else DEFAULT_TARGET
    except ValueError as error:
        raise UsageError(str(error)) from None


def _environment(made: Path, target: Target | None) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(SITE), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, "PYTHONPATH": path, "KERNEL_LS_RECORD": str(made)}
    environment.pop("KERNEL_LS_DRY_RUN", None)
    if target is not None:
        environment["KERNEL_LS_DRY_RUN"] = f"{target.backend}:{target.arch}:{target.warp_size}"
    return environment


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run the user's command with its own input and output; its exit status as a shell gives it."""
    if command[0].endswith(".py"):
        raise UsageError(f"{command[0]!r} is no command: kernel-ls record -- python {command[0]}")
    sys.stdout.flush()
    try:
        process = subprocess.Popen(command, env=environment)
    except FileNotFoundError:
        raise UsageError(f"there is no command {command[0]!r}") from None
    except OSError as error:
        raise UsageError(f"{command[0]!r} cannot be run: {error.strerror}") from None
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:
            # The command has been told as well: what it recorded until then is kept.
            continue
    return 128 + signal.Signals(-status).value if status < 0 else status
