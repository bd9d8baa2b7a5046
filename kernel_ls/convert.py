"""The model's types and the protocol's, both ways. Columns become units of the encoding that the client negotiated."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import Any
from urllib.parse import unquote, urlsplit

from lsprotocol import types as lsp

from kernel_ls.analysis import rules
from kernel_ls.analysis.features.completion import Item
from kernel_ls.analysis.features.hints import Hint
from kernel_ls.analysis.features.hover import Hover
from kernel_ls.analysis.features.inactive import Region
from kernel_ls.analysis.features.lenses import Lens
from kernel_ls.analysis.features.navigation import Caller, Function
from kernel_ls.analysis.features.signature import Signature
from kernel_ls.analysis.rules import manual
from kernel_ls.analysis.symbols import Symbol
from kernel_ls.model import Edit, Finding, Fix, Location, Position, Severity, Span

SOURCE = "kernel-ls"
_FENCE = re.compile(r"^```\w*\n?", re.MULTILINE)
_LINE_END = re.compile(r"\r\n|\r|\n")

_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.INFO: lsp.DiagnosticSeverity.Information,
}
_TAGS = {"unnecessary": lsp.DiagnosticTag.Unnecessary, "deprecated": lsp.DiagnosticTag.Deprecated}

Lines = Callable[[str], Sequence[str]]
"""The lines of a file, without their ends."""


class Positions:
    """Positions between code points and the client's units.

    Args:
        encoding: what was negotiated.
        lines: texts by path, for lines that are not ASCII.
    """

    def __init__(self, encoding: lsp.PositionEncodingKind | str, lines: Lines) -> None:
        self.encoding = lsp.PositionEncodingKind(encoding)
        self._lines = lines

    def units(self, line: str, column: int) -> int:
        """A column in code points as one in the client's units; behind the line's end it is the end."""
        text = line[:column]
        if text.isascii() or self.encoding is lsp.PositionEncodingKind.Utf32:
            return len(text)
        if self.encoding is lsp.PositionEncodingKind.Utf8:
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2

    def points(self, line: str, units: int) -> int:
        """A column in the client's units as one in code points; a place inside a character is its start."""
        if line.isascii() or self.encoding is lsp.PositionEncodingKind.Utf32:
            return min(units, len(line))
        column = 0
        for character in line:
            width = self.units(character, 1)
            if units < width:
                break
            units -= width
            column += 1
        return column

    def to_position(self, path: str, position: Position) -> lsp.Position:
        """The model's position as the protocol's."""
        lines = self._lines(path)
        line = lines[position.line] if position.line < len(lines) else None
        column = position.column if line is None else self.units(line, position.column)
        return lsp.Position(position.line, column)

    def from_position(self, path: str, position: lsp.Position) -> Position:
        """The protocol's position as the model's."""
        lines = self._lines(path)
        line = lines[position.line] if position.line < len(lines) else ""
        return Position(position.line, self.points(line, position.character))

    def to_range(self, path: str, span: Span) -> lsp.Range:
        """The model's span as the protocol's range."""
        return lsp.Range(self.to_position(path, span.start), self.to_position(path, span.end))

    def to_location(self, location: Location) -> lsp.Location:
        """A place in a file."""
        return lsp.Location(to_uri(location.path), self.to_range(location.path, location.span))

    def to_text_edit(self, edit: Edit) -> lsp.TextEdit:
        """A replacement of text, within its own file."""
        return lsp.TextEdit(self.to_range(edit.location.path, edit.location.span), edit.text)

    def to_action(self, finding: Finding, fix: Fix, shown: Sequence[lsp.Diagnostic]) -> lsp.CodeAction:
        """A proved fix, with those of the client's diagnostics that it mends."""
        changes: dict[str, list[lsp.TextEdit]] = {}
        for edit in fix.edits:
            changes.setdefault(to_uri(edit.location.path), []).append(self.to_text_edit(edit))
        place = self.to_range(finding.location.path, finding.location.span)
        mended = [d for d in shown if d.code == finding.code and d.range == place]
        return lsp.CodeAction(
            title=fix.title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=mended or None,
            is_preferred=True,
            edit=lsp.WorkspaceEdit(changes=dict(changes)),
        )

    def to_silencing(self, path: str, diagnostic: lsp.Diagnostic) -> lsp.CodeAction:
        """The comment that silences a finding on its line."""
        lines = self._lines(path)
        number = diagnostic.range.start.line
        line = lines[number] if number < len(lines) else ""
        end = lsp.Position(number, self.units(line, len(line)))
        comment = f"  # kernel-ls: ignore[{diagnostic.code}]"
        return lsp.CodeAction(
            title=f"Silence `{diagnostic.code}` on this line",
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[diagnostic],
            edit=lsp.WorkspaceEdit(changes={to_uri(path): [lsp.TextEdit(lsp.Range(end, end), comment)]}),
        )

    def to_diagnostic(self, finding: Finding, *, related: bool = True, tags: bool = True) -> lsp.Diagnostic:
        """A finding, with related places and tags where the client shows them."""
        message = finding.message
        if finding.original:
            message += f"\nTriton says: {finding.original}"
        if finding.assumed:
            message += f"\nAssumed: {', '.join(finding.assumed)}"
        places = finding.related if related else ()
        marks = [_TAGS[tag] for tag in finding.tags if tag in _TAGS] if tags else []
        page = manual.absolute_url(finding.code)
        return lsp.Diagnostic(
            range=self.to_range(finding.location.path, finding.location.span),
            message=message,
            severity=_severity(finding),
            code=finding.code,
            code_description=lsp.CodeDescription(page) if page else None,
            source=SOURCE,
            tags=marks or None,
            related_information=[
                lsp.DiagnosticRelatedInformation(self.to_location(place.location), place.message) for place in places
            ]
            or None,
            data={
                "kernel": finding.kernel,
                "specialization": dict(finding.specialization),
                "specializations": finding.specializations,
                "assumed": list(finding.assumed),
            },
        )


