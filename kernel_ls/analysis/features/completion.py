"""Completion in kernels where general servers know nothing: members of values of known type, of `triton.language`, keyword
arguments and their values, meta-parameters of launches and configurations, and what is in scope with its type.

The text is in the middle of being written and seldom parses: what stands before the cursor is read from the line alone,
and types come from the last snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kernel_ls.analysis.features import library, notation
from kernel_ls.analysis.features.context import Call, enclosing_call, owner_before
from kernel_ls.analysis.features.scope import Scope, called_function, called_path, module_of
from kernel_ls.analysis.features.snapshot import Snapshot
from kernel_ls.analysis.features.trail import Trail
from kernel_ls.analysis.positions import octets
from kernel_ls.model import Position

_TRITON_ALIASES = ("tl", "triton.language")
_LAUNCH_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_CONFIG_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "pre_hook")


@dataclass(frozen=True, slots=True)
class Item:
    """One proposal: what is inserted, what it is, and words about it."""

    label: str
    kind: str
    detail: str = ""
    doc: str = ""
    insert: str = ""
    rank: int = 5


def complete(
    snapshot: Snapshot, lines: Sequence[str], position: Position, trail: Trail, chosen: Mapping[str, str]
) -> tuple[Item, ...]:
    """What may stand at a position of the present text.

    Args:
        snapshot: what the last check knows.
        lines: the present text.
        position: the cursor, in the present text.
        trail: the edits since the snapshot's text.
        chosen: the specialization that the user chose, by a kernel's name.
    """
    line = lines[position.line] if position.line < len(lines) else ""
    before = line[: position.column]
    word = re.search(r"\w*$", before)
    start = position.column - len(word[0]) if word else position.column
    if _in_string_or_comment(before[:start]):
        return _string_values(snapshot, lines, position)
    scope = Scope.at(snapshot, lines, position, trail, chosen)
    dotted = owner_before(before[:start])
    if dotted is not None:
        return _sorted(_members(snapshot, scope, dotted, Position(position.line, start - 1), trail))
    call = enclosing_call(lines, Position(position.line, start))
    found: list[Item] = []
    if call is not None:
        found += _of_call(snapshot, call, scope)
    if scope is not None:
        found += [Item(name, "variable", notation.shown(types, 2), rank=2) for name, types in scope.names()]
    return _sorted(found)


def _sorted(items: Iterable[Item]) -> tuple[Item, ...]:
    """Each label once, as it was proposed first, the likeliest first."""
    unique: dict[str, Item] = {}
    for item in items:
        unique.setdefault(item.label, item)
    return tuple(sorted(unique.values(), key=lambda i: (i.rank, i.label)))


def _members(snapshot: Snapshot, scope: Scope | None, dotted: str, dot: Position, trail: Trail) -> Iterator[Item]:
    """What may follow a dot."""
    api = snapshot.api
    resolved = module_of(snapshot, dotted)
    if resolved:
        yield from _of_module(snapshot, resolved)
        return
    if scope is None:
        return
    types = _types_before(scope, dotted, dot, trail)
    for text in types[:1]:
        if text.startswith("tensordesc<"):
            yield from _of_class(snapshot, f"{library.LANGUAGE}.tensor_descriptor", text)
        elif text.startswith("dtype "):
            yield from _of_class(snapshot, f"{library.LANGUAGE}.dtype", text)
        elif notation.is_value(text) and notation.constant(text) is None and not text.startswith("("):
            yield from _of_class(snapshot, library.TENSOR, text)
        elif (notation.constant(text) or "").startswith(("f", "i", "u", "bf")) and api.is_known:
            yield from _of_class(snapshot, f"{library.LANGUAGE}.dtype", text)


def _types_before(scope: Scope, dotted: str, dot: Position, trail: Trail) -> tuple[str, ...]:
    """The types of the expression that ends at a dot: by its place, else by its name."""
    place = trail.back(dot)
    if place is not None:
        column = octets(scope.function.document.line(place.line), place.column)
        ending = [p for p in scope.reading.types if (p[2], p[3]) == (place.line + 1, column)]
        if ending:
            # The longest expression that ends here: `(a + b)` has its parentheses outside.
            return scope.reading.types[min(ending)]
    return scope.types_of(dotted) if dotted.isidentifier() else ()


def _of_module(snapshot: Snapshot, module: str) -> Iterator[Item]:
    for name in library.members(snapshot.api, module):
        found = library.entry(snapshot.api, f"{module}.{name}") or {}
        kind = str(found.get("kind", "value"))
        # What kernels cannot use is not proposed first.
        rank = {"builtin": 1, "jit": 1, "dtype": 2, "constexpr_function": 2, "module": 4}.get(kind, 3)
        detail = library.signature(f"{module}.{name}", found) if "signature" in found else str(found.get("value", kind))
        doc = library.summary(found)
        constraint = library.constraint(f"{module}.{name}")
        yield Item(name, kind, detail, "\n\n".join(t for t in (constraint, doc) if t), rank=rank)


_LEFT_OUT = frozenset({"handle", "type", "mangle", "to_ir", "codegen_name", "dtype_name"})


def _of_class(snapshot: Snapshot, owner: str, text: str) -> Iterator[Item]:
    """Members of a value, those that fit its type first."""
    for name in library.members(snapshot.api, owner):
        if name in _LEFT_OUT or (owner == library.TENSOR and name in ("shape", "dtype")):
            continue
        found = library.entry(snapshot.api, f"{owner}.{name}") or {}
        if owner == library.TENSOR and not _fits(name, text):
            continue
        method = "signature" in found
        # Of a jit function that is a method as well, the first parameter is the value itself.
        arguments = library.parameters(found)[1 if found.get("kind") == "jit" else 0 :]
        detail = f"{name}({', '.join(arguments)})" if method else ""
        yield Item(
            name,
            "method" if method else "property",
            detail,
            library.constraint(f"{owner}.{name}") or library.summary(found),
            rank=1 if name in ("to", "shape", "dtype") else 2,
        )
    if owner == library.TENSOR:
        block = notation.tensor(text)
        sizes = ", ".join(map(str, block.sizes)) if block is not None else ""
        yield Item(
            "shape", "property", f"({sizes},)" if block is not None and len(block.sizes) == 1 else f"({sizes})", rank=1
        )
        yield Item("dtype", "property", f"dtype {notation.element(text)}", rank=1)


_OF_BLOCKS = frozenset(
    {
        *("sum", "max", "min", "argmax", "argmin", "xor_sum", "reduce_or", "reduce", "associative_scan", "cumsum"),
        *("cumprod", "sort", "flip", "gather", "expand_dims", "broadcast_to", "reshape", "view", "trans", "permute"),
        *("T", "split", "ravel", "histogram"),
    }
)


_OF_POINTERS = frozenset(
    {"shape", "dtype", "reshape", "view", "broadcast_to", "expand_dims", "trans", "permute", "T", "to"}
)


def _fits(name: str, text: str) -> bool:
    """Whether a member can be used on a value of a type: atomics want pointers, and pointers have no sum."""
    if notation.element(text).startswith("*"):
        return name.startswith("atomic_") or name in _OF_POINTERS
    if name.startswith("atomic_") or name == "advance":
        return False
    return notation.tensor(text) is not None or name not in _OF_BLOCKS


def _of_call(snapshot: Snapshot, call: Call, scope: Scope | None) -> Iterator[Item]:
    """What may stand as an argument of a call."""
    api = snapshot.api
    path = called_path(snapshot, call, scope)
    if call.keyword:
        name = path.rpartition(".")[2]
        for value in library.values_of(name, call.keyword, api) if path else ():
            yield Item(value, "value", f"{call.keyword}={value}", rank=0)
        return
    found = library.entry(api, path) if path else None
    if found is not None and "signature" in found:
        for name, default, kind in found["signature"][call.index :]:
            if kind in ("any", "keyword") and name not in call.given:
                yield Item(f"{name}=", "keyword", "" if default is None else f"default {default}", rank=1)
    if path == "triton.Config" or call.name.endswith("Config"):
        for name in _CONFIG_OPTIONS:
            if name not in call.given:
                yield Item(f"{name}=", "keyword", "launch option of a configuration", rank=1)
    function = called_function(snapshot, call)
    if function is not None:
        for parameter in function.parameters[call.index :]:
            if parameter.name not in call.given:
                detail = "meta-parameter" if parameter.is_constexpr else "argument"
                yield Item(f"{parameter.name}=", "keyword", detail, rank=0 if parameter.is_constexpr else 1)
        if call.launch:
            for name in _LAUNCH_OPTIONS:
                if name not in call.given:
                    yield Item(f"{name}=", "keyword", "launch option", rank=2)


def _in_string_or_comment(text: str) -> bool:
    quote = ""
    for at, character in enumerate(text):
        if quote:
            if character == quote and text[at - 1 : at] != "\\":
                quote = ""
        elif character in "'\"":
            quote = character
        elif character == "#":
            return True
    return bool(quote)


def _string_values(snapshot: Snapshot, lines: Sequence[str], position: Position) -> tuple[Item, ...]:
    """Inside of a string that is a keyword's value: the values that it takes, without quotes."""
    before = lines[position.line][: position.column]
    opening = max(before.rfind('"'), before.rfind("'"))
    if opening < 0 or "#" in before[:opening]:
        return ()
    call = enclosing_call(lines, Position(position.line, opening))
    if call is None:
        return ()
    if not call.keyword:
        # A dictionary of `triton.Config({"BLOCK": 64})`: the meta-parameters of the kernels here.
        if call.name.endswith("Config"):
            kernels = [k.function for k in snapshot.kernels if k.function.path == snapshot.path]
            names = {p.name for f in kernels for p in f.parameters if p.is_constexpr}
            return tuple(Item(n, "keyword", "meta-parameter", rank=0) for n in sorted(names))
        return ()
    path = called_path(snapshot, call, None)
    values = library.values_of(path.rpartition(".")[2] or call.name, call.keyword, snapshot.api)
    return tuple(
        Item(v.strip('"'), "value", f"{call.keyword}={v}", rank=0) for v in values if v.startswith('"') and v != '""'
    )
