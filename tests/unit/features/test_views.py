"""Views of documents through edits, broken kernels, and the user's choice."""

from __future__ import annotations

from pathlib import Path

from checking import Bench
from unit.features.feature_cases import MAIN, Checked, check

from kernel_ls.analysis.features import lenses, lines
from kernel_ls.model import Position
from kernel_ls.views import Views

TEXT = """\
import triton
import triton.language as tl


# kernel-ls: spec x_ptr=*fp32 BLOCK=64
# kernel-ls: spec x_ptr=*fp16 BLOCK=128
@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, x * 2)


# kernel-ls: spec y_ptr=*fp32
@triton.jit
def other(y_ptr):
    y = tl.load(y_ptr)
    tl.store(y_ptr, y)
"""


def _checked(bench: Bench, folder: Path, text: str = TEXT) -> Checked:
    return check(bench, folder, {MAIN: text})


def _views(bench: Bench, folder: Path) -> tuple[Views, str]:
    checked = _checked(bench, folder)
    views = Views()
    views.opened(checked.path, TEXT)
    views.took(checked.path, checked.view.snapshot)
    return views, checked.path


def _hover(views: Views, path: str, line: int, column: int) -> str:
    view = views.view(path)
    found = view.hover(Position(line, column)) if view is not None else None
    return found.text if found is not None else ""


def test_a_document_that_was_not_checked_has_no_view() -> None:
    views = Views()
    views.opened("/a.py", TEXT)
    assert views.view("/a.py") is None


def test_a_kernel_that_does_not_parse_is_answered_from_the_last_good_text(bench: Bench, tmp_path: Path) -> None:
    views, path = _views(bench, tmp_path)
    broken = TEXT.replace("x * 2)", "x * 2")
    views.changed(path, broken)
    views.took(path, _checked(bench, tmp_path, broken).view.snapshot)
    text = _hover(views, path, 9, 4)
    assert text.startswith("```python\nx: tensor<64xf32>")
    assert "Last good" in text
    assert "Last good" not in _hover(views, path, 16, 4)
    reading, last_good = views.ir(path, "kernel")
    assert reading is not None
    assert last_good
    assert reading.attempt.result.ttir
    view = views.view(path)
    assert view is not None
    assert {lens.arguments[1] for lens in view.lenses()} == {"kernel", "other"}
    views.changed(path, TEXT)
    views.took(path, _checked(bench, tmp_path, TEXT).view.snapshot)
    assert "Last good" not in _hover(views, path, 9, 4)
    assert views.ir(path, "kernel")[1] is False


def test_a_kernel_with_an_error_keeps_its_last_good_ir(bench: Bench, tmp_path: Path) -> None:
    views, path = _views(bench, tmp_path)
    wrong = TEXT.replace("x * 2", "x * nothing")
    views.changed(path, wrong)
    views.took(path, _checked(bench, tmp_path, wrong).view.snapshot)
    reading, last_good = views.ir(path, "kernel")
    assert reading is not None
    assert last_good
    assert _hover(views, path, 9, 4).startswith("```python\nx: tensor<64xf32>")


def test_the_chosen_specialization_is_shown_first(bench: Bench, tmp_path: Path) -> None:
    views, path = _views(bench, tmp_path)
    view = views.view(path)
    assert view is not None
    kernel = view.kernel("kernel")
    assert kernel is not None
    second = kernel.specializations[1].key
    assert views.choose(path, "kernel", second)
    assert not views.choose(path, "kernel", second)
    assert _hover(views, path, 9, 4).startswith("```python\nx: tensor<128xf16>")
    assert views.choose(path, "kernel", "")
    assert _hover(views, path, 9, 4).startswith("```python\nx: tensor<64xf32>")


def test_many_edits_are_followed(bench: Bench, tmp_path: Path) -> None:
    views, path = _views(bench, tmp_path)
    text = TEXT
    for number in range(200):
        text = f"# {number}\n{text}"
        views.changed(path, text)
    assert _hover(views, path, 209, 4).startswith("```python\nx: tensor<64xf32>")


def test_a_check_of_an_earlier_text_is_found_among_the_edits(bench: Bench, tmp_path: Path) -> None:
    checked = _checked(bench, tmp_path)
    views = Views()
    views.opened(checked.path, "# old\n")
    views.changed(checked.path, TEXT)
    views.changed(checked.path, f"# one\n{TEXT}")
    views.took(checked.path, checked.view.snapshot)
    assert _hover(views, checked.path, 10, 4).startswith("```python\nx: tensor<64xf32>")


def test_a_line_has_the_ttir_that_it_became(bench: Bench, tmp_path: Path) -> None:
    views, path = _views(bench, tmp_path)
    text = _hover(views, path, 9, 4)
    ttir = text.partition("```mlir\n")[2]
    assert "tt.load" in ttir
    assert "tt.store" not in ttir
    assert "loc(" not in ttir


def test_rows_of_ttir_lead_back_to_lines(bench: Bench, tmp_path: Path) -> None:
    views, path = _views(bench, tmp_path)
    reading, _ = views.ir(path, "kernel")
    assert reading is not None
    rows = reading.attempt.result.ttir.split("\n")
    loads = [o for o in reading.module.operations if o.name == "tt.load"]
    assert len(loads) == 1
    assert "tt.load" in rows[loads[0].row]
    # In unit coordinates, which begin at the `def`.
    assert (loads[0].unit.rpartition(":")[2], loads[0].line) == ("kernel", 3)


def test_the_helpers_of_a_line_are_expanded(bench: Bench, tmp_path: Path) -> None:
    helper = "@triton.jit\ndef double(x):\n    return x * 2\n\n\n"
    text = TEXT.replace("# kernel-ls: spec x_ptr=*fp32 BLOCK=64", helper + "# kernel-ls: spec x_ptr=*fp32 BLOCK=64")
    text = text.replace("x * 2)", "double(x) + tl.sum(x))")
    checked = _checked(bench, tmp_path, text)
    line = next(n for n, t in enumerate(text.split("\n")) if "double(x) +" in t)
    found = checked.view.hover(Position(line, text.split("\n")[line].index("double")))
    assert found is not None
    expanded = found.text.partition("In `case.double`\n```mlir\n")[2]
    assert "arith.mulf" in expanded.partition("```")[0]
    assert "In helpers: `triton.language.standard.sum`" in found.text


def test_text_that_is_no_mlir_has_no_operations() -> None:
    assert lines.read("not ( mlir }\n}\n\x00").functions == {}


def test_a_pin_is_read_back_as_the_specialization_that_it_was_made_of(bench: Bench, tmp_path: Path) -> None:
    free = TEXT.replace("# kernel-ls: spec x_ptr=*fp32 BLOCK=64\n# kernel-ls: spec x_ptr=*fp16 BLOCK=128\n", "")
    view = _checked(bench, tmp_path, free).view.kernel("kernel")
    assert view is not None
    comment = lenses.pin(view.specializations[0])
    pinned = _checked(bench, tmp_path, free.replace("@triton.jit\ndef kernel", f"{comment}\n@triton.jit\ndef kernel"))
    again = pinned.view.kernel("kernel")
    assert again is not None
    first, second = view.specializations[0], again.specializations[0]
    assert [(a.name, a.type, a.value) for a in first.arguments] == [(a.name, a.type, a.value) for a in second.arguments]
    assert all(a.evidence.kind.value == "pin" for a in second.arguments)
