"""Features over a real connection: every request, and what the server sends by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest_asyncio
from lsprotocol import types as lsp

from lsp.editor import SECONDS, Editor

HELPERS = """\
import triton
import triton.language as tl


@triton.jit
def doubled(x):
    return x * 2
"""

KERNELS = """\
import triton
import triton.language as tl
from helpers import doubled


# kernel-ls: spec x_ptr=*fp32 n=i32 BLOCK=64 ADD=False
# kernel-ls: spec x_ptr=*fp16 n=i32 BLOCK=128 ADD=False
@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr, ADD: tl.constexpr):
    é = tl.arange(0, BLOCK)  # 𝒳
    x = tl.load(x_ptr + é, mask=é < n)
    if ADD:
        x += 1.0
    tl.store(x_ptr + é, doubled(x))


def launch(x):
    kernel[(1,)](x, 4, BLOCK=64, ADD=False)
"""
LINES = KERNELS.split("\n")


def _at(mark: str, offset: int = 0) -> lsp.Position:
    """The place of a text, in UTF-16 units (all its characters are of one unit where it is used)."""
    line = next(n for n, text in enumerate(LINES) if mark in text)
    return lsp.Position(line, LINES[line].index(mark) + offset)


class Viewer:
    """An editor with one kernel's file open, and what the server told it."""

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.client = editor.client
        self.regions: list[dict[str, Any]] = []
        self.document = lsp.TextDocumentIdentifier(editor.uri("kernels.py"))

        @self.client.feature("kernelLs/inactiveRegions")
        def regions(params: Any) -> None:
            self.regions.append({"version": params.textDocument.version, "regions": list(params.regions)})

    async def open(self) -> None:
        """Open the file and wait for the end of its check."""
        self.editor.open("kernels.py")
        await self.until_version(1)

    async def until_version(self, version: int) -> None:
        await self.editor.until(lambda: any(r["version"] == version for r in self.regions), f"version {version}")

    async def ask(self, method: str, params: Any) -> Any:
        return await asyncio.wait_for(self.client.protocol.send_request_async(method, params), SECONDS)

    def place(self, mark: str, offset: int = 0) -> dict[str, Any]:
        return {"text_document": self.document, "position": _at(mark, offset)}


@pytest_asyncio.fixture
async def viewer(editors: Callable[..., Editor]) -> Viewer:
    editor = editors()
    (editor.root / "helpers.py").write_text(HELPERS)
    (editor.root / "kernels.py").write_text(KERNELS)
    made = Viewer(editor)
    await editor.start()
    await made.open()
    return made


async def test_every_feature_is_announced(viewer: Viewer) -> None:
    told = viewer.editor.capabilities
    assert told.hover_provider
    assert told.inlay_hint_provider.resolve_provider
    assert told.code_lens_provider.resolve_provider
    assert "." in told.completion_provider.trigger_characters
    assert told.signature_help_provider
    assert told.definition_provider
    assert told.references_provider
    assert told.call_hierarchy_provider
    assert {"kernelLs.selectSpecialization", "kernelLs.showIr", "kernelLs.restartWorker"} <= set(
        told.execute_command_provider.commands
    )


async def test_hover_says_the_type_in_the_clients_units(viewer: Viewer) -> None:
    # The TTIR is there when nobody types, or once it was asked for.
    await viewer.ask("kernelLs/ir", {"textDocument": {"uri": viewer.document.uri}, "kernel": "kernel"})
    answer = await viewer.client.text_document_hover_async(lsp.HoverParams(**viewer.place("x = tl.load")))
    assert answer.contents.value.startswith("x: tensor<64xf32>\n")
    assert "tensor<128xf16>" in answer.contents.value
    assert "TTIR" in answer.contents.value
    assert (answer.range.start.character, answer.range.end.character) == (4, 5)


