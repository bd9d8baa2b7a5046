"""The bounded evaluator agrees with Python on pure code, stops where it must, and reaches nothing outside the code."""

from __future__ import annotations

import ast
import time
from typing import Any

import pytest

from kernel_ls.pyeval import Budget, Domain, Evaluator, Frame, Unknown


def call(source: str, *args: Any, budget: Budget | None = None, domain: Domain | None = None, **kwargs: Any) -> Any:
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef)
    return Evaluator(domain, budget).call_function(node, args, kwargs)


AGREES = [
    "def f(n=10):\n    s = 0\n    for i in range(n):\n        if i % 2:\n            continue\n        if i > 6:\n            break\n        s += i\n    else:\n        s = -1\n    return s",
    "def f():\n    a, *b, (c, d) = 1, 2, 3, (4, 5)\n    return a, b, c, d",
    "def f():\n    return {k: v for k, v in zip('ab', range(2))}, {x % 3 for x in range(9)}, [y for x in range(3) for y in range(x) if y]",
    "def f():\n    x = [1, 2, 3]\n    x += [4]\n    x[0] = 9\n    del x[1]\n    return x, x[::-1], x[-1], sorted(x, reverse=True)",
    "def f():\n    g = lambda a, *r, k=2, **w: (a, r, k, w)\n    return g(1, 2, 3, k=4, z=5), g(1)",
    "def f():\n    def fact(n):\n        return 1 if n < 2 else n * fact(n - 1)\n    return fact(10)",
    "def f():\n    count = 0\n    def up():\n        nonlocal count\n        count += 1\n    up()\n    up()\n    return count",
    "def f():\n    try:\n        return {}['a']\n    except (KeyError, ValueError) as e:\n        return 'missing'\n    finally:\n        pass",
    "def f():\n    out = []\n    while (n := len(out)) < 3:\n        out.append(n)\n    return out",
    "def f():\n    return f'{3.14159:.2f}|{\"a\"!r:>5}|{7:03d}', '%d %s' % (1, 'x'), '{}-{k}'.format(1, k=2)",
    "def f():\n    return 1 < 2 < 3, 1 < 3 < 2, not 0, None or 'x', 0 and 1, 3 if [] else 4",
    "def f():\n    def gen(n):\n        for i in range(n):\n            yield i * i\n    return sum(gen(4)), list(gen(3))",
    "def f():\n    return 7 // 2, -7 // 2, 7 % 3, 2 ** 10, 1 << 5, 0xFF & 0x0F, 5 ^ 1, ~5, 7 / 2, round(2.567, 2)",
    "def f():\n    return max([3, 1]), min(2, 1), sum((1, 2)), any([0, 1]), all([1, 0]), divmod(7, 2), abs(-2), list(enumerate('ab'))",
    "def f():\n    d = dict(a=1)\n    d.update(b=2)\n    d.setdefault('c', []).append(3)\n    return d, d.pop('a'), d.get('z', 5), list(d.items())",
    "def f():\n    return isinstance(True, int), isinstance(1, (str, float)), isinstance('x', str), type(3) is int",
    "def f():\n    assert True\n    x = 1\n    x: int = 2\n    return ' a b '.strip().split(), 'x,y'.partition(','), ','.join(str(i) for i in range(3))",
    "def f():\n    match (1, [2, 3]):\n        case (1, [a, b]) if a < b:\n            return a, b\n        case _:\n            return None",
    "def f():\n    return list(map(lambda x: x + 1, [1, 2])), list(filter(None, [0, 1])), list(reversed((1, 2))), next((x for x in [4, 5] if x > 4), None)",
]


@pytest.mark.parametrize("source", AGREES)
def test_pure_code_gives_what_python_gives(source: str) -> None:
    scope: dict[str, Any] = {}
    exec(source, scope)
    assert call(source) == scope["f"]()


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("return 1 << 10 ** 9", "too large"),
        ("return 10 ** 10 ** 10", "too large"),
        ("return 'x' * 10 ** 9", "too large"),
        ("return [0] * 10 ** 9", "too large"),
        ("return list(range(10 ** 9))", "too large"),
        ("while True:\n        pass", "too many steps"),
        ("x = 'ab'\n    while True:\n        x = x + x", "too large"),
        ("x = 2\n    while True:\n        x = x * x", "too large"),
        ("x = []\n    while True:\n        x = [x, x]", "too many steps"),
        ("return '%999999999d' % 1", "width"),
        ("return f'{1:999999999d}'", "width"),
        ("return 'a'.ljust(10 ** 9)", "too large"),
        ("return 'ab'.replace('', 'x' * 40000)", "too large"),
        ("def g(n):\n        return g(n + 1)\n    return g(0)", "too deeply"),
    ],
)
def test_growth_and_endless_work_end_as_unknown_in_bounded_time(body: str, part: str) -> None:
    started = time.perf_counter()
    value = call(f"def f():\n    {body}")
    assert isinstance(value, Unknown)
    assert part in value.reason
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    "expression",
    [
        "().__class__",
        "().__class__.__bases__[0].__subclasses__()",
        "'{0.__class__}'.format(1)",
        "(lambda: 0).__globals__",
        "open('/etc/passwd')",
        "eval('1')",
        "exec('x = 1')",
        "__import__('os')",
        "compile('1', 'x', 'eval')",
        "getattr((), '__class__')",
        "[].__reduce__()",
        "globals()",
        "input()",
    ],
)
def test_what_leads_outside_the_code_is_unknown(expression: str) -> None:
    assert isinstance(call(f"def f():\n    return {expression}"), Unknown)


