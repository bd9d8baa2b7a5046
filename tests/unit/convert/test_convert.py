"""Positions, texts and URIs between the model and the protocol."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lsprotocol import types as lsp

from kernel_ls import convert
from kernel_ls.model import Finding, Location, Position, Related, Severity, Span
from kernel_ls.sources import FileSystemProvider

ENCODINGS = [lsp.PositionEncodingKind.Utf8, lsp.PositionEncodingKind.Utf16, lsp.PositionEncodingKind.Utf32]
LINE = "é漢😀x"


@pytest.mark.parametrize(
    ("encoding", "columns"),
    [
        (lsp.PositionEncodingKind.Utf8, [0, 2, 5, 9, 10]),
        (lsp.PositionEncodingKind.Utf16, [0, 1, 2, 4, 5]),
        (lsp.PositionEncodingKind.Utf32, [0, 1, 2, 3, 4]),
    ],
)
def test_columns_count_units_of_the_encoding(encoding: lsp.PositionEncodingKind, columns: list[int]) -> None:
    positions = convert.Positions(encoding, lambda _: [LINE])
    assert [positions.to_position("f", Position(0, n)).character for n in range(5)] == columns
    assert [positions.from_position("f", lsp.Position(0, c)).column for c in columns] == [0, 1, 2, 3, 4]


def test_a_place_inside_a_character_is_its_start() -> None:
    positions = convert.Positions(lsp.PositionEncodingKind.Utf16, lambda _: [LINE])
    assert positions.from_position("f", lsp.Position(0, 3)).column == 2


def test_a_line_that_is_not_there_keeps_its_numbers() -> None:
    positions = convert.Positions(lsp.PositionEncodingKind.Utf8, lambda _: [])
    assert positions.to_position("f", Position(7, 3)) == lsp.Position(7, 3)


def change(start: tuple[int, int], end: tuple[int, int], text: str) -> lsp.TextDocumentContentChangePartial:
    return lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(*start), lsp.Position(*end)), text)


@pytest.mark.parametrize(
    ("text", "start", "end", "new", "result"),
    [
        ("a\nb\nc", (1, 0), (1, 1), "X", "a\nX\nc"),
        ("a\r\nb\r\nc", (0, 1), (1, 0), "", "ab\r\nc"),
        ("a\rb", (1, 0), (1, 1), "X", "a\rX"),
        ("a\x0cb\nc", (1, 0), (1, 1), "X", "a\x0cb\nX"),
        ("a\u2028b\nc", (1, 0), (1, 1), "X", "a\u2028b\nX"),
        ("😀b", (0, 2), (0, 3), "X", "😀X"),
        ("a\nb", (0, 99), (0, 99), "X", "aX\nb"),
        ("a", (9, 9), (9, 9), "X", "aX"),
        ("", (0, 0), (0, 0), "X", "X"),
    ],
)
def test_a_change_is_made_where_the_protocol_means(
    text: str, start: tuple[int, int], end: tuple[int, int], new: str, result: str
) -> None:
    assert convert.apply_change(text, change(start, end, new), lsp.PositionEncodingKind.Utf16) == result


def test_a_change_of_the_whole_document_replaces_it() -> None:
    assert convert.apply_change("a", lsp.TextDocumentContentChangeWholeDocument("b"), "utf-16") == "b"


@given(st.text("ab\n\r😀é"), st.integers(0, 9), st.integers(0, 9), st.text("x\n"), st.sampled_from(ENCODINGS))
def test_any_place_may_be_edited(
    text: str, line: int, column: int, new: str, encoding: lsp.PositionEncodingKind
) -> None:
    edited = convert.apply_change(text, change((line, column), (line, column), new), encoding)
    assert len(edited) == len(text) + len(new)
    assert new in edited


@pytest.mark.parametrize("path", ["/a/b.py", "/a b/ü/c#d%.py", "/a/b:/c.py", "c:/x/y.py", "untitled:Untitled-1"])
def test_a_path_survives_being_a_uri(path: str) -> None:
    assert convert.to_path(convert.to_uri(path)) == path


@given(st.text() | st.text("file:/%0c\0\ud800[]#?"))
@example("")
@example("file:")
@example("file:///%00/x.py")
@example("file:///%ff")
@example("http://[::1")
@example("\ud800")
def test_any_text_may_stand_where_a_uri_is_expected(uri: str) -> None:
    path = convert.to_path(uri)
    assert convert.to_path(convert.to_uri(path)) == path
    assert FileSystemProvider().read(path) is None or path.startswith("/")


def test_an_encoded_drive_letter_is_a_windows_path() -> None:
    assert convert.to_path("file:///c%3A/x/y.py") == "c:/x/y.py"


def test_a_finding_becomes_a_diagnostic_with_everything_that_the_client_shows() -> None:
    place = Location("/a.py", Span.of(0, 1, 0, 3))
    finding = Finding(
        "undefined-name",
        Severity.WARNING,
        "what",
        place,
        related=(Related("here", place),),
        original="NameError",
        tags=("unnecessary",),
    )
    positions = convert.Positions(lsp.PositionEncodingKind.Utf16, lambda _: [LINE])
    shown = positions.to_diagnostic(finding)
    assert shown.range == lsp.Range(lsp.Position(0, 1), lsp.Position(0, 4))
    assert (shown.code, shown.severity, shown.source) == ("undefined-name", lsp.DiagnosticSeverity.Warning, "kernel-ls")
    assert shown.message == "what\nTriton says: NameError"
    assert shown.code_description is not None
    assert shown.code_description.href.endswith("/docs/rules/undefined-name.md")
    assert shown.tags == [lsp.DiagnosticTag.Unnecessary]
    assert shown.related_information is not None
    assert shown.related_information[0].message == "here"
    bare = positions.to_diagnostic(finding, related=False, tags=False)
    assert (bare.tags, bare.related_information) == (None, None)
