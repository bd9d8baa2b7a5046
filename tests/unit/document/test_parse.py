"""Parsing never fails, and a broken function hides no other."""

from __future__ import annotations

import ast
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_ls.analysis import kernels
from kernel_ls.analysis.document import ParsedDocument, parse

KERNELS = '''\
"""A module
import nothing
def not_a_function(
"""
import triton
import triton.language as tl


@triton.jit
def first(x, n: tl.constexpr):
    """Adds.

def quoted(
    """
    y = tl.load(x + tl.arange(0, n))
    tl.store(x, y)


CONFIGS = [
    triton.Config({"B": 64}),
    triton.Config({"B": 128}),
]


@triton.autotune(
    configs=CONFIGS,
    key=["n"],
)
@triton.jit
def second(x, n):
    if n > 3:
        x += 1
    else:
        x += 2
    tl.store(x, n)


class Holder:
    """Holds."""

    @staticmethod
    @triton.jit
    def third(x):
        tl.store(x, 1.0)

    def method(self):
        return first[(1,)](self.x, 16)


def outer(flag):
    @triton.jit
    def fourth(x):
        tl.store(x, 2.0)

    @triton.jit
    def fifth(x):
        tl.store(x, 3.0)

    return fourth if flag else fifth


if tl:
    @triton.jit
    def sixth(x):
        tl.store(x, 4.0)
else:
    @triton.jit
    def seventh(x):
        tl.store(x, 5.0)


@triton.jit
def last(x):
    tl.store(x, 6.0)
'''
NAMES = {"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "last"}


def found(document: ParsedDocument) -> set[str]:
    return {f.name for f in kernels.find(document)}


def lines_of(name: str) -> tuple[int, int]:
    """0-based first line behind the header and the line behind the end of a function of KERNELS."""
    for node in ast.walk(ast.parse(KERNELS)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            assert node.end_lineno is not None
            return node.lineno, node.end_lineno
    raise AssertionError(name)


def test_a_whole_text_parses_as_python_does() -> None:
    document = parse(KERNELS, "k.py")
    assert document.broken == ()
    assert ast.dump(document.tree, include_attributes=True) == ast.dump(ast.parse(KERNELS), include_attributes=True)
    assert found(document) == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.parametrize(
    "typed",
    [
        "y = (",
        "y = [1,",
        "y = {",
        "y = 'abc",
        '"""',
        "'''",
        'x = f"""{',
        "y = = 2",
        "y =",
        "y = x.",
        "if x",
        "if x:",
        "for i in",
        "while True:",
        "def inner(",
        "def inner(a,",
        "def inner():",
        "@",
        "@triton.",
        ")",
        "]",
        "\\",
        "return (x +",
        "tl.store(x, 'a)",
        "\0",
        "\ud800",
        "$ ? !",
        "lambda",
        "# comment (",
        "else:",
        "with open(x) as",
        "x = 1 if",
        "async",
        "class",
        "from",
        "import",
    ],
)
def test_typing_inside_one_kernel_leaves_the_others(name: str, typed: str) -> None:
    start, _ = lines_of(name)
    lines = KERNELS.split("\n")
    indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())] or "    "
    for margin in (indent, indent + "  "):
        document = parse("\n".join([*lines[:start], margin + typed, *lines[start:]]), "k.py")
        assert NAMES - {name} <= found(document)
        for region in document.broken:
            assert region.message
            assert start - 10 <= region.lines[0] <= region.lines[1] < len(document.lines)


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(sorted(NAMES)), data=st.data())
def test_cutting_one_kernel_short_leaves_the_others(name: str, data: st.DataObject) -> None:
    start, end = lines_of(name)
    lines = KERNELS.split("\n")
    body = "\n".join(lines[start:end])
    cut = data.draw(st.integers(1, len(body)))
    document = parse("\n".join([*lines[:start], body[:cut], *lines[end:]]), "k.py")
    assert NAMES - {name} <= found(document)


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(sorted(NAMES)),
    typed=st.text(st.sampled_from("()[]{}'\"\\:=.,@#+ \tabdefi1é😀\x0c"), max_size=12),
    data=st.data(),
)
def test_typing_anything_on_a_kernels_line_leaves_the_others(name: str, typed: str, data: st.DataObject) -> None:
    start, end = lines_of(name)
    lines = KERNELS.split("\n")
    number = data.draw(st.integers(start, end - 1))
    line = lines[number]
    margin = len(line) - len(line.lstrip())
    at = data.draw(st.integers(margin, len(line)))
    lines[number] = line[:at] + typed + line[at:]
    assert NAMES - {name} <= found(parse("\n".join(lines), "k.py"))


def test_a_line_without_indentation_inside_a_kernel_never_leaves_half_of_it() -> None:
    text = (
        "import triton\n@triton.jit\ndef k(x):\n    y = 1\nfoo bar\n    z = y\n\n@triton.jit\ndef after(x):\n    pass\n"
    )
    assert found(parse(text, "k.py")) == {"after"}


