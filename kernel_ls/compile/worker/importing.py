"""Imports a module of the user's and tells what some of its names hold: the one part of a check that runs user code.

It is started only for `--environment import`, as a program of its own (`PYTHON importing.py`) that lives for one module:
a request comes as JSON on standard input, the answer goes as JSON to the descriptor that standard output was at the start.
What the module prints goes to standard error. Standard library only, as for the worker.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import sys
from typing import Any

_MOST = 4096
"""Elements of a collection beyond which it is no constant of a kernel."""


def main() -> int:
    """Answer one request: `{"root": folder, "module": dotted name, "names": [...]}` -> `{"values": ..., "error": ...}`."""
    answer = os.dup(1)
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115
    # The folder of this file came first on the path; the user's comes there instead.
    sys.path[0] = request["root"]
    result: dict[str, Any] = {"values": {}, "error": ""}
    try:
        module = importlib.import_module(request["module"])
    except BaseException as error:  # a module may well end the process
        result["error"] = f"{type(error).__name__}: {error}"
    else:
        for name in request["names"]:
            with contextlib.suppress(Exception):
                wire = to_wire(_member(module, name))
                if wire is not None:
                    result["values"][name] = wire
    with os.fdopen(answer, "w") as out:
        json.dump(result, out)
    return 0


def _member(module: Any, dotted: str) -> Any:
    value = module
    for part in dotted.split("."):
        value = getattr(value, part)
    return value


def to_wire(value: Any, depth: int = 0) -> Any:
    """A value as plain data (ARCHITECTURE.md, "Values"), or None where it is none that a kernel could hold as a constant."""
    if value is None or isinstance(value, (bool, int, str)):
        return {"k": "lit", "v": value}
    if isinstance(value, float):
        return {"k": "lit", "v": value} if math.isfinite(value) else {"k": "float", "v": str(value)}
    if depth > 8:
        return None
    if isinstance(value, (tuple, list)) and len(value) <= _MOST:
        items = [to_wire(item, depth + 1) for item in value]
        kind = "tuple" if isinstance(value, tuple) else "list"
        return None if any(item is None for item in items) else {"k": kind, "items": items}
    return _of_triton(value, depth)


def _of_triton(value: Any, depth: int) -> Any:
    language = sys.modules.get("triton.language")
    if language is None:
        return None
    if isinstance(value, language.constexpr):
        inner = to_wire(value.value, depth + 1)
        return None if inner is None else {"k": "constexpr", "v": inner}
    for name in dir(language):
        if not name.startswith("_") and getattr(language, name, None) is value:
            return {"k": "ref", "path": f"triton.language.{name}"}
    return None


if __name__ == "__main__":
    sys.exit(main())
