"""Not a test: builds programs with a worker's `environment` under some interpreter, and looks at the result.

One JSON request a line on stdin: `{"job": Job.wire(), "look": source of an expression or null}`; one reply a line. The
expression sees `built`, `env`, `triton`, `tl` and `ttir()`, which has Triton generate the kernel. The code is the test's own.
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
    env = importlib.import_module("_kernel_ls_worker.compile.worker.environment")
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply: Any = {"value": look(env, request)}
        except Exception as error:
            cause = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            reply = {
                "error": type(error).__name__,
                "text": str(error),
                "cause": type(cause).__name__,
                "said": str(cause),
            }
        replies.write(json.dumps(reply, default=repr) + "\n")
        replies.flush()


def look(env: Any, request: dict[str, Any]) -> Any:
    import triton
    import triton.language as tl

    built = env.build(request["job"])

    def ttir() -> str:
        from triton._C.libtriton import ir
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
        from triton.compiler.compiler import make_backend

        target = GPUTarget(*request["job"]["target"])
        backend = make_backend(target)
        options = backend.parse_options(built.options)
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        source = ASTSource(built.kernel, built.signature, built.constants, built.attrs)
        if built.kernel.is_gluon():
            from triton.experimental.gluon._runtime import GluonASTSource

            source = GluonASTSource(built.kernel, built.signature, built.constants, built.attrs)
        codegen, modules = backend.get_codegen_implementation(options), backend.get_module_map()
        if "target" in source.make_ir.__code__.co_varnames[:2]:
            return str(source.make_ir(target, options, codegen, modules, context))
        return str(source.make_ir(options, codegen, modules, context))

    return eval(request["look"], {"built": built, "env": env, "triton": triton, "tl": tl, "ttir": ttir, "sys": sys})


if __name__ == "__main__":
    main(sys.argv[1])
