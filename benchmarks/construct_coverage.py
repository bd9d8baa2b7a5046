"""How much of Triton's own code generator runs while the cases are checked.

    python -m benchmarks.construct_coverage [--triton-python PATH] [--all]

Every case of `tests/cases` and every file of `examples` is checked as the command line checks it, by a worker that traces
the lines of `triton/compiler/code_generator.py`. Printed are the share of lines that ran, and those that did not, by
function, with the reason of `REASONS`; a line without a reason is a construct that has no case yet.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from benchmarks.corpora import ROOT
from kernel_ls.analysis.environment import TritonApi, Workspace
from kernel_ls.checker import Checker, CheckOptions
from kernel_ls.compile.client import WorkerCompiler
from kernel_ls.model import DEFAULT_TARGET, Target
from kernel_ls.sources import FileSystemProvider
from tests.caselib import Case, read_cases, specifier

_TRACER = """
import os, sys
where, target = sys.argv[1:3]
seen, out = set(), open(where, "a", buffering=1)
def lines(frame, event, _argument):
    number = frame.f_lineno
    if number not in seen:
        seen.add(number)
        out.write("%d\\n" % number)
    return lines
def calls(frame, event, _argument):
    return lines(frame, event, None) if frame.f_code.co_filename == target else None
text, folder = sys.argv[-2:]
sys.argv = ["-c", folder]
sys.settrace(calls)
exec(text, {"__name__": "__main__"})
"""
"""What the worker's interpreter runs first. A line is written when it is first met, so that a killed worker loses none."""

_NEVER = "Triton itself never gets there: "
_OURS = "the worker answers this itself, before Triton's line: "
_ENVIRONMENT = "hangs on an environment variable that the worker is not given"

_PYTHON = "the syntax trees of Python 3.9 and later have no such node"

REASONS: dict[tuple[str, str], str] = {
    ("_apply_to_tuple_values", "assert False"): _NEVER + "both callers pass tuples",
    ("visit_Attribute", "if isinstance(node.value"): _OURS + "it looks attributes up to no purpose",
    ("visit_Attribute", "if node.value.id"): _OURS + "as above",
    ("visit_Attribute", "value = self.gscope"): _OURS + "as above",
    ("visit_Attribute", "fn = getattr"): _OURS + "as above",
    ("visit_Attribute", "return self._visit_function"): _OURS + "as above",
    ("visit_Attribute", "return False"): _OURS + "as above",
    ("visit_Attribute", "return self.visit(node.value)"): _OURS + "as above",
    ("visit_Module", "return self._visit_stmts"): _NEVER + "only `if` and `with` are searched for a `return`",
    ("visit_FunctionDef", "return self._visit_stmts"): _NEVER + "as above, and kernels hold no functions",
    ("flatten_ir_types", "continue"): _NEVER + "types that are None were filtered out before",
    ("visit_compound_statement", "stmts = [stmts]"): _NEVER + "bodies are lists",
    ("visit_FunctionDef", "self.builder.set_insertion_point_to_end(insert_pt)"): _NEVER + "a new builder has no block",
    ("visit_Store", ""): _NEVER + "the context of a target is not visited, and a list as a target is refused",
    ("visit_then_else_blocks", "f'"): _OURS + "the arms are reconciled before Triton compares them",
    ("visit_then_else_blocks", 'f"'): _OURS + "as above",
    ("visit_If", "raise self._unsupported("): _OURS + "a `return` in a loop is found where it stands",
    ("visit_If", 'node, "Cannot have'): _OURS + "as above",
    ("visit_UnaryOp", "raise self._unsupported(node, f\"AST unary operator '{node.op"): _NEVER
    + "Python has these four",
    ("visit_withitem", ""): _NEVER + "`visit_With` reads its items itself",
    ("visit_ExtSlice", ""): _PYTHON,
    ("visit_Index", ""): _PYTHON,
    ("visit_NoneType", ""): _PYTHON,
    ("call_JitFunction", "raise"): _ENVIRONMENT,
    ("call_Function", "raise"): _ENVIRONMENT,
    ("visit", "raise"): _ENVIRONMENT,
    ("visit", "return"): _OURS + "what is not there is not visited",
    ("visit_BoolOp", "raise self._unsupported("): _NEVER + "Python has `and` and `or`",
    ("visit_BoolOp", 'node, "AST boolean'): _NEVER + "as above",
    ("visit_JoinedStr", "raise AssertionError"): _NEVER + "an f-string has texts and values",
}
"""Why a line is left out, by function and the beginning of the line; an empty beginning is for all of a function."""