def test_an_object_that_is_not_plain_data_is_never_touched() -> None:
    class Trap:
        touched = False

        def __getattribute__(self, name: str) -> Any:
            if name == "__class__":  # what `isinstance` reads
                return Trap
            Trap.touched = True
            raise AssertionError(name)

        def _mark(self, *_: Any) -> Any:
            Trap.touched = True
            raise AssertionError

        __add__ = __radd__ = __eq__ = __bool__ = __len__ = __iter__ = __call__ = __getitem__ = __hash__ = __format__ = (
            _mark
        )
        __str__ = __repr__ = __lt__ = __contains__ = __index__ = _mark  # type: ignore[assignment]

    uses = [
        "x + 1",
        "1 + x",
        "x == 1",
        "x in [1]",
        "1 in x",
        "x.a",
        "x[0]",
        "x()",
        "f'{x}'",
        "str(x)",
        "len(x)",
        "bool(x)",
    ]
    uses += [
        "list(x)",
        "{x: 1}",
        "{x}",
        "sorted([x, x])",
        "max(x, x)",
        "sum([x])",
        "isinstance(x, int)",
        "hasattr(x, 'a')",
    ]
    uses += [
        "int(x)",
        "range(x)",
        "[1, 2][x]",
        "{}.get(x)",
        "[x].index(x)",
        "[x] == [x]",
        "(x,) < (x,)",
        "'%s' % x",
        "1 if x else 2",
    ]
    uses += [
        "not x",
        "x and 1",
        "-x",
        "abs(x)",
        "dict(x)",
        "[*x]",
        "{**x}",
        "''.join([x])",
        "print(x)",
        "type(x)",
        "id(x)",
    ]
    for use in uses:
        call(f"def f(x):\n    return {use}", Trap())
    assert not Trap.touched


def test_unknown_propagates_with_its_first_reason() -> None:
    why = Unknown("the device is asked")
    assert call("def f(x):\n    return (x + 1) * 2", why) is why
    assert call("def f(x):\n    return [x, 1]", why) == [why, 1]
    assert call("def f(x):\n    return x or True", why) is True
    result = call("def f(x):\n    if x:\n        return 1\n    return 2", why)
    assert isinstance(result, Unknown)
    assert result.reason == why.reason


def test_an_exception_of_the_code_is_unknown_with_its_type() -> None:
    value = call("def f():\n    raise ValueError('no such width')")
    assert isinstance(value, Unknown)
    assert "ValueError" in value.reason
    assert "no such width" in value.reason


class Exploring(Domain):
    explores = True

    def join(self, first: Any, second: Any) -> Any:
        return ("either", first, second) if first != second else first


def test_where_branches_are_explored_both_are_followed() -> None:
    why = Unknown("a flag")
    source = "def f(flag):\n    x = 0\n    if flag:\n        x = 1\n    else:\n        y = 5\n    return x, y"
    assert call(source, why, domain=Exploring()) == (("either", 1, 0), 5)
    source = "def f(flag):\n    if flag:\n        return 1\n    return 2"
    assert call(source, why, domain=Exploring()) == ("either", 1, 2)
    source = "def f(flag):\n    if flag:\n        raise ValueError\n    return 2"
    assert call(source, why, domain=Exploring()) == 2
    source = "def f(items):\n    last = None\n    for item in items:\n        found = 3\n    return found"
    assert call(source, why, domain=Exploring()) == 3


def test_default_arguments_are_evaluated_in_the_globals() -> None:
    node = ast.parse("def f(a, b=WIDTH * 2):\n    return a + b + WIDTH").body[0]
    assert isinstance(node, ast.FunctionDef)
    assert Evaluator().call_function(node, (1,), globals={"WIDTH": 8}) == 25
    assert Evaluator().call_function(node, (1,), globals={"WIDTH": 8}, defaults={"b": 0}) == 9


def test_statements_leave_their_names_in_the_frame() -> None:
    frame = Frame({})
    stopped = Evaluator().execute(ast.parse("import os\nx = 1").body, frame)
    assert stopped is None
    assert frame.locals["x"] == 1
    assert isinstance(frame.locals["os"], Unknown)