async def test_hover_shows_the_documentation_of_a_function_of_triton(viewer: Viewer) -> None:
    answer = await viewer.client.text_document_hover_async(lsp.HoverParams(**viewer.place("tl.load", 4)))
    assert "tl.load(pointer, mask=None" in answer.contents.value
    assert "-> tensor<64xf32>" in answer.contents.value


async def test_hover_of_what_was_edited_says_nothing_until_it_is_checked(viewer: Viewer) -> None:
    line = _at("x = tl.load").line
    viewer.editor.edit("kernels.py", (line, 4), (line, 5), "value")
    answer = await viewer.client.text_document_hover_async(lsp.HoverParams(viewer.document, lsp.Position(line, 5)))
    assert answer is None
    await viewer.until_version(2)
    answer = await viewer.client.text_document_hover_async(lsp.HoverParams(viewer.document, lsp.Position(line, 5)))
    assert "value: tensor<64xf32>" in answer.contents.value


async def test_hints_are_padded_and_resolved(viewer: Viewer) -> None:
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(len(LINES), 0))
    hints = await viewer.client.text_document_inlay_hint_async(lsp.InlayHintParams(viewer.document, whole))
    labels = ["".join(p.value for p in hint.label) for hint in hints]
    assert labels == [": *f32", ": i32", "= 64", "= False", ": tensor<64xi32>", ": tensor<64xf32>"]
    assert [bool(hint.padding_left) for hint in hints] == [False, False, True, True, False, False]
    resolved = await viewer.client.inlay_hint_resolve_async(hints[0])
    assert "pin" in resolved.tooltip
    assert resolved.label[0].location.uri == viewer.document.uri


async def test_lenses_are_resolved_into_commands(viewer: Viewer) -> None:
    lenses = await viewer.client.text_document_code_lens_async(lsp.CodeLensParams(viewer.document))
    resolved = [await viewer.client.code_lens_resolve_async(lens) for lens in lenses]
    assert [r.command.command for r in resolved] == ["kernelLs.selectSpecialization", "kernelLs.showIr"]
    assert resolved[0].command.title.startswith("1 of 2: f32 BLOCK=64")
    assert resolved[0].range.start.line == _at("def kernel").line


async def test_completion_follows_what_is_being_written(viewer: Viewer) -> None:
    place = _at("doubled(x))")
    viewer.editor.edit("kernels.py", (place.line, 0), (place.line, 0), "    y = x.\n")
    asked = lsp.CompletionParams(viewer.document, lsp.Position(place.line, 10))
    answer = await viewer.client.text_document_completion_async(asked)
    labels = [item.label for item in answer.items]
    assert {"to", "sum", "dtype"} <= set(labels)
    assert "atomic_add" not in labels


async def test_signature_help_marks_the_parameter(viewer: Viewer) -> None:
    asked = lsp.SignatureHelpParams(**viewer.place("mask=é", 6))
    answer = await viewer.client.text_document_signature_help_async(asked)
    assert answer.signatures[0].label.startswith("tl.load(pointer")
    assert answer.signatures[0].parameters[answer.active_parameter].label == "mask=None"


async def test_the_definition_of_a_helper_is_in_its_file(viewer: Viewer) -> None:
    answer = await viewer.client.text_document_definition_async(lsp.DefinitionParams(**viewer.place("doubled(x))", 3)))
    assert answer.uri == viewer.editor.uri("helpers.py")
    assert (answer.range.start.line, answer.range.start.character) == (5, 4)


async def test_references_and_calls_of_a_helper(viewer: Viewer) -> None:
    context = lsp.ReferenceContext(include_declaration=True)
    asked = lsp.ReferenceParams(context=context, **viewer.place("doubled(x))", 3))
    answer = await viewer.client.text_document_references_async(asked)
    assert sorted({place.uri.rpartition("/")[2] for place in answer}) == ["helpers.py", "kernels.py"]
    prepared = lsp.CallHierarchyPrepareParams(**viewer.place("def kernel", 5))
    (item,) = await viewer.client.text_document_prepare_call_hierarchy_async(prepared)
    assert (item.name, item.detail) == ("kernel", "kernel")
    down = await viewer.client.call_hierarchy_outgoing_calls_async(lsp.CallHierarchyOutgoingCallsParams(item))
    assert [call.to.name for call in down] == ["doubled"]
    up = await viewer.client.call_hierarchy_incoming_calls_async(lsp.CallHierarchyIncomingCallsParams(item))
    assert [call.from_.name for call in up] == ["launch"]