@dataclass(frozen=True)
class Line:
    """One executable line of the generator's module."""

    number: int
    function: str
    text: str

    @property
    def reason(self) -> str:
        """Why it does not run, as far as that is known."""
        for (function, beginning), reason in REASONS.items():
            if function == self.function and self.text.startswith(beginning):
                return reason
        return ""


def executable(path: Path) -> dict[int, Line]:
    """The executable lines of a module by their number."""
    text = path.read_text("utf-8")
    lines = text.splitlines()
    inside: dict[int, str] = {}
    for node in _functions(ast.parse(text)):
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            inside[number] = node.name  # outer functions come first: the innermost one stays
    numbers = {n for code in _codes(compile(text, str(path), "exec")) for _, _, n in code.co_lines() if n}
    return {n: Line(n, inside.get(n, ""), lines[n - 1].strip()) for n in sorted(numbers)}


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        yield from _functions(node)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


async def check(folder: Path, paths: Iterable[str], compiler: WorkerCompiler, targets: Iterable[str]) -> None:
    """Check files of a folder, with their fixes, and throw away what was found."""
    environment = await compiler.environment()
    workspace = Workspace(FileSystemProvider([folder.as_posix()], environment.path), TritonApi(await compiler.api()))
    given = tuple(Target.parse(t) for t in targets) or (DEFAULT_TARGET,)
    checker = Checker(compiler, workspace, CheckOptions(targets=given, triton_version=environment.triton))
    for path in paths:
        await checker.check_file(str(folder / path))


async def run(cases: list[Case], python: str, version: str) -> None:
    """Check every case and every example with one worker."""
    with tempfile.TemporaryDirectory() as made:
        compiler = WorkerCompiler(python, cache_dir=Path(made) / "cache", start_deadline=300.0, grace=60.0)
        try:
            for index, case in enumerate(cases):
                if not specifier(case.settings.triton).contains(version, prereleases=True):
                    continue
                folder = Path(made) / str(index)
                for path, data in case.encoded().items():
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_bytes(data)
                python_files = [path for path in case.files if path.endswith(".py")]
                await check(folder, python_files, compiler, case.settings.targets)
            for folder in (ROOT / "examples", ROOT / "examples" / "broken"):
                await check(folder, sorted(p.name for p in folder.glob("*.py")), compiler, ())
        finally:
            await compiler.close()


def main() -> None:
    """Run, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triton-python", default=sys.executable)
    parser.add_argument("--all", action="store_true", help="print also the lines whose reason is known")
    arguments = parser.parse_args()
    probe = (
        "import importlib.metadata as m, importlib.util as u, os;"
        "print(m.version('triton')); print(os.path.dirname(u.find_spec('triton').origin))"
    )
    answer = subprocess.run([arguments.triton_python, "-I", "-c", probe], capture_output=True, text=True, check=True)
    version, package = answer.stdout.split("\n")[:2]
    module = Path(package) / "compiler" / "code_generator.py"
    cases = [case for path in sorted((ROOT / "tests" / "cases").glob("*.md")) for case in read_cases(path)]
    with tempfile.TemporaryDirectory() as folder:
        seen, script = Path(folder) / "lines", Path(folder) / "python"
        seen.touch()
        words = [arguments.triton_python, "-c", _TRACER, str(seen), str(module)]
        script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', "utf-8")
        script.chmod(0o755)
        asyncio.run(run(cases, str(script), version))
        ran = {int(line) for line in seen.read_text("utf-8").split()}
    _print(executable(module), ran, version, len(cases), every=arguments.all)


def _print(lines: dict[int, Line], ran: set[int], version: str, cases: int, *, every: bool) -> None:
    missing = [line for number, line in lines.items() if number not in ran]
    share = 100 * (len(lines) - len(missing)) / len(lines)
    print(f"Triton {version}, {cases} cases: {len(lines) - len(missing)} of {len(lines)} lines ran, {share:.1f} %")
    unknown = [line for line in missing if not line.reason]
    print(f"left out: {len(missing)}, of them {len(unknown)} without a reason")
    shown = missing if every else unknown
    function = None
    for line in shown:
        if line.function != function:
            function = line.function
            print(f"\n{function or 'the module'}")
        print(f"  {line.number:5} {line.text[:90]}" + (f"\n          {line.reason}" if line.reason else ""))


if __name__ == "__main__":
    main()
