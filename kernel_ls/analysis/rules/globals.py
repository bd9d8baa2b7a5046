"""A global that a kernel reads: where it is defined, and the edit that makes it a constant."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kernel_ls.analysis import kernels
from kernel_ls.analysis.document import ParsedDocument
from kernel_ls.analysis.positions import span_of
from kernel_ls.analysis.rules.base import RuleContext
from kernel_ls.model import Edit, Fix, Location, Position, Span


@dataclass(frozen=True, eq=False)
class Definition:
    """The assignment that gives a global its value.

    `annotated` tells that it has an annotation, which alone does not make a constant.
    """

    document: ParsedDocument
    name: str
    node: ast.Assign | ast.AnnAssign
    annotated: bool

    @property
    def location(self) -> Location:
        """The whole assignment."""
        return Location(self.document.path, span_of(self.node, self.document.lines))


def definition_of(name: str, unit: str, context: RuleContext) -> Definition | None:
    """The assignment behind a global that a unit reads, in whichever file it stands; None for anything else."""
    origin = context.program.origins.get(unit)
    if origin is None or context.binding is None:
        return None
    found = context.binding(origin.path, name, origin.first_line)
    if found is None:
        return None
    node = found.node
    if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == found.name for t in node.targets):
        return Definition(found.document, found.name, node, False)
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return Definition(found.document, found.name, node, True)
    return None


def wrap_in_constexpr(definition: Definition) -> Fix | None:
    """Put `tl.constexpr(...)` around the value, with the import that this needs where the file has none."""
    document, value = definition.document, definition.node.value
    if value is None:
        return None
    constexpr, addition = constexpr_name(document)
    span = span_of(value, document.lines)
    edits = [
        *addition,
        Edit(Location(document.path, Span(span.start, span.start)), f"{constexpr}("),
        Edit(Location(document.path, Span(span.end, span.end)), ")"),
    ]
    return Fix(f"make `{definition.name}` a constant: wrap its value in `{constexpr}(...)`", tuple(edits))


def constexpr_name(document: ParsedDocument) -> tuple[str, tuple[Edit, ...]]:
    """How `constexpr` is written in a file, and the edit that imports it where nothing there names it yet."""
    names = kernels.imported_names(document.tree)
    for name, target in names.items():
        if target == "triton.language.constexpr":
            return name, ()
    for wanted in ("triton.language", "triton.experimental.gluon.language"):
        for name, target in names.items():
            if target == wanted:
                return f"{name}.constexpr", ()
    for name, target in names.items():
        if target == "triton":
            return f"{name}.language.constexpr", ()
    return "tl.constexpr", (_added_import(document),)


def _added_import(document: ParsedDocument) -> Edit:
    # Loaded here, since few checks need it and loading takes longer than most checks.
    import libcst
    from libcst.codemod import CodemodContext
    from libcst.codemod.visitors import AddImportsVisitor

    context = CodemodContext()
    AddImportsVisitor.add_needed_import(context, "triton.language", asname="tl")
    try:
        after = AddImportsVisitor(context).transform_module(libcst.parse_module("\n".join(document.lines))).code
    except libcst.ParserSyntaxError:
        # A part of the file is being typed: the first line is as good a place as any.
        return Edit(Location(document.path, Span.of(0, 0, 0, 0)), "import triton.language as tl\n")
    return inserted(document, after)


def inserted(document: ParsedDocument, after: str) -> Edit:
    """The edit that adds to a document the lines by which another text is longer."""
    before, lines = document.lines, after.split("\n")
    first = next((n for n, (a, b) in enumerate(zip(before, lines, strict=False)) if a != b), len(before))
    added = lines[first : first + len(lines) - len(before)]
    place = Position(first, 0)
    return Edit(Location(document.path, Span(place, place)), "".join(f"{line}\n" for line in added))