def test_a_broken_decorator_costs_only_its_own_function() -> None:
    text = "import triton\n@triton.autotune(configs=[\n@triton.jit\ndef k(x):\n    pass\n\n@triton.jit\ndef b(x):\n    pass\n"
    document = parse(text, "k.py")
    assert found(document) == {"b"}
    assert document.broken_names == {"k"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(\n", {"f"}),
        ("class A:\n    def m(self):\n        x = (\n    def n(self): pass\n", {"A.m"}),
        ("def f():\n    def g():\n        = 1\n    def h(): pass\n", {"f.<locals>.g"}),
        ("async def f():\n    x = = 1\n", {"f"}),
        ("if x:\n    def f():\n        = 1\n    def g(): pass\n", {"f"}),
        ("try:\n    import a\n    def g(): pass\nexcept E:\n    def f(:\n        pass\n", {"f"}),
    ],
)
def test_a_half_typed_definition_still_has_its_name(text: str, names: set[str]) -> None:
    assert parse(text, "k.py").broken_names == names


def test_a_broken_statement_of_an_outer_function_names_that_function() -> None:
    document = parse("def f():\n    def g(): pass\n    x = = 1\n    return g\n", "k.py")
    (region,) = document.broken
    assert (region.enclosing, region.is_definition, region.lines) == ("f", False, (2, 2))
    assert [n.name for n in ast.walk(document.tree) if isinstance(n, ast.FunctionDef)] == ["f", "g"]


def test_the_place_is_where_python_complains() -> None:
    (region,) = parse("x = 1\n\nclass A:\n    def f(self):\n        y = é😀 = = 2\n", "k.py").broken
    assert region.span.start.line == 4
    assert parse("x = 1\ny = = 2\n", "k.py").broken[0].span.start.column == 4


def test_messages_name_lines_of_the_buffer() -> None:
    (region,) = parse("a = 1\nb = 2\n\ndef f():\n\nc = 3\n", "k.py").broken
    assert "on line 4" in region.message


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("broken", ["", "def z(:\n    pass\n"])
def test_every_line_end_counts_as_for_python(end: str, broken: str) -> None:
    text = (KERNELS + broken).replace("\n", end)
    document = parse(text, "k.py")
    assert found(document) == NAMES
    assert [f.node.lineno for f in kernels.find(document)] == [
        f.node.lineno for f in kernels.find(parse(KERNELS, "k.py"))
    ]


@pytest.mark.parametrize("odd", ["\x0c", "\x0b", "\x1c", "\u2028", "\x85"])
def test_only_python_line_ends_count(odd: str) -> None:
    document = parse(f"x = '{odd}' # {odd}\n{odd if odd == chr(12) else ''}def f(): pass\n", "k.py")
    assert document.broken == ()
    assert document.tree.body[1].lineno == 2
    assert len(document.lines) == 3


HOSTILE = [
    "",
    "\n",
    "\ufeff",
    "\ufeffx = 1",
    "\0",
    "\ud800",
    "(" * 5000,
    "x = " + "-" * 20000 + "1",
    "x = " + "(" * 300 + ")" * 300,
    "x" + ".a" * 20000,
    "x = " + "+".join("1" * 20000),
    "\n".join(" " * i + "if x:" for i in range(150)) + "\n" + " " * 150 + "pass",
    "\n".join(f"{'elif' if i else 'if'} x == {i}:\n    pass" for i in range(3000)),
    '"""' * 4001,
    "'" * 9999,
    "\\" * 5000,
    "def f(\n" * 3000,
    "@triton.jit\n" * 3000,
    "class A:\n" * 3000,
    "x = (\n" * 3000,
    'def f():\n    """\n' * 1501,
    "f'{" * 2000,
    "\t def f():\n \tx = 1\n  \t  y\n" * 200,
    "\x0c" * 1000 + "def f(: pass",
    "é = 1\ndef ñ(𝑥): return 𝑥 = =",
    "type X = int\ndef f[T](x: T): pass\nclass A[T]: pass\n",
    "try:\n    pass\nexcept* E:\n    pass\n",
    "match x:\n    case 1:\n        def f(:\n    case _:\n        pass\n",
    "if x:\n" + "    def f():\n        = 1\n" * 500,
    "# -*- coding: no-such -*-\nx = 1\n",
    "0777\n1__0\n0xg\n1e\n" * 50,
    "x = 99999999" + "9" * 6000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_documents_in_good_time(text: str) -> None:
    started = time.perf_counter()
    document = parse(text, "k.py")
    kernels.find(document)
    assert len(document.comments) >= 0
    assert time.perf_counter() - started < 5
    for region in document.broken:
        assert region.span.start <= region.span.end
        line = document.lines[region.span.end.line]
        assert region.span.end.column <= len(line)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters() | st.sampled_from("\n\r\t\0\x0c'\"()[]{}:@#\\ "), max_size=200))
def test_any_text_is_a_document(text: str) -> None:
    document = parse(text, "k.py")
    assert (document.broken == ()) == (_parses(text.removeprefix("\ufeff")))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([*KERNELS.split("\n"), "def f(", '"""', "    x = (", ")", "else:"]), max_size=40))
def test_any_order_of_lines_is_a_document(lines: list[str]) -> None:
    document = parse("\n".join(lines), "k.py")
    kernels.find(document)
    for region in document.broken:
        assert 0 <= region.lines[0] <= region.lines[1] < len(lines)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
