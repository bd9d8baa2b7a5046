"""The tree after an edit is the one that parsing the whole text gives, and what the edit left alone keeps its nodes."""

from __future__ import annotations

import ast
import random

import pytest

from kernel_ls.analysis import document as documents
from kernel_ls.analysis.document import ParsedDocument, parse

TEXT = '''"""Kernels."""
import triton
import triton.language as tl

SIZE = tl.constexpr(64)


@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    """Scales
    in place.
    """
    offs = tl.arange(0, BLOCK)
    if BLOCK > 16:
        x = tl.load(x_ptr + offs, mask=offs < n)
    else:
        x = tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, x * 2, mask=offs < n)


if SIZE:
    def inside(x):
        return x
else:
    inside = None


class Host:
    def launch(self, x):
        scale[(1,)](x, x.numel(), BLOCK=64)


@triton.jit
def last(x_ptr):
    tl.store(x_ptr, 1)
'''

PIECES = (
    *("x", "(", ")", "[", '"', "'", '"""', "\n", "\n    ", "    ", "@", "#", ":", "\\", ",", " = 1"),
    *("else:\n", "@triton.jit\n", "def f():\n    pass\n", "if x:\n", "x = 1\n", "    y = 2\n", "try:\n", "except E:\n"),
    *("class A:\n  z = 1\n", "\t", "async def g(): ...\n", "\\\n", "; ", "# kernel-ls: ignore\n"),
)


def _same(one: ParsedDocument, other: ParsedDocument) -> bool:
    trees = (ast.dump(d.tree, include_attributes=True) for d in (one, other))
    return len(set(trees)) == 1 and one.broken == other.broken and one.comments == other.comments


def _edit(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    if chance.random() < 0.5:
        at = text.rfind("\n", 0, at) + 1
    kind = chance.random()
    if kind < 0.5:
        return text[:at] + chance.choice(PIECES) + text[at:]
    if kind < 0.75:
        return text[:at] + text[at + chance.choice((1, 1, 2, 5, 40)) :]
    other = chance.randrange(len(text) + 1)
    return text[:at] + text[other : other + chance.choice((3, 30, 200))] + text[at:]


@pytest.mark.parametrize("seed", range(40))
def test_a_chain_of_edits_gives_the_trees_of_the_texts(seed: int) -> None:
    chance = random.Random(seed)
    document = parse(TEXT)
    for _ in range(25):
        text = _edit(document.text, chance)
        after, fresh = parse(text, before=document), parse(text)
        assert _same(after, fresh), text
        document = after


def test_statements_that_an_edit_left_alone_keep_their_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    before = parse(TEXT)
    after = parse(TEXT.replace("x * 2", "x * 3"), before=before)
    kept = [b is a for b, a in zip(before.tree.body, after.tree.body, strict=True)]
    assert kept.count(False) == 1
    half = parse(TEXT.replace("x * 2", "x * "), before=after)
    assert [b.enclosing for b in half.broken] == ["scale"]
    assert half.tree.body[-1] is before.tree.body[-1]
    assert parse(TEXT, before=half).tree.body[-1] is before.tree.body[-1]
    # A row more: what stands above is kept, what stands below has new rows.
    longer = parse(TEXT.replace("    tl.store(x_ptr + offs", "    y = x\n    tl.store(x_ptr + offs"), before=before)
    assert longer.tree.body[3] is before.tree.body[3]
    assert longer.tree.body[-1] is not before.tree.body[-1]

    def refused(*_arguments: object) -> None:
        raise AssertionError("the whole text was parsed")

    monkeypatch.setattr(documents.isolation, "isolate", refused)
    assert parse(TEXT.replace("x * 2", "x *"), before=before).broken
