"""Signature help: the parameters of the function that is being called, and which of them the cursor is at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernel_ls.analysis.features import library, notation
from kernel_ls.analysis.features.context import enclosing_call
from kernel_ls.analysis.features.scope import Scope, called_function, called_path
from kernel_ls.analysis.features.snapshot import Snapshot
from kernel_ls.analysis.features.trail import Trail
from kernel_ls.model import Position


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's head, its parameters, the active one (None behind the last), and words about it."""

    label: str
    parameters: tuple[str, ...]
    active: int | None
    doc: str = ""


def signature(
    snapshot: Snapshot, lines: Sequence[str], position: Position, trail: Trail, chosen: Mapping[str, str]
) -> Signature | None:
    """The signature that is being given arguments at a position of the present text; None outside of calls of Triton's
    functions and of jit functions."""
    call = enclosing_call(lines, position)
    if call is None:
        return None
    scope = Scope.at(snapshot, lines, position, trail, chosen)
    function = called_function(snapshot, call)
    doc = ""
    if function is not None:
        name = function.name
        names = [p.name for p in function.parameters]
        reading = snapshot.active(function, chosen)
        own = reading is not None and reading.units.get(function.node.lineno) == reading.program.kernel
        types = {a.name: notation.argument(a) for a in reading.specialization.arguments} if reading and own else {}
        shown = [f"{n}: {types[n]}" if n in types else n for n in names]
    else:
        path = called_path(snapshot, call, scope)
        found = library.entry(snapshot.api, path) if path else None
        if found is None or "signature" not in found:
            return None
        name = call.name
        shown = library.parameters(found)
        names = [s.lstrip("*").partition("=")[0] for s in shown]
        doc = "\n\n".join(t for t in (library.constraint(path), library.summary(found)) if t)
    active: int | None = None
    if call.keyword:
        active = names.index(call.keyword) if call.keyword in names else None
    elif call.index < len(names):
        active = call.index
    return Signature(f"{name}({', '.join(shown)})", tuple(shown), active, doc)