def _severity(finding: Finding) -> lsp.DiagnosticSeverity:
    rule = rules.registry().get(finding.code)
    if rule is not None and rule.quiet and finding.severity is Severity.INFO:
        return lsp.DiagnosticSeverity.Hint
    return _SEVERITIES[finding.severity]


def apply_change(
    text: str, change: lsp.TextDocumentContentChangeEvent, encoding: lsp.PositionEncodingKind | str
) -> str:
    """A text after one change of it.

    Lines end at CR LF, LF and CR alone, as the protocol says; a form feed is a character like any other. A place
    behind the end of a line or of the text is that end.
    """
    if isinstance(change, lsp.TextDocumentContentChangeWholeDocument):
        return change.text
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    units = Positions(encoding, lambda _path: ())

    def offset(position: lsp.Position) -> int:
        if position.line >= len(starts):
            return len(text)
        end = starts[position.line + 1] if position.line + 1 < len(starts) else len(text)
        line = text[starts[position.line] : end].rstrip("\r\n")
        return starts[position.line] + units.points(line, position.character)

    start, end = offset(change.range.start), offset(change.range.end)
    return text[:start] + change.text + text[max(start, end) :]


def to_symbol(symbol: Symbol, positions: Positions, path: str) -> lsp.DocumentSymbol:
    """A kernel or helper as the outline shows it."""
    return lsp.DocumentSymbol(
        name=symbol.name,
        detail=symbol.detail,
        kind=lsp.SymbolKind.Function,
        range=positions.to_range(path, symbol.span),
        selection_range=positions.to_range(path, symbol.name_span),
    )


