"""The layers of ARCHITECTURE.md, enforced by a walk over the imports (and a few calls) of every module."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "kernel_ls"

# What each part of the package may import of the others; a part may always import itself. A new top-level module is
# entered here and in ARCHITECTURE.md, section "Layers", together.
_BASE = {"model", "errors"}
_PURE = _BASE | {"pyeval", "settings"}
_PIPELINE = (
    _PURE
    | {"analysis", "compile", "checker", "kept", "sources", "discovery", "neighbours"}
    | {"kept_reports", "kept_learnt"}
)
ALLOWED: dict[str, set[str]] = {
    "": set(),  # kernel_ls/__init__.py
    "model": set(),
    "errors": set(),
    "pyeval": set(),
    "settings": _BASE,
    "sources": _BASE,
    "discovery": _BASE,
    "neighbours": _BASE | {"discovery"},
    "kept_reports": _BASE | {"compile"},
    "kept_learnt": _BASE | {"analysis", "compile"},
    "kept": _PURE | {"analysis"},
    "analysis": _PURE,
    "compile": _PURE,
    "checker": _PURE | {"analysis", "compile", "kept"},
    "project": _PIPELINE,
    "memory": set(),
    "framing": set(),
    "views": _PURE | {"analysis"},
    "background": _PIPELINE | {"project"},
    "session": _PIPELINE | {"views"},
    "report": _PIPELINE,
    # Runs in the user's process, with the standard library and Triton alone.
    "recording": set(),
    "convert": _PIPELINE | {"session"},
    "requests": _PIPELINE | {"project", "background", "session", "convert", "server"},
    "server": _PIPELINE | {"memory", "project", "background", "session", "convert", "requests"},
    "connection": _BASE | {"memory", "framing", "server"},
    # One of the terminal's commands starts the server.
    "commands": _PIPELINE | {"project", "background", "report", "connection", "recording", "memory"},
    "cli": _PIPELINE | {"commands"},
    "__main__": {"cli"},
}
WORKER = "compile/worker/"
PROTOCOL_LIBRARIES = {"pygls", "lsprotocol"}
PROTOCOL_MODULES = {"server.py", "connection.py", "requests.py", "convert.py"}
# A pure part neither waits nor touches anything outside its arguments.
IMPURE_MODULES = {
    *("asyncio", "concurrent", "ctypes", "fcntl", "glob", "http", "importlib", "io", "linecache", "mmap"),
    *("multiprocessing", "os", "runpy", "select", "shutil", "signal", "socket", "sqlite3", "subprocess", "sys"),
    *("tempfile", "threading", "time", "urllib"),
}
IMPURE_EXCEPTIONS = {"os.path", "sys.stdlib_module_names", "sys.getrecursionlimit"}
# The registry of rules imports the modules of its own package, and nothing by a name that comes from a file.
REGISTRY = ("analysis/rules/__init__.py", "importlib")
CODE_RUNNERS = {"exec", "eval", "compile", "__import__"}
FILE_OPENERS = {"read_text", "read_bytes", "write_text", "write_bytes"}


def test_every_module_keeps_to_its_layer() -> None:
    sources = {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    assert "model.py" in sources
    assert sorted(violations(sources)) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("model.py", "from kernel_ls.errors import KernelLsError"),
        ("pyeval/values.py", "from kernel_ls import model"),
        ("pyeval/values.py", "import libcst"),
        ("analysis/a.py", "from kernel_ls.compile import client"),
        ("analysis/rules/a.py", "from ...compile.client import Compiler"),
        ("analysis/a.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import kernel_ls.compile.client"),
        ("compile/client.py", "def f():\n    from kernel_ls.analysis import kernels"),
        ("compile/client.py", "from kernel_ls import analysis"),
        ("checker.py", "from . import session"),
        ("session.py", "from .server import Server"),
        ("server.py", "import kernel_ls.cli"),
        ("cli.py", "from lsprotocol import types"),
        ("session.py", "import pygls.workspace"),
        ("compile/client.py", "import triton"),
        ("analysis/a.py", "from triton.language import core"),
        ("compile/worker/loop.py", "from kernel_ls import model"),
        ("compile/worker/loop.py", "from ..client import Compiler"),
        ("compile/worker/loop.py", "import rich"),
        ("compile/worker/generator.py", "import triton\nNEW = triton.__version__ >= '3.9'"),
        ("compile/worker/generator.py", "NEW = version() >= (3, 9)"),
        ("compile/worker/generator.py", "if triton_version.startswith('3.9'): pass"),
        ("checker.py", "if report.triton_version != '3.9.0': pass"),
        ("analysis/a.py", "import subprocess"),
        ("analysis/a.py", "from pathlib import Path\nText = Path('x').read_text()"),
        ("analysis/a.py", "open('x')"),
        ("analysis/a.py", "import os\nos.stat('x')"),
        ("analysis/environment/a.py", "exec('x = 1')"),
        ("checker.py", "eval('1')"),
        ("pyeval/interpret.py", "__import__('x')"),
        ("novel.py", "import ast"),
    ],
)
def test_a_planted_violation_is_found(path: str, source: str) -> None:
    assert violations({path: source})


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("checker.py", "from kernel_ls.analysis import kernels\nfrom kernel_ls.compile.client import Compiler"),
        ("analysis/rules/a.py", "from ..document import parse\nfrom kernel_ls.model import Finding\nimport os.path"),
        ("compile/worker/loop.py", "import sys, triton\nfrom . import versions\nNEW = sys.version_info >= (3, 11)"),
        ("compile/worker/loop.py", "from ...pyeval import interpret\nexec('def f(): pass')"),
        ("compile/worker/versions.py", "import triton\nNEW = triton.__version__ >= '3.9'"),
        ("compile/client.py", "import asyncio, subprocess"),
        ("server.py", "from pygls.lsp.server import LanguageServer\nfrom kernel_ls.session import Session"),
        ("analysis/a.py", "import re\nre.compile('x')\nchanged = key != (3, 'x')"),
    ],
)
def test_what_the_layers_allow_is_not_reported(path: str, source: str) -> None:
    assert violations({path: source}) == []


def violations(sources: Mapping[str, str]) -> list[str]:
    """What the modules (path in the package -> text) do against the layers, a sentence each."""
    found = []
    for path, source in sources.items():
        tree = ast.parse(source, path)
        for line, problem in (*_imports(path, tree), *_comparisons(path, tree), *_calls(path, tree)):
            found.append(f"kernel_ls/{path}:{line}: {problem}")
    return found


def _part(path: str) -> str:
    first = path.split("/", maxsplit=1)[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


def _imports(path: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    part = _part(path)
    if part not in ALLOWED:
        yield 1, f"the part {part!r} has no layer; give it one in ARCHITECTURE.md and in ALLOWED"
        return
    in_worker = path.startswith(WORKER)
    pure = part in ("analysis", "pyeval", "model", "errors")
    for line, name in _imported_names(path, tree):
        root, _, inside = name.partition(".")
        if root == "kernel_ls":
            target = inside.split(".")[0]
            target = "" if target.startswith("__") else target
            if in_worker and not (inside + ".").startswith(("compile.worker.", "pyeval.")):
                yield line, f"the worker imports {name}, but it is alone with pyeval under the user's Python"
            elif target != part and target in ALLOWED and target not in ALLOWED[part] and target != "":
                yield line, f"{part or 'the package'} may not know {target}"
            elif target != part and target not in ALLOWED:
                yield line, f"{name}: the part {target!r} has no layer"
            elif not in_worker and inside.startswith("compile.worker.") and part != "compile":
                yield line, f"{name}: the worker's code is only for its own process"
        elif root in PROTOCOL_LIBRARIES and path not in PROTOCOL_MODULES:
            yield line, f"{name}: only {' and '.join(sorted(PROTOCOL_MODULES))} speak the protocol's types"
        elif root == "triton" and not in_worker and part != "recording":
            yield line, f"{name}: only the worker imports Triton"
        elif (in_worker or part == "pyeval") and root not in sys.stdlib_module_names and root != "triton":
            yield line, f"{name}: the user's environment has the standard library and Triton, nothing else"
        elif pure and root in IMPURE_MODULES and name not in IMPURE_EXCEPTIONS and (path, name) != REGISTRY:
            yield line, f"{name}: {part} is pure"


def _imported_names(path: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Absolute names of everything imported, at any depth; `from x import y` gives `x.y`."""
    package = ["kernel_ls", *path.split("/")[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def _comparisons(path: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Comparisons that look at Triton's version: by the name of an operand, or by a bare `(3, n)`."""
    if path == WORKER + "versions.py":
        return
    for node in ast.walk(tree):
        operands: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "startswith":
            operands = [node.func.value]
        # Python's own version and the wire protocol's are others' business.
        text = " ".join(ast.unparse(operand) for operand in operands).lower()
        if "sys.version_info" in text:
            continue
        if ("triton" in text and "version" in text) or any(_is_version_pair(operand) for operand in operands):
            yield node.lineno, "only compile/worker/versions.py compares Triton versions"


def _is_version_pair(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Tuple)
        and 2 <= len(node.elts) <= 3
        and all(isinstance(item, ast.Constant) and isinstance(item.value, int) for item in node.elts)
        and isinstance(node.elts[0], ast.Constant)
        and node.elts[0].value == 3
    )


def _calls(path: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    if path.startswith(WORKER):
        return
    pure = _part(path) in ("analysis", "pyeval", "model", "errors")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in CODE_RUNNERS:
            yield node.lineno, f"{node.func.id}(): checking runs no code of the file"
        elif pure and isinstance(node.func, ast.Name) and node.func.id in ("open", "input", "print"):
            yield node.lineno, f"{node.func.id}(): {_part(path)} is pure"
        elif pure and isinstance(node.func, ast.Attribute) and node.func.attr in FILE_OPENERS:
            yield node.lineno, f".{node.func.attr}(): {_part(path)} is pure"
