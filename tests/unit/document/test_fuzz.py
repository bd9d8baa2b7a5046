"""No text makes the readers of source and IR raise. `KERNEL_LS_EXAMPLES=2000` for more of them."""

from __future__ import annotations

import os
import random
from pathlib import Path

from editing import Typist
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kernel_ls.analysis.document import parse
from kernel_ls.analysis.features import lines
from kernel_ls.analysis.features.trail import Trail, difference
from kernel_ls.analysis.positions import split_lines

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = int(os.environ.get("KERNEL_LS_EXAMPLES", "60"))
SOURCES = sorted((ROOT / "examples").rglob("*.py"))
TTIR = """\
#loc = loc("/k.py":5:0)
module {
  tt.func public @k(%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x_ptr"(#loc))) attributes {noinline = false} {
    %c0_i32 = arith.constant 0 : i32 loc(#loc1)
    %0 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc(#loc2)
    scf.if %1 {
      tt.store %2, %3 : tensor<64x!tt.ptr<f32>> loc(callsite(#loc2 at #loc1))
    } loc(#loc1)
    tt.return loc(#loc3)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("/k.py":7:4)
#loc2 = loc("/k.py":8:11)
#loc3 = loc(fused[#loc1, #loc2])
"""


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(SOURCES), st.integers(0, 2**32), st.integers(1, 40))
def test_a_kernel_in_any_state_of_being_edited_is_read(source: Path, seed: int, edits: int) -> None:
    typist = Typist(source.read_text("utf-8"), random.Random(seed))
    before = parse(typist.text, "/k.py")
    for _ in range(edits):
        typist.edit()
    document = parse(typist.text, "/k.py", before)
    fresh = parse(typist.text, "/k.py")
    assert document.lines == fresh.lines
    assert document.broken == fresh.broken, "what is kept of the text before decides nothing"


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text() | st.text("@def:()\n\t \\'\"#é\r\f\0\ud800tritonj.") | st.binary().map(lambda b: b.decode("latin-1")))
@example("\ud800")
@example("\0")
@example("(" * 500)
@example("@triton.jit\ndef k(" + "a," * 3000)
@example("@triton.jit\ndef k():\n    x = " + "-" * 5000 + "1")
@example("x = " + "9" * 10_000)
def test_any_text_is_read(text: str) -> None:
    parse(text, "/k.py")


def _mutated(text: str, rng: random.Random) -> str:
    for _ in range(rng.randrange(1, 8)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.randrange(20))
        text = (
            text[:start]
            + rng.choice(("", "loc(", "#loc", '"', "{", "}", "%", "\n", ":", "é", text[end:start]))
            + text[end:]
        )
    return text


@settings(max_examples=EXAMPLES * 3, deadline=None)
@given(st.integers(0, 2**32) | st.text('#loc()="/k.py:0123456789 {}%\n', max_size=300))
def test_any_ir_is_read(what: int | str) -> None:
    text = what if isinstance(what, str) else _mutated(TTIR, random.Random(what))
    module = lines.read(text)
    lines.of_lines(module, "k", 0, 99)
    lines.folded(lines.of_function(module, "k"))
    lines.source_map(module)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.text("ab\n\r é", max_size=60), min_size=2, max_size=8))
def test_places_are_led_through_any_edits_or_lost(texts: list[str]) -> None:
    trail, before = Trail(), split_lines(texts[0])
    for text in texts[1:]:
        now = split_lines(text)
        trail = trail.then(difference(before, now))
        before = now
    for row in range(len(split_lines(texts[0]))):
        led = trail.line_now(row)
        assert led is None or 0 <= led < len(before)