_HINT_KINDS = {"type": lsp.InlayHintKind.Type, "value": None, "conversion": None}
_ITEM_KINDS = {
    "variable": lsp.CompletionItemKind.Variable,
    "keyword": lsp.CompletionItemKind.Field,
    "value": lsp.CompletionItemKind.Value,
    "method": lsp.CompletionItemKind.Method,
    "property": lsp.CompletionItemKind.Property,
    "module": lsp.CompletionItemKind.Module,
    "dtype": lsp.CompletionItemKind.TypeParameter,
    "class": lsp.CompletionItemKind.Class,
    "builtin": lsp.CompletionItemKind.Function,
    "jit": lsp.CompletionItemKind.Function,
    "function": lsp.CompletionItemKind.Function,
    "constexpr_function": lsp.CompletionItemKind.Function,
    "constexpr": lsp.CompletionItemKind.Constant,
}


def to_hover(hover: Hover, positions: Positions, path: str, *, markdown: bool = True) -> lsp.Hover:
    """What is shown at a place."""
    content = markup(hover.text, markdown=markdown)
    return lsp.Hover(content, positions.to_range(path, hover.span))


def markup(text: str, *, markdown: bool) -> lsp.MarkupContent:
    """A text in Markdown, for a client that does not show it without the fences."""
    if markdown:
        return lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
    return lsp.MarkupContent(lsp.MarkupKind.PlainText, _FENCE.sub("", text).replace("`", ""))


def _words(text: str, *, markdown: bool) -> lsp.MarkupContent | str | None:
    """Documentation, as a plain string for a client that shows no Markdown."""
    if not text:
        return None
    found = markup(text, markdown=markdown)
    return found if markdown else found.value


def to_hint(hint: Hint, positions: Positions, path: str) -> lsp.InlayHint:
    """A hint; what a click and the pointer over it show is said when it is resolved."""
    data: dict[str, Any] = {"tooltip": hint.tooltip}
    if hint.target is not None:
        place = positions.to_location(hint.target)
        start = place.range.start
        data["target"] = [place.uri, start.line, start.character, place.range.end.line, place.range.end.character]
    text = hint.label.strip()
    return lsp.InlayHint(
        position=positions.to_position(path, hint.position),
        label=[lsp.InlayHintLabelPart(text)],
        kind=_HINT_KINDS[hint.kind],
        padding_left=hint.label.startswith(" ") or None,
        data=data,
    )


def resolve_hint(hint: lsp.InlayHint) -> lsp.InlayHint:
    """A hint with its tooltip and the place that it leads to."""
    data = hint.data if isinstance(hint.data, Mapping) else {}
    hint.tooltip = str(data.get("tooltip") or "") or None
    target = data.get("target")
    if isinstance(target, Sequence) and len(target) == 5 and not isinstance(hint.label, str) and hint.label:
        uri, line, column, end_line, end = target
        place = lsp.Range(lsp.Position(int(line), int(column)), lsp.Position(int(end_line), int(end)))
        hint.label[0].location = lsp.Location(str(uri), place)
    return hint


def to_lens(lens: Lens, positions: Positions, path: str) -> lsp.CodeLens:
    """A line above a kernel; what a click does is said when it is resolved."""
    arguments = [to_uri(str(lens.arguments[0])), *lens.arguments[1:]]
    data = {"title": lens.title, "command": lens.command, "arguments": arguments, "tooltip": lens.tooltip}
    return lsp.CodeLens(positions.to_range(path, lens.span), data=data)


def resolve_lens(lens: lsp.CodeLens) -> lsp.CodeLens:
    """A lens with its title and command."""
    data = lens.data if isinstance(lens.data, Mapping) else {}
    lens.command = lsp.Command(
        title=str(data.get("title", "")),
        command=str(data.get("command", "")),
        tooltip=str(data.get("tooltip") or "") or None,
        arguments=list(data.get("arguments") or ()),
    )
    return lens


