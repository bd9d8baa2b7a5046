"""The command `kernel-ls`: arguments in, an exit status out.

0: nothing of level error was found; 1: something was; 2: the job could not be done, and one line on standard error says why;
130: the user interrupted it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from kernel_ls import __version__
from kernel_ls.commands.common import not_yet, say
from kernel_ls.errors import KernelLsError

FORMATS = ("full", "concise", "json", "sarif", "github")
STAGES = ("ttir", "ttgir", "llir", "ptx", "sass", "amdgcn")

Command = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` (by default the process's arguments) says; the exit status."""
    arguments = parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except KernelLsError as error:
        say(" ".join(str(error).split("\n")[0].split()))
        return 2
    except BrokenPipeError:
        # The reader has seen enough, as `head` does; nothing is left to write to, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KeyboardInterrupt:
        return 130
    return status


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        say(f"{message} (see `{self.prog} --help`)")
        raise SystemExit(2)


def parser() -> argparse.ArgumentParser:
    """The arguments of all commands."""
    top = _Parser(
        prog="kernel-ls",
        description="Checks Triton GPU kernels with the code generator of the Triton that they use. No GPU is needed.",
        epilog="Exit status: 0 no error found, 1 errors found, 2 the job could not be done.",
    )
    top.add_argument("--version", action="version", version=f"kernel-ls {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)

    def command(name: str, run: Command, summary: str, detail: str = "") -> argparse.ArgumentParser:
        made = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}. {detail}".strip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.add_argument("--version", action="version", version=f"kernel-ls {__version__}")
        made.set_defaults(run=run)
        return made

    _check(command("check", _loaded("check"), "check the kernels of files and folders"))
    _server(command("server", _loaded("serve"), "run the language server", "It speaks on standard input and output."))
    specialize = command(
        "specialize",
        _loaded("kernel", "specialize"),
        "show the specializations in use and the evidence for each parameter",
    )
    specialize.add_argument("place", metavar="FILE[::KERNEL]")
    _format(specialize)
    _compiling(specialize)
    hover = command("hover", _loaded("features", "hover"), "show what the editor would show on hover")
    hover.add_argument("place", metavar="FILE:ROW:COL")
    _format(hover)
    _compiling(hover)
    hints = command("hints", _loaded("features", "hints"), "show the inlay hints of a file")
    hints.add_argument("place", metavar="FILE")
    hints.add_argument("--level", choices=("types", "all"), default="types", help="(default: %(default)s)")
    _format(hints)
    _compiling(hints)
    ir = command("ir", _loaded("kernel", "ir"), "print what a kernel becomes")
    ir.add_argument("place", metavar="FILE::KERNEL")
    ir.add_argument("--stage", choices=STAGES, default="ttir", help="which representation (default: %(default)s)")
    ir.add_argument("--line", type=int, metavar="N", help="only what line N became")
    ir.add_argument("--diff", metavar="STAGE", help="compare with another stage")
    _compiling(ir)
    _missing(command, "compile", "compile a kernel fully and show its resources", "place", "FILE::KERNEL")
    _missing(command, "run", "launch and profile a kernel on the GPU", "place", "FILE::KERNEL")
    record = command(
        "record",
        _loaded("record"),
        "run a command and record every kernel launch that it makes",
        "What was passed is then the best evidence for what a kernel's arguments are. The command needs Triton and nothing else.",
    )
    record.add_argument(
        "--dry-run", action="store_true", help="without a GPU: launches are bound, recorded and skipped"
    )
    record.add_argument("--target", metavar="TARGET", help="what a dry run binds for (default: cuda:90)")
    record.add_argument("--output", metavar="FILE", help="where to (default: .kernel-ls/launches.jsonl in the project)")
    record.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="such as: -- python script.py")
    rule = command("rule", _loaded("rule"), "show the manual page of a finding code")
    which = rule.add_mutually_exclusive_group(required=True)
    which.add_argument("code", nargs="?", metavar="CODE")
    which.add_argument("--all", action="store_true", help="every code")
    _format(rule)
    doctor = command(
        "doctor",
        _loaded("doctor"),
        "show the interpreter, Triton, targets, caches and settings in force, and what is wrong",
    )
    _format(doctor)
    _compiling(doctor)
    stubs = command(
        "stubs",
        _loaded("stubs"),
        "write type stubs of the installed Triton",
        "With them pyright and other type checkers stop greying out kernels.",
    )
    stubs.add_argument("folder", nargs="?", default="typings", metavar="FOLDER", help="(default: %(default)s)")
    _compiling(stubs)
    clean = command("clean", _loaded("clean"), "empty the cache")
    clean.add_argument("--cache-dir", metavar="FOLDER", help="the cache's folder")
    return top


