"""What Triton's own generator holds for each name of a job, as JSON: run under the interpreter whose Triton is meant.

    python hover_reference.py JOB.json

The program is built as the worker builds it; the generator is the stock one, which stops at the first error and knows
nothing of recovery. Every value that it gives an expression, and every value that it binds to a name, is written down.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import json
import sys
import types
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1] / "kernel_ls"


def _worker(name: str) -> Any:
    for package, parts in (("_reference", ()), ("_reference.compile", ("compile",))):
        if package not in sys.modules:
            made = types.ModuleType(package)
            made.__path__ = [str(PACKAGE.joinpath(*parts))]  # type: ignore[attr-defined]
            sys.modules[package] = made
    return importlib.import_module(f"_reference.compile.worker.{name}")


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    sys.setrecursionlimit(6000)
    environment, typetext, versions = _worker("environment"), _worker("typetext"), _worker("versions")
    from triton._C.libtriton import ir  # noqa: PLC0415
    from triton.backends.compiler import GPUTarget  # noqa: PLC0415
    from triton.compiler import code_generator  # noqa: PLC0415
    from triton.compiler.compiler import make_backend  # noqa: PLC0415

    built = environment.build(job)
    held: dict[str, dict[str, None]] = {}
    stock = code_generator.CodeGenerator

    class Recording(stock):  # type: ignore[misc,valid-type]
        def _record(self, node: Any, value: Any) -> None:
            unit = built.unit_of(self.file_name)
            if unit is None or not hasattr(node, "lineno"):
                return
            end = node.end_col_offset
            if isinstance(node, ast.arg):
                end = node.col_offset + len(node.arg.encode())
            key = f"{unit}:{node.lineno}:{node.col_offset}:{node.end_lineno}:{end}"
            held.setdefault(key, {}).setdefault(typetext.describe(value))

        def visit(self, node: Any) -> Any:
            stack = self.__dict__.setdefault("_stack", [])
            stack.append(node)
            try:
                value = super().visit(node)
            finally:
                stack.pop()
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._record(node, value)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self._record(node.target, self.lscope.get(node.target.id))
            elif isinstance(node, ast.NamedExpr):
                self._record(node.target, value)
            return value

        def assignTarget(self, target: Any, value: Any) -> Any:
            result = super().assignTarget(target, value)
            if isinstance(target, ast.Name):
                self._record(target, value)
            return result

        def set_value(self, name: str, value: Any) -> None:
            super().set_value(name, value)
            node = next((n for n in reversed(self.__dict__.get("_stack", [])) if hasattr(n, "lineno")), None)
            if isinstance(node, ast.For) and getattr(node.target, "id", "") == name:
                self._record(node.target, value)
            elif isinstance(node, ast.FunctionDef):
                every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg]
                for argument in every:
                    if argument is not None and argument.arg == name:
                        self._record(argument, value)

    target = GPUTarget(*job["target"])
    backend = make_backend(target)
    options = backend.parse_options({k: v for k, v in built.options.items() if v is not None})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = versions.source_of(built.kernel, built.signature, built.constants, built.attrs)
    code_generator.CodeGenerator = Recording
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        implementation, modules = backend.get_codegen_implementation(options), backend.get_module_map()
        try:
            versions.make_ir(source, target, options, implementation, modules, context)
        except Exception as error:  # a kernel that Triton rejects is compared as far as it came
            sys.stderr.write(f"{type(error).__name__}: {str(error)[:300]}\n")
    json.dump({key: list(texts) for key, texts in held.items()}, sys.stdout)


if __name__ == "__main__":
    main()