def to_item(item: Item, number: int, *, markdown: bool = True) -> lsp.CompletionItem:
    """A proposal; `number` keeps the order."""
    return lsp.CompletionItem(
        label=item.label,
        kind=_ITEM_KINDS.get(item.kind, lsp.CompletionItemKind.Value),
        detail=item.detail or None,
        documentation=_words(item.doc, markdown=markdown),
        insert_text=item.insert or None,
        sort_text=f"{item.rank}{number:04}",
    )


def to_signature(signature: Signature, *, markdown: bool = True) -> lsp.SignatureHelp:
    """The head of what is being called."""
    information = lsp.SignatureInformation(
        label=signature.label,
        documentation=_words(signature.doc, markdown=markdown),
        parameters=[lsp.ParameterInformation(label) for label in signature.parameters],
        active_parameter=signature.active,
    )
    return lsp.SignatureHelp([information], active_signature=0, active_parameter=signature.active)


def to_region(region: Region, positions: Positions, path: str) -> dict[str, Any]:
    """A stretch that is not generated, as `kernelLs/inactiveRegions` tells it."""
    place = positions.to_range(path, region.span)
    return {
        "range": {
            "start": {"line": place.start.line, "character": place.start.character},
            "end": {"line": place.end.line, "character": place.end.character},
        },
        "reason": region.reason,
    }


def to_unnecessary(region: Region, positions: Positions, path: str) -> lsp.Diagnostic:
    """The same for a client that does not know the notification: a hint that greys."""
    return lsp.Diagnostic(
        range=positions.to_range(path, region.span),
        message=region.reason,
        severity=lsp.DiagnosticSeverity.Hint,
        source=SOURCE,
        tags=[lsp.DiagnosticTag.Unnecessary],
    )


def to_call_item(function: Function, positions: Positions) -> lsp.CallHierarchyItem:
    """A kernel, a helper, or host code that launches one, in the hierarchy of calls."""
    return lsp.CallHierarchyItem(
        name=function.name,
        kind=lsp.SymbolKind.Function,
        uri=to_uri(function.path),
        range=positions.to_range(function.path, function.span),
        selection_range=positions.to_range(function.path, function.name_span),
        detail=function.detail,
        data={"path": function.path, "key": function.key},
    )


def to_incoming(caller: Caller, positions: Positions) -> lsp.CallHierarchyIncomingCall:
    """A caller with the places of its calls."""
    ranges = [positions.to_range(caller.function.path, span) for span in caller.spans]
    return lsp.CallHierarchyIncomingCall(to_call_item(caller.function, positions), ranges)


def to_outgoing(callee: Caller, positions: Positions, path: str) -> lsp.CallHierarchyOutgoingCall:
    """What a function calls, with the places of the calls in it."""
    ranges = [positions.to_range(path, span) for span in callee.spans]
    return lsp.CallHierarchyOutgoingCall(to_call_item(callee.function, positions), ranges)


_BARE = "uri://"
"""What marks, as a path, a URI that is neither a file's nor recognisable as a URI."""

_DRIVE = re.compile(r"[A-Za-z]:/")


def to_uri(path: str) -> str:
    """The URI of a path; a document that has no file keeps its URI as its path."""
    if path.startswith("/"):
        return Path(path).as_uri()
    if _DRIVE.match(path):
        return PureWindowsPath(path).as_uri()
    return path.removeprefix(_BARE)


def to_path(uri: str) -> str:
    """The path of a URI, with `/` between its parts; a URI that is no file's, or of no possible file's, stands for itself."""
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path, errors="strict")
        path.encode()
    except ValueError:
        return _standing_for_itself(uri)
    if parts.scheme != "file" or "\0" in path or not path.startswith("/"):
        return _standing_for_itself(uri)
    if parts.netloc:
        return f"//{parts.netloc}{path}"
    # file:///c:/x is c:/x
    return path[1:] if _DRIVE.match(path, 1) else path


def _standing_for_itself(uri: str) -> str:
    return uri if "://" in uri or uri.startswith("untitled:") else _BARE + uri
