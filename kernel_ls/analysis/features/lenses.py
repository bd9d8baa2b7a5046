"""What stands above each kernel: its active specialization, to choose another, and its TTIR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernel_ls.analysis.features import notation
from kernel_ls.analysis.features.hover import describe, evidence_text, where
from kernel_ls.analysis.features.snapshot import KernelView, Snapshot
from kernel_ls.model import Json, Span, Specialization

SELECT = "kernelLs.selectSpecialization"
SHOW_IR = "kernelLs.showIr"
_MOST = 4


@dataclass(frozen=True, slots=True)
class Lens:
    """A line above a kernel: its title, and what a click does."""

    span: Span
    title: str
    command: str
    arguments: tuple[Any, ...]
    tooltip: str = ""


def lenses(snapshot: Snapshot, chosen: Mapping[str, str]) -> tuple[Lens, ...]:
    """The lenses of the kernels of a snapshot's own file."""
    found: list[Lens] = []
    for view in snapshot.kernels:
        if view.function.path != snapshot.path or not view.trials:
            continue
        active = view.index(chosen.get(view.name, ""))
        specialization = view.specializations[active]
        span = view.function.name_span
        count = len(view.trials)
        number = f"{active + 1} of {count}: " if count > 1 else ""
        found.append(
            Lens(span, f"{number}{title(specialization)}", SELECT, (snapshot.path, view.name), tooltip(view, active))
        )
        found.append(Lens(span, "TTIR", SHOW_IR, (snapshot.path, view.name, "ttir"), "The whole TTIR of the kernel"))
    return tuple(found)


def title(specialization: Specialization) -> str:
    """A specialization in a line: its constants and pointers, and on what it rests."""
    return f"{short(specialization)} · {describe(specialization)}"


def short(specialization: Specialization) -> str:
    """The constants and element types of a specialization."""
    constants = [
        f"{a.name}={_cut(notation.constant(notation.argument(a)) or 'None')}"
        for a in specialization.arguments
        if a.type == "constexpr"
    ]
    pointers = dict.fromkeys(
        notation.signature(a.type).lstrip("*")
        for a in specialization.arguments
        if isinstance(a.type, str) and a.type.startswith("*")
    )
    parts = [*constants[:_MOST], *(["…"] if len(constants) > _MOST else [])]
    return " ".join(["/".join(pointers), *parts]).strip() or "no arguments"


def _cut(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"


def tooltip(view: KernelView, active: int) -> str:
    """The evidence for each parameter, a line each."""
    specialization = view.specializations[active]
    return "\n".join(f"{a.name}: {notation.argument(a)}. {evidence_text(a)}" for a in specialization.arguments)


def choices(view: KernelView, chosen: str) -> Json:
    """Every specialization of a kernel as plain data, for a client that lets the user choose."""
    active = view.index(chosen)
    return [
        {
            "key": s.key,
            "title": title(s),
            "tier": s.tier,
            "active": number == active,
            "chosen": bool(chosen) and s.key == chosen,
            "clean": view.trials[number].best.is_clean,
            "origin": {"kind": s.origin.kind.value, "detail": s.origin.detail, "place": where(s.origin.location)},
            "options": dict(s.options),
            "assumed": list(s.assumed),
            "parameters": [
                {
                    "name": a.name,
                    "type": notation.argument(a),
                    "divisible_by_16": a.divisible is True,
                    "evidence": a.evidence.kind.value,
                    "detail": a.evidence.detail,
                    "assumed": a.guessed,
                }
                for a in s.arguments
            ],
            "pin": pin(s),
        }
        for number, s in enumerate(view.specializations)
    ]


def pin(specialization: Specialization) -> str:
    """The comment that pins a specialization above its kernel (surface.md, "Pins"); what it cannot spell is left out."""
    parts = []
    for argument in specialization.arguments:
        if argument.type == "constexpr":
            value = notation.constant(notation.argument(argument)) or "None"
            if " " in value and not value.startswith(("'", '"')):
                value = value.replace(" ", "")
            parts.append(f"{argument.name}={value}")
        elif isinstance(argument.type, str):
            parts.append(f"{argument.name}={argument.type}")
    parts += [f"{name}={value}" for name, value in specialization.options if isinstance(value, int)]
    return "# kernel-ls: spec " + " ".join(parts)
