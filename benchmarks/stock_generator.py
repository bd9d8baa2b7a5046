"""Triton's own generator over jobs, without anything of the checker's: the floor that checks are compared with.

    python stock_generator.py < JOBS > RESULTS

Run under the interpreter whose Triton is meant. Each line of the input is `[repeat, Job.wire()]`; each line of the output
is `{"seconds", "accepted", "ttir_bytes"}`, the fastest of `repeat` runs. What is timed is what Triton does for a kernel that
it has not seen: contexts and dialects, the source, its parsing, the generation up to the first error or a verified module.
Building the functions from the job's texts is not timed; a user's process has done that at its import.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
import time
import types
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1] / "kernel_ls"


def worker_module(name: str) -> Any:
    """A module of the worker's, loaded as the worker loads it."""
    for package, parts in (("_reference", ()), ("_reference.compile", ("compile",))):
        if package not in sys.modules:
            made = types.ModuleType(package)
            made.__path__ = [str(PACKAGE.joinpath(*parts))]  # type: ignore[attr-defined]
            sys.modules[package] = made
    return importlib.import_module(f"_reference.compile.worker.{name}")


def generate(job: dict[str, Any]) -> dict[str, Any]:
    """Generate one job with the stock generator."""
    environment, versions = worker_module("environment"), worker_module("versions")
    diagnostics = worker_module("diagnostics")
    from triton._C.libtriton import ir  # noqa: PLC0415
    from triton.backends.compiler import GPUTarget  # noqa: PLC0415
    from triton.compiler.compiler import make_backend  # noqa: PLC0415

    try:
        built = environment.build(job)
    except environment.BuildError:
        return {"seconds": 0.0, "accepted": False, "ttir_bytes": 0}
    started = time.perf_counter()
    text = ""
    try:
        target = GPUTarget(*job["target"])
        backend = make_backend(target)
        options = backend.parse_options({k: v for k, v in built.options.items() if v is not None})
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        source = versions.source_of(built.kernel, built.signature, built.constants, built.attrs)
        functions, modules = backend.get_codegen_implementation(options), backend.get_module_map()
        with contextlib.redirect_stdout(io.StringIO()), diagnostics.captured():
            module = versions.make_ir(source, target, options, functions, modules, context)
        accepted = True
    except Exception:
        accepted = False
    seconds = time.perf_counter() - started
    if accepted:
        text = str(module)
    return {"seconds": seconds, "accepted": accepted, "ttir_bytes": len(text)}


def main() -> None:
    """Answer each line of the input."""
    out = sys.stdout
    sys.setrecursionlimit(6000)
    warm = False
    for line in sys.stdin:
        repeat, job = json.loads(line)
        if not warm:
            generate(job)
            warm = True
        found = [generate(job) for _ in range(repeat)]
        out.write(json.dumps(min(found, key=lambda f: f["seconds"])) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