async def test_inactive_regions_name_the_constant(viewer: Viewer) -> None:
    (region,) = viewer.regions[-1]["regions"]
    assert region.range.start.line == _at("x += 1.0").line
    assert "`ADD` is False" in region.reason


async def test_a_client_that_pulls_gets_hints_that_grey(editors: Callable[..., Editor]) -> None:
    editor = editors(pulls=True)
    (editor.root / "helpers.py").write_text(HELPERS)
    (editor.root / "kernels.py").write_text(KERNELS)
    await editor.start()
    editor.open("kernels.py")
    answer = await editor.pull("kernels.py")
    (hint,) = [d for d in answer.items if d.severity is lsp.DiagnosticSeverity.Hint]
    assert list(hint.tags) == [lsp.DiagnosticTag.Unnecessary]
    assert hint.range.start.line == _at("x += 1.0").line
    again = await editor.pull("kernels.py", previous=answer.result_id)
    assert again.kind == "unchanged"


async def test_the_whole_ttir_with_its_source_map(viewer: Viewer) -> None:
    asked = {"textDocument": {"uri": viewer.document.uri}, "kernel": "kernel", "stage": "ttir"}
    answer = await viewer.ask("kernelLs/ir", asked)
    assert "tt.func public @kernel" in answer.text
    assert answer.lastGood is False
    rows = answer.text.split("\n")
    load = next(entry for entry in answer.sourceMap if "tt.load" in rows[entry.rows[0]])
    assert (load.uri, load.line) == (viewer.document.uri, _at("x = tl.load").line)
    line = _at("tl.store").line
    viewer.editor.edit("kernels.py", (line, 0), (line, 0), "    nonsense(\n")
    await viewer.until_version(2)
    kept = await viewer.ask("kernelLs/ir", asked)
    assert kept.lastGood is True
    assert "last good" in kept.text.split("\n")[0]


async def test_the_chosen_specialization_is_the_one_that_is_shown(viewer: Viewer) -> None:
    told = await viewer.ask("kernelLs/specializations", {"textDocument": {"uri": viewer.document.uri}})
    (kernel,) = told.kernels
    assert [s.active for s in kernel.specializations] == [True, False]
    key = kernel.specializations[1].key
    command = lsp.ExecuteCommandParams("kernelLs.selectSpecialization", [viewer.document.uri, "kernel", key])
    assert await viewer.client.workspace_execute_command_async(command) is True
    answer = await viewer.client.text_document_hover_async(lsp.HoverParams(**viewer.place("x = tl.load")))
    assert answer.contents.value.startswith("x: tensor<128xf16>\n")
    assert kernel.specializations[1].pin.startswith("# kernel-ls: spec x_ptr=*fp16 n=i32 BLOCK=128")


async def test_a_helper_that_only_another_file_uses_has_types(viewer: Viewer) -> None:
    viewer.editor.open("helpers.py")
    helpers = lsp.TextDocumentIdentifier(viewer.editor.uri("helpers.py"))
    told: list[str] = []

    async def asked() -> bool:
        answer = await viewer.client.text_document_hover_async(lsp.HoverParams(helpers, lsp.Position(6, 11)))
        told[:] = [answer.contents.value] if answer is not None else []
        return bool(told)

    for _ in range(600):
        if await asked():
            break
        await asyncio.sleep(0.05)
    assert told
    assert "x: tensor<64xf32>" in told[0]
