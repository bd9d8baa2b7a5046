"""Quick fixes as an editor gets them: proved, with the diagnostic that they mend, and as edits that mend it."""

from __future__ import annotations

from lsprotocol import types as lsp

from lsp.conftest import BROKEN
from lsp.editor import Editor


async def _actions(editor: Editor, row: int) -> list[lsp.CodeAction]:
    shown = [d for d in editor.client.diagnostics[editor.uri("broken.py")] if d.range.start.line == row]
    place = lsp.Range(lsp.Position(row, 0), lsp.Position(row, 0))
    document = lsp.TextDocumentIdentifier(editor.uri("broken.py"))
    found = await editor.client.text_document_code_action_async(
        lsp.CodeActionParams(document, place, lsp.CodeActionContext(diagnostics=shown))
    )
    return [a for a in found or [] if isinstance(a, lsp.CodeAction)]


async def test_a_proved_fix_mends_the_finding(editor: Editor) -> None:
    editor.open("broken.py")
    await editor.sees("broken.py", [("constexpr-global", 11), ("undefined-name", 17)])
    fix, *rest = await _actions(editor, 10)
    assert "tl.constexpr" in fix.title
    assert fix.is_preferred
    assert [d.code for d in fix.diagnostics or []] == ["constexpr-global"]
    assert [a.title for a in rest] == ["Silence `constexpr-global` on this line"]
    assert fix.edit is not None
    edits = (fix.edit.changes or {})[editor.uri("broken.py")]
    text = BROKEN
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        lines = text.split("\n")
        line = lines[edit.range.start.line]
        assert edit.range.start.line == edit.range.end.line
        lines[edit.range.start.line] = (
            line[: edit.range.start.character] + edit.new_text + line[edit.range.end.character :]
        )
        text = "\n".join(lines)
    assert "SCALE = tl.constexpr(0.5)" in text
    editor.replace("broken.py", text)
    await editor.sees("broken.py", [("undefined-name", 17)])


async def test_a_line_without_a_finding_has_no_action(editor: Editor) -> None:
    editor.open("broken.py")
    await editor.sees("broken.py", [("constexpr-global", 11), ("undefined-name", 17)])
    assert await _actions(editor, 1) == []