def _check(check: argparse.ArgumentParser) -> None:
    check.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files, folders, FILE::KERNEL, or - for standard input (default: the working folder)",
    )
    check.add_argument("--output-format", choices=FORMATS, default="full", help="(default: %(default)s)")
    check.add_argument("--statistics", action="store_true", help="print only how often each code was found")
    check.add_argument("--select", action="append", type=_split, metavar="CODE", help="report only these codes")
    check.add_argument("--ignore", action="append", type=_split, metavar="CODE", help="do not report these codes")
    check.add_argument("--exclude", action="append", metavar="PATTERN", help="leave out, as a pattern of .gitignore")
    check.add_argument(
        "--no-info", dest="include_info", action="store_false", default=None, help="no information-level findings"
    )
    check.add_argument("--fix", action="store_true", help="apply the proved fixes")
    check.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    check.add_argument("--watch", action="store_true", help="check again whenever a file changes")
    check.add_argument("--exit-zero", action="store_true", help="exit with 0 whatever is found")
    check.add_argument("--stdin-filename", metavar="PATH", help="what to call standard input")
    check.add_argument(
        "--environment",
        choices=("static", "import"),
        default="static",
        help="how globals are known (default: %(default)s)",
    )
    check.add_argument("--deep", action="store_true", help="compile fully and report on resources")
    _compiling(check)


def _compiling(command: argparse.ArgumentParser) -> None:
    """Options of every command that compiles."""
    group = command.add_argument_group("compiling")
    group.add_argument("--python", metavar="PATH", help="the interpreter whose Triton is used")
    group.add_argument(
        "--target", dest="targets", action="append", metavar="TARGET", help="cuda:90, hip:gfx942, ... (repeatable)"
    )
    group.add_argument("--jobs", type=int, metavar="N", help="workers at a time (default: one a core)")
    group.add_argument("--budget", type=float, metavar="SECONDS", help="for one specialization")
    group.add_argument("--deadline", type=float, metavar="SECONDS", help="for the guesses about one kernel")
    group.add_argument("--no-cache", dest="cache", action="store_false", default=None, help="generate everything anew")
    group.add_argument("--cache-dir", metavar="FOLDER", help="the cache's folder")


def _server(server: argparse.ArgumentParser) -> None:
    server.add_argument("--stdio", action="store_true", help="on standard input and output (the default)")
    server.add_argument("--tcp", metavar="HOST:PORT", help="wait for one client there instead")
    server.add_argument(
        "--allow-remote", action="store_true", help="let --tcp listen on more than the loopback interface"
    )
    _compiling(server)


def _format(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=("text", "json"), default="text", help="(default: %(default)s)")


def _missing(
    command: Callable[[str, Command, str], argparse.ArgumentParser],
    name: str,
    summary: str,
    argument: str,
    metavar: str,
) -> None:
    """A command of the surface that other work brings: it takes anything and says so."""
    made = command(name, lambda _: not_yet(name), f"{summary} (not available yet)")
    made.add_argument(argument, nargs=argparse.REMAINDER, metavar=metavar)


def _split(text: str) -> list[str]:
    return [code.strip() for code in text.split(",") if code.strip()]


def _joined(arguments: argparse.Namespace) -> argparse.Namespace:
    """`--select a,b --select c` is one list."""
    for name in ("select", "ignore"):
        value = getattr(arguments, name, None)
        if value is not None:
            setattr(arguments, name, [code for codes in value for code in codes])
    return arguments


def _loaded(module: str, function: str = "run") -> Command:
    """A command of `kernel_ls.commands`, loaded when it is run: `--version` and errors of arguments answer at once."""

    def run(arguments: argparse.Namespace) -> int:
        chosen: Command = getattr(importlib.import_module(f"kernel_ls.commands.{module}"), function)
        return chosen(_joined(arguments))

    return run


if __name__ == "__main__":
    sys.exit(main())
