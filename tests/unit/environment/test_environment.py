"""What kernels see is found by reading: values, imports, branches, decorators, nested definitions, and what changes."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kernel_ls.analysis.environment import (
    ConfigValue,
    Constexpr,
    InstanceValue,
    MemoryProvider,
    Opaque,
    Ref,
    TritonApi,
    Workspace,
)
from kernel_ls.model import Target
from kernel_ls.pyeval import MISSING, Unknown

HEADER = "import triton\nimport triton.language as tl\n"
PATH = "/project/main.py"


def workspace(main: str = "", target: str = "cuda:90", api: TritonApi | None = None, **files: str) -> Workspace:
    texts = {f"/project/{name.replace('__', '/')}.py": text for name, text in files.items()}
    texts = {path.replace("/init.py", "/__init__.py"): text for path, text in texts.items()}
    return Workspace(MemoryProvider({PATH: HEADER + main, **texts}), api, Target.parse(target))


def value(main: str, name: str = "x", **more: Any) -> Any:
    return workspace(main, **more).lookup(PATH, name)


def program(main: str, kernel: str = "kernel", **more: Any) -> Any:
    found = workspace(main, **more)
    function = next(f for f in found.functions(PATH) if f.jit.name == kernel)
    return found.program(function.jit)


def globals_of(made: Any, unit: str | None = None) -> Any:
    return made.units[unit or made.kernel]["globals"]


# ------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 2 ** 4 + triton.cdiv(10, 3)", 20),
        ("x = triton.next_power_of_2(100)", 128),
        ("import math\nx = math.log2(math.e)", math.log2(math.e)),
        ("x, y = 1, 2\nx += y", 3),
        ("x = 1\ny = x\nx = 2\nz = y + x", 2),
        ("x = []\nfor i in range(3):\n    x.append(i)\nx.append(9)", [0, 1, 2, 9]),
        ("x = {}\nx['a'] = 1\nx.update(b=2)", {"a": 1, "b": 2}),
        ("import os\nx = os.environ.get('WIDTH', '64') == '64'", True),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    x = 1\nelse:\n    x = 2", 2),
        ("try:\n    import not_there\n    x = 1\nexcept ImportError:\n    x = 2", 2),
        ("import functools\n@functools.lru_cache(None)\ndef f(n):\n    return n * 2\nx = f(4)", 8),
        ("from functools import partial\nx = partial(lambda a, b: a - b, 10)(b=3)", 7),
        ("import itertools\nx = list(itertools.product([1, 2], 'a'))", [(1, "a"), (2, "a")]),
        ("import torch\nx = {torch.float16: 1, torch.float32: 2}[torch.half]", 1),
        ("import torch\nx = torch.float16 == torch.bfloat16", False),
        ("import torch\nx = torch.finfo(torch.float16).max", 65504.0),
        ("x = tl.float32.primitive_bitwidth", 32),
        ("x = tl.float16 == tl.float16 and tl.float16 != tl.float32", True),
        ("def f():\n    global y\n    y = 1\ny = 5\nx = y", 5),
        (
            "from dataclasses import dataclass, field\n@dataclass\nclass C:\n    a: int\n    b: list = field(default_factory=list)\n    @property\n    def twice(self):\n        return self.a * 2\nx = C(3).twice + len(C(1).b)",
            6,
        ),
        ("from typing import NamedTuple\nclass P(NamedTuple):\n    a: int\n    b: int = 4\nx = P(1).b + P(1)[0]", 5),
        ("from collections import namedtuple\nP = namedtuple('P', 'a b')\nx = P(1, 2)._replace(a=5).a", 5),
        ("from enum import IntEnum\nclass E(IntEnum):\n    A = 1\n    B = 2\nx = E.A + E.B", 3),
        ("from enum import Enum\nclass E(Enum):\n    A = 'a'\nx = [e.value for e in E]", ["a"]),
        (
            "class C:\n    def __init__(self, n):\n        self.n = n\n    def get(self):\n        return self.n + 1\nx = C(1).get()",
            2,
        ),
        (
            "class B:\n    def __init__(self, n):\n        self.n = n\nclass C(B):\n    def __init__(self):\n        super().__init__(7)\nx = C().n",
            7,
        ),
    ],
)
def test_module_level_values(text: str, expected: Any) -> None:
    assert value(text) == expected


def test_values_that_are_not_plain() -> None:
    assert value("x = tl.constexpr(4)") == Constexpr(4)
    assert value("x = tl.constexpr(4) * 2") == Constexpr(8)
    assert value("x = tl.float16") == Ref("triton.language.float16")
    assert value("import torch\nx = torch.half") == Opaque("torch.float16")
    member = value("from enum import Enum\nclass E(Enum):\n    A = 'a'\nx = E.A")
    assert isinstance(member, InstanceValue)
    assert member.member == "A"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("import os\nx = int(os.environ['WIDTH'])", "environment variable"),
        ("import torch\nx = torch.randn(4)", "torch.randn"),
        ("x = x_other + 1\nx_other = x", "define itself"),
        ("x = 'a' * 10 ** 9", "too large"),
        ("def f():\n    while True:\n        pass\nx = f()", "too many steps"),
        ("x = undefined_name", "not defined"),
        ("state = None\ndef f():\n    global state\n    state = 1\nx = state", "set by a function"),
    ],
)
def test_what_cannot_be_known_says_why(text: str, part: str) -> None:
    found = value(text)
    assert isinstance(found, Unknown)
    assert part in found.reason


def test_both_branches_of_an_unknown_test_are_candidates() -> None:
    text = "import torch\nif torch.something():\n    x = 1\nelse:\n    x = 2"
    found = workspace(text)
    assert found.lookup(PATH, "x") == 1
    module = found.module(PATH)
    assert module is not None
    assert module.alternatives["x"] == [2]


@pytest.mark.parametrize(("target", "expected"), [("cuda:90", "nvidia"), ("hip:gfx942", "amd")])
def test_questions_about_the_device_are_answered_from_the_target(target: str, expected: str) -> None:
    text = "def is_hip():\n    return triton.runtime.driver.active.get_current_target().backend == 'hip'\nx = 'amd' if is_hip() else 'nvidia'"
    assert value(text, target=target) == expected
    text = "import torch\nif torch.version.hip is not None:\n    x = 'amd'\nelse:\n    x = 'nvidia'"
    assert value(text, target=target) == expected


MANIFEST = {
    "triton": "3.5.1",
    "names": {
        "triton.language": {"kind": "module"},
        "triton.language.dot": {"kind": "builtin"},
        "triton.language.float32": {"kind": "dtype", "value": "fp32"},
        "triton.language.TRITON_MAX_TENSOR_NUMEL": {"kind": "value", "value": 1048576, "type": "int"},
    },
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = hasattr(tl, 'dot')", True),
        ("x = hasattr(tl, 'not_in_this_triton')", False),
        ("x = getattr(tl, 'not_in_this_triton', None)", None),
        ("from packaging.version import parse\nx = parse(triton.__version__) >= parse('3.2')", True),
        ("from packaging import version\nx = version.parse(triton.__version__) < version.Version('3.4.0')", False),
        ("x = tuple(int(p) for p in triton.__version__.split('.')[:2]) >= (3, 4)", True),
        ("x = tl.TRITON_MAX_TENSOR_NUMEL", 1048576),
        ("try:\n    from triton.language import nothing\n    x = 1\nexcept ImportError:\n    x = 2", 2),
    ],
)
def test_questions_about_triton_are_answered_from_its_manifest(text: str, expected: Any) -> None:
    assert value(text, api=TritonApi(MANIFEST)) == expected


def test_without_a_manifest_every_name_of_triton_may_exist() -> None:
    assert value("x = tl.anything") == Ref("triton.language.anything")
    assert isinstance(value("x = hasattr(tl, 'anything')"), Unknown)


# ------------------------------------------------------------------------------------------------- imports


def test_imports_are_read_and_followed() -> None:
    found = workspace(
        "from pkg import a, deep\nimport pkg.deep.leaf as leaf\nimport pkg.deep\nfrom pkg.stars import *\n"
        "x = a + leaf.VALUE + pkg.deep.leaf.VALUE + deep.up + starred",
        pkg__init="from .first import a\nfrom . import deep\n",
        pkg__first="a = 1\n",
        pkg__deep__init="from ..first import a as up\n",
        pkg__deep__leaf="VALUE = 10\n",
        pkg__stars="__all__ = ['starred']\nstarred = 100\nhidden = 1\n",
    )
    assert found.lookup(PATH, "x") == 1 + 10 + 10 + 1 + 100
    assert found.lookup(PATH, "hidden") is MISSING
    assert "/project/pkg/first.py" in found.dependencies(PATH)


def test_modules_that_import_each_other_are_no_problem() -> None:
    found = workspace(
        "from a import X\nx = X", a="from b import Y\nX = Y + 1\nZ = 1\n", b="import a\nfrom a import Z\nY = Z\n"
    )
    assert found.lookup(PATH, "x") == 2


def test_a_change_is_seen_and_what_depends_on_it_is_forgotten() -> None:
    provider = MemoryProvider({PATH: "from a import X\nx = X\n", "/project/a.py": "X = 1\n"})
    found = Workspace(provider)
    assert found.lookup(PATH, "x") == 1
    provider.files["/project/a.py"] = "X = 2\n"
    found.invalidate("/project/a.py")
    assert found.lookup(PATH, "x") == 2


def test_a_file_that_appears_is_found() -> None:
    provider = MemoryProvider({PATH: "try:\n    from a import X\nexcept ImportError:\n    X = 0\nx = X\n"})
    found = Workspace(provider)
    assert found.lookup(PATH, "x") == 0
    provider.files["/project/a.py"] = "X = 2\n"
    found.invalidate("/project/a.py")
    assert found.lookup(PATH, "x") == 2


# ------------------------------------------------------------------------------------------------- programs


def test_a_program_holds_exactly_what_the_kernel_reads() -> None:
    made = program(
        "import utils\nfrom utils import helper\nWIDTH = tl.constexpr(4)\nunused = open('x')\n"
        "@triton.jit\ndef kernel(p, shadowed):\n    local = 1\n    helper(p + WIDTH + local + shadowed)\n    utils.deep.other(p)\n"
        "    for i in range(3):\n        i + 1\nlocal = shadowed = 5\n",
        utils=HEADER + "import deep\n@triton.jit\ndef helper(x):\n    return tl.exp(x)\n",
        deep=HEADER + "@triton.jit\ndef other(x):\n    return x\n",
    )
    assert set(globals_of(made)) == {"WIDTH", "helper", "utils"}
    assert set(made.units) == {"main:kernel", "utils:helper", "deep:other"}
    assert globals_of(made)["utils"]["members"]["deep"]["members"] == {"other": {"k": "fn", "unit": "deep:other"}}
    assert globals_of(made, "utils:helper") == {"tl": {"k": "ref", "path": "triton.language"}}
    assert made.unknown == ()


def test_a_name_that_is_bound_on_some_paths_only_is_read_from_outside() -> None:
    made = program(
        "x = 1\ny = 2\n@triton.jit\ndef kernel(p, F: tl.constexpr):\n    y = 0\n    if F:\n        x = 3\n    p + x + y\n"
    )
    assert set(globals_of(made)) == {"tl", "x"}  # `tl` by the annotation


def test_an_undefined_name_is_left_to_the_generator() -> None:
    assert "nothing" not in globals_of(program("@triton.jit\ndef kernel(p):\n    nothing(p)\n"))


def test_an_unknown_global_is_told_with_its_reason() -> None:
    made = program("import os\nWIDTH = int(os.environ['WIDTH'])\n@triton.jit\ndef kernel(p):\n    p + WIDTH\n")
    assert globals_of(made)["WIDTH"]["k"] == "unknown"
    ((unit, name, reason),) = made.unknown
    assert (unit, name) == ("main:kernel", "WIDTH")
    assert "environment variable" in reason


def test_the_text_of_a_unit_is_what_triton_parses() -> None:
    made = program(
        "class C:\n    if True:\n        @triton.jit  # comment\n        # another\n        def kernel(p):\n            return p\n"
    )
    assert made.units[made.kernel]["source"].rstrip() == "def kernel(p):\n    return p"
    origin = made.origins[made.kernel]
    assert origin.first_line == 6
    assert origin.indents[0] == 8


@pytest.mark.parametrize(
    "text",
    [
        "@triton.jit\ndef kernel(p):\n    p\n",
        "@triton.jit(noinline=False)\ndef kernel(p):\n    p\n",
        "from triton import jit as J\n@J\ndef kernel(p):\n    p\n",
        "def kernel(p):\n    p\nrun = triton.jit(kernel)\n",
        "my = triton.jit\n@my\ndef kernel(p):\n    p\n",
        "def my(fn):\n    return triton.jit(fn)\n@my\ndef kernel(p):\n    p\n",
        "def my(**o):\n    def inner(fn):\n        return triton.jit(fn, **o)\n    return inner\n@my(noinline=True)\ndef kernel(p):\n    p\n",
        "import functools\n@functools.partial(triton.jit, noinline=True)\ndef kernel(p):\n    p\n",
        "class Entry:\n    def __init__(self, fn):\n        self.fn = fn\ndef entry():\n    def deco(fn):\n        return Entry(fn)\n    return deco\n@entry()\n@triton.jit\ndef kernel(p):\n    p\n",
        "class Entry(triton.KernelInterface):\n    pass\n@Entry\n@triton.jit\ndef kernel(p):\n    p\n",
        "if triton.runtime.other():\n    @triton.jit\n    def kernel(p):\n        p\n",
        "import torch\n@torch.something\n@triton.jit\ndef kernel(p):\n    p\n",
        "from triton.experimental import gluon\n@gluon.jit\ndef kernel(p):\n    p\n",
        "class K:\n    @staticmethod\n    @triton.jit\n    def kernel(p):\n        p\n",
        "def make():\n    @triton.jit\n    def kernel(p):\n        p\n    return kernel\n",
    ],
)
def test_a_jit_function_is_known_under_whatever_makes_it_one(text: str) -> None:
    made = program(text)
    assert made.units[made.kernel]["role"] in ("jit", "gluon")
    assert made.units[made.kernel]["source"].startswith("def kernel(p):")


def test_a_kernel_in_a_function_sees_what_encloses_it() -> None:
    text = (
        "def make(width, scale=2, other=None):\n    twice = width * 2\n    @triton.jit\n    def helper(x):\n        return x\n"
        "    @triton.jit\n    def kernel(p):\n        return helper(p) + width + twice + scale + other\n    return kernel\nrun = make(64, other=later())\n"
    )
    made = program(text)
    seen = globals_of(made)
    assert {n: seen[n]["v"] for n in ("width", "twice", "scale")} == {"width": 64, "twice": 128, "scale": 2}
    assert seen["helper"] == {"k": "fn", "unit": "main:make.<locals>.helper"}


def test_autotuners_and_heuristics_are_evaluated() -> None:
    text = (
        "def configs():\n    return [triton.Config({'B': b}, num_warps=w) for b in (32, 64) for w in (4, 8) if b * w < 512]\n"
        "@triton.autotune(configs=configs(), key=['N'])\n@triton.heuristics({'EVEN': lambda args: args['N'] % args['B'] == 0})\n"
        "@triton.jit\ndef kernel(p, N, B: tl.constexpr, EVEN: tl.constexpr):\n    p\n"
    )
    found = workspace(text)
    (function,) = found.functions(PATH)
    assert function.autotune is not None
    assert [(c.kwargs, c.num_warps) for c in function.autotune.known_configs()] == [
        ({"B": 32}, 4),
        ({"B": 32}, 8),
        ({"B": 64}, 4),
    ]
    assert function.autotune.key == ["N"]
    assert function.autotune.location is not None
    heuristic = function.heuristics[0].values["EVEN"]
    assert found.call(heuristic, ({"N": 64, "B": 32},), {}) is True


def test_an_autotuner_of_the_projects_own_gives_its_configurations() -> None:
    text = (
        "class Tuner(triton.runtime.Autotuner):\n    def __init__(self, fn, configs, key):\n        super().__init__(fn, fn.arg_names, configs, key)\n"
        "        self.configs = configs\n        self.key = key\n        self.fn = fn\n"
        "def tune(configs, key):\n    def deco(fn):\n        return Tuner(fn, configs, key)\n    return deco\n"
        "@tune([triton.Config({'B': 16})], ['N'])\n@triton.jit\ndef kernel(p, N, B: tl.constexpr):\n    p\n"
    )
    (function,) = workspace(text).functions(PATH)
    assert function.autotune is not None
    assert isinstance(function.autotune.known_configs()[0], ConfigValue)
    assert function.autotune.key == ["N"]


def test_classes_become_units() -> None:
    text = (
        "from enum import Enum\nfrom typing import NamedTuple\n"
        "class Mode(Enum):\n    A = 1\n    B = 2\n"
        "class Pair(NamedTuple):\n    left: tl.constexpr\n    right: int = 3\n    @triton.jit\n    def both(self):\n        return self.left + OTHER\n"
        "OTHER = tl.constexpr(9)\nCHOSEN = Mode.B\nPAIR = Pair(1)\n"
        "@triton.jit\ndef kernel(p):\n    Mode.A\n    CHOSEN\n    PAIR.both()\n"
    )
    made = program(text)
    seen = globals_of(made)
    assert seen["CHOSEN"] == {"k": "instance", "unit": "main:Mode", "member": "B"}
    assert seen["PAIR"]["fields"] == {"left": {"k": "lit", "v": 1}, "right": {"k": "lit", "v": 3}}
    mode = made.units["main:Mode"]["class"]
    assert mode["kind"] == "enum"
    assert mode["members"] == {"A": {"k": "lit", "v": 1}, "B": {"k": "lit", "v": 2}}
    pair = made.units["main:Pair"]["class"]
    assert pair["kind"] == "namedtuple"
    assert [f[0] for f in pair["fields"]] == ["left", "right"]
    assert pair["methods"] == {"both": "main:Pair.both"}
    assert set(globals_of(made, "main:Pair.both")) == {"OTHER"}


def test_moving_code_does_not_change_the_key_of_its_program() -> None:
    text = "@triton.jit\ndef kernel(p):\n    p\n"
    first, second = program(text), program("\n\n# comment\n" + text)
    assert first.key == second.key
    assert first.origins != second.origins


def test_a_broken_function_hides_no_other() -> None:
    made = program("def broken(:\n    pass\n\n@triton.jit\ndef kernel(p):\n    p + 1\n")
    assert made.units[made.kernel]["source"].startswith("def kernel")
