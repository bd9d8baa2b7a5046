"""Not a test: checks jobs in a real worker's modules, and generates the same jobs with the stock generator.

One JSON request a line on stdin, `{"job": Job.wire()}`; one reply a line: the wire result, and under `stock` the TTIR
that Triton itself makes of the job or the error that it gives.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import types
from typing import Any


def main(folder: str) -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name, parts in (("_kernel_ls_worker", ()), ("_kernel_ls_worker.compile", ("compile",))):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(folder, *parts)]  # noqa: PTH118
        sys.modules[name] = package
    frontend = importlib.import_module("_kernel_ls_worker.compile.worker.frontend")
    for line in sys.stdin:
        job = json.loads(line)["job"]
        reply = {**frontend.check(job), "stock": stock(frontend, job)}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def stock(frontend: Any, job: dict[str, Any]) -> dict[str, str]:
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    try:
        built = frontend.environment.build(job)
        target = GPUTarget(*job["target"])
        backend = make_backend(target)
        options = backend.parse_options(built.options)
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        source = frontend.versions.source_of(built.kernel, built.signature, built.constants, built.attrs)
        implementation, modules = backend.get_codegen_implementation(options), backend.get_module_map()
        module = frontend.versions.make_ir(source, target, options, implementation, modules, context)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"ttir": str(module)}


if __name__ == "__main__":
    main(sys.argv[1])
