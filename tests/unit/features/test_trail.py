"""Places through edits: what was not touched is found, what was touched is not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernel_ls.analysis.features.trail import Trail, difference
from kernel_ls.analysis.positions import split_lines
from kernel_ls.model import Position, Span

TEXTS = st.text(alphabet="ab\n ", max_size=30)


def _offset(lines: list[str], position: Position) -> int:
    return sum(len(line) + 1 for line in lines[: position.line]) + position.column


def _cut(text: str, span: Span) -> str:
    lines = split_lines(text)
    return text[_offset(lines, span.start) : _offset(lines, span.end)]


@given(TEXTS, TEXTS)
def test_the_difference_makes_one_text_the_other(before: str, after: str) -> None:
    hunk = difference(split_lines(before), split_lines(after))
    if hunk is None:
        assert before == after
        return
    new, old = split_lines(after), split_lines(before)
    put = after[_offset(new, hunk.start) : _offset(new, hunk.new_end)]
    made = before[: _offset(old, hunk.start)] + put + before[_offset(old, hunk.old_end) :]
    assert made == after


@given(st.lists(TEXTS, min_size=2, max_size=5), st.data())
def test_a_span_that_has_a_place_now_has_the_same_text_there(texts: list[str], data: st.DataObject) -> None:
    trail = Trail.between(texts)
    lines = split_lines(texts[0])
    start = data.draw(st.integers(0, len(texts[0])))
    end = data.draw(st.integers(start, len(texts[0])))

    def place(at: int) -> Position:
        before = texts[0][:at].split("\n")
        return Position(len(before) - 1, len(before[-1]))

    span = Span(place(start), place(end))
    assert _offset(lines, span.end) == end
    now = trail.now(span)
    if now is not None:
        assert _cut(texts[-1], now) == _cut(texts[0], span)
        if start < end:
            assert trail.back(now.start) == span.start


def test_a_name_that_grows_is_touched() -> None:
    trail = Trail.between(["x = 1\n", "x1 = 1\n"])
    assert trail.now(Span.of(0, 0, 0, 1)) is None


def test_edits_apart_leave_what_is_between() -> None:
    texts = ["a\nb\nc\n", "A\nb\nc\n", "A\nb\nC\n"]
    trail = Trail.between(texts)
    assert trail.now(Span.of(1, 0, 1, 1)) == Span.of(1, 0, 1, 1)
    assert trail.now(Span.of(0, 0, 0, 1)) is None
    assert trail.back(Position(1, 1)) == Position(1, 1)
