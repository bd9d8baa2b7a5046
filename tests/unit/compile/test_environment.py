"""A program becomes what the code generator would find had the user's file been imported, and nothing of it is run."""

from __future__ import annotations

import json
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
from interpreters import Interpreter

import kernel_ls

CONSTEXPR = {"k": "ref", "path": "triton.language.constexpr"}
TL = {"k": "ref", "path": "triton.language"}
TRITON = {"k": "ref", "path": "triton"}


def lit(value: Any) -> dict[str, Any]:
    return {"k": "lit", "v": value}


def ref(path: str) -> dict[str, Any]:
    return {"k": "ref", "path": path}


def fn(unit: str) -> dict[str, Any]:
    return {"k": "fn", "unit": unit}


class Probe:
    """Builds programs under one interpreter."""

    def __init__(self, python: str) -> None:
        package = Path(kernel_ls.__file__).parent
        script = Path(__file__).with_name("environment_probe.py")
        self._process = subprocess.Popen(
            [python, "-I", "-W", "ignore", str(script), str(package)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, job: dict[str, Any], look: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"job": job, "look": look}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the worker died"
        return json.loads(line)

    def __call__(self, job: dict[str, Any], look: str = "ttir()") -> Any:
        reply = self.ask(job, look)
        assert "value" in reply, reply
        return reply["value"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def probe(triton_python: Interpreter):
    made = Probe(triton_python.path)
    yield made
    made.close()


def unit(source: str, role: str = "jit", **more: Any) -> dict[str, Any]:
    source = textwrap.dedent(source).strip() + "\n"
    name = source.split("(")[0].removeprefix("def ").strip()
    return {"name": name, "qualname": name, "module": "user", "role": role, "source": source, **more}


def program(kernel: str, arguments: list[Any] | None = None, **units: Any) -> dict[str, Any]:
    """A job for the kernel `k`, with `globals` etc. in `units`; each argument is (name, type) or (name, type, value)."""
    made = {f"user:{name}": wire for name, wire in units.items()}
    wire = made.pop("user:k_extra", {})
    defaults = {"tl": TL, "triton": TRITON}
    made["user:k"] = unit(kernel, **{**wire, "globals": {**defaults, **wire.get("globals", {})}})
    for other in made.values():
        other.setdefault("globals", defaults)
    full = [[*argument, *(None, False)][:4] for argument in arguments or []]
    return {
        "kernel": "user:k",
        "units": made,
        "specialization": {"arguments": full, "options": {"num_warps": 4}},
        "target": ["cuda", 90, 32],
    }


STORE = [["p", "*i32"]]


def stored(probe: Probe, expression: str, **units: Any) -> str:
    """TTIR of a kernel that stores an expression, which makes its value visible as a constant."""
    return probe(program(f"def k(p):\n    tl.store(p, {expression})", STORE, **units))


def test_helpers_may_call_each_other_in_a_circle(probe: Probe) -> None:
    job = program(
        "def k(p):\n    tl.store(p, a(1, 3))",
        STORE,
        k_extra={"globals": {"a": fn("user:a")}},
        a=unit(
            "def a(x, n: tl.constexpr):\n    if n > 0:\n        return b(x, n - 1)\n    return x",
            globals={"tl": TL, "b": fn("user:b")},
            annotations={"n": CONSTEXPR},
        ),
        b=unit(
            "def b(x, n: tl.constexpr):\n    return a(x + 1, n)",
            globals={"tl": TL, "a": fn("user:a")},
            annotations={"n": CONSTEXPR},
        ),
    )
    assert probe(job, "built.functions['user:a'].__globals__['b'] is built.functions['user:b']")
    assert probe(job, "built.functions['user:b'].__globals__['a'] is built.functions['user:a']")


def test_positions_are_the_unit_s(probe: Probe) -> None:
    text = stored(probe, "1")
    assert '"<user:k>":2:' in text
    assert probe(program("def k(p):\n    pass", STORE), "built.unit_of('<user:k>')") == "user:k"
    assert probe(program("def k(p):\n    pass", STORE), "built.unit_of(built.kernel)") == "user:k"
    assert probe(program("def k(p):\n    pass", STORE), "built.unit_of(triton.cdiv)") is None


def test_arguments_become_what_the_launcher_makes_of_them(probe: Probe) -> None:
    job = program(
        "def k(p, n, t, BLOCK: tl.constexpr, NONE):\n    pass",
        [
            ["p", "*fp16", None, True],
            ["n", "i32", None, False],
            [
                "t",
                ["*fp32", "constexpr", "i32"],
                {"k": "tuple", "items": [lit(None), lit(7), lit(None)]},
                [True, False],
            ],
            ["BLOCK", "constexpr", {"k": "constexpr", "v": lit(64)}],
            ["NONE", "constexpr", lit(None)],
        ],
        k_extra={"annotations": {"BLOCK": CONSTEXPR}},
    )
    assert probe(job, "list(built.signature.items())") == [
        ["p", "*fp16"],
        ["n", "i32"],
        ["t", ["*fp32", "constexpr", "i32"]],
        ["BLOCK", "constexpr"],
        ["NONE", "constexpr"],
    ]
    assert probe(job, "sorted(built.constants.items())") == [[[2, 1], 7], [[3], 64], [[4], None]]
    assert probe(job, "sorted(built.attrs.items())") == [
        [[0], [["tt.divisibility", 16]]],
        [[2, 0], [["tt.divisibility", 16]]],
    ]


def test_constexpr_functions_run_in_the_evaluator(probe: Probe) -> None:
    body = """
        def size(n, dtypes):
            total = 0
            for d in dtypes:
                total += d.primitive_bitwidth // 8 * max(n, LIMIT)
            assert total > 0, "empty"
            return total
    """
    text = stored(
        probe,
        "size(3, (tl.float16, tl.int64))",
        k_extra={"globals": {"size": fn("user:size")}},
        size=unit(body, "constexpr_function", globals={"LIMIT": lit(5)}),
    )
    assert "50" in text


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("return n + min(n, tl.constexpr(30))", 24),
        ("return 12 if tl.float16.is_fp16() and d == tl.float16 else 13", 12),
        ("return d.primitive_bitwidth", 16),
        ("return sum([i for i in range(n) if i % 2])", 36),
        ("return helper(n, k=3)", 36),
        ("return triton.next_power_of_2(n + 1) + math.gcd(12, 18)", 22),
        ("return functools.reduce(lambda a, b: a * b, (2, 3, 4))", 24),
        ("return 14 if isinstance(n, int) and not isinstance(d, tl.constexpr) else 15", 14),
        ("return {tl.float16: 17}[d]", 17),
    ],
)
def test_constexpr_functions_compute_with_triton_s_objects(probe: Probe, body: str, value: int) -> None:
    scope = {
        "tl": TL,
        "triton": TRITON,
        "math": ref("math"),
        "functools": ref("functools"),
        "helper": fn("user:helper"),
    }
    text = stored(
        probe,
        "f(12, tl.float16)",
        k_extra={"globals": {"f": fn("user:f")}},
        f=unit(f"def f(n, d):\n    {body}", "constexpr_function", globals=scope),
        helper=unit("def helper(n, k=1):\n    return n * k", "host"),
    )
    assert f"constant {value} : i32" in text


def test_what_a_constexpr_function_raises_is_the_error(probe: Probe) -> None:
    job = program(
        "def k(p):\n    tl.store(p, check(-1))",
        STORE,
        k_extra={"globals": {"check": fn("user:check")}},
        check=unit(
            "def check(n):\n    if n < 0:\n        raise ValueError(f'n is {n}')\n    return n", "constexpr_function"
        ),
    )
    reply = probe.ask(job, "ttir()")
    assert (reply["cause"], reply["said"]) == ("ValueError", "n is -1")


@pytest.mark.parametrize(
    "body",
    [
        "n = 0\n    while True:\n        n += 1",
        "return spin()",
        "return 7 ** 7 ** 7 ** 7",
        "return math.factorial(10 ** 9)",
        "return operator.pow(9, 10 ** 9)",
        "return tl.constexpr(9) ** tl.constexpr(10 ** 9)",
        "return [0] * 10 ** 10",
        "return operator.mul('x', 10 ** 10)",
    ],
)
def test_an_endless_constexpr_function_is_given_up(probe: Probe, body: str) -> None:
    scope = {"tl": TL, "math": ref("math"), "operator": ref("operator"), "spin": fn("user:spin")}
    job = program(
        "def k(p):\n    tl.store(p, spin())",
        STORE,
        k_extra={"globals": {"spin": fn("user:spin")}},
        spin=unit(f"def spin():\n    {body}", "constexpr_function", globals=scope),
    )
    reply = probe.ask(job, "ttir()")
    assert "UnknownUse" in (reply["error"], reply["cause"])


def test_plain_functions_of_modules_run_in_the_evaluator(probe: Probe) -> None:
    module = {"k": "module", "name": "user.sizes", "members": {"double": fn("user:double"), "N": lit(21)}}
    text = stored(
        probe,
        "sizes.double(sizes.N)",
        k_extra={"globals": {"sizes": module}},
        double=unit("def double(n):\n    return n + n", "host"),
    )
    assert "42" in text


def test_a_plain_global_function_is_triton_s_own_error(probe: Probe) -> None:
    job = program(
        "def k(p):\n    tl.store(p, double(21))",
        STORE,
        k_extra={"globals": {"double": fn("user:double")}},
        double=unit("def double(n):\n    return n + n", "host"),
    )
    assert "Cannot access global variable double" in probe.ask(job, "ttir()")["text"]


def test_stand_ins_say_which_name_and_why(probe: Probe) -> None:
    unknown = {"k": "unknown", "name": "os.cpu_count()", "reason": "it is run when the module is"}
    job = program("def k(p):\n    tl.store(p, N)", STORE, k_extra={"globals": {"N": unknown}})
    reply = probe.ask(job, "ttir()")
    assert reply["error"] == "UnknownUse"
    assert "os.cpu_count(): it is run" in reply["text"]
    numpy = {"k": "module", "name": "numpy", "members": {"sqrt": {"k": "opaque", "name": "numpy.sqrt"}}}
    job = program("def k(p):\n    tl.store(p, np.sqrt(2))", STORE, k_extra={"globals": {"np": numpy}})
    reply = probe.ask(job, "ttir()")
    assert "OpaqueUse" in (reply["error"], reply["cause"])
    assert "numpy.sqrt" in reply["said"]


def test_opaque_constants_compare_by_name(probe: Probe) -> None:
    dtype = {"k": "opaque", "name": "torch.float16"}
    job = program(
        "def k(p, D: tl.constexpr, E: tl.constexpr):\n    if D == E:\n        tl.store(p, 5)\n    else:\n        tl.store(p, 6)",
        [*STORE, ["D", "constexpr", dtype], ["E", "constexpr", dtype]],
        k_extra={"annotations": {"D": CONSTEXPR, "E": CONSTEXPR}},
    )
    text = probe(job)
    assert "5" in text
    assert " 6" not in text


def class_unit(name: str, kind: str, **details: Any) -> dict[str, Any]:
    return {
        "name": name,
        "qualname": name,
        "module": "user",
        "role": "class",
        "source": "",
        "globals": {"tl": TL},
        "class": {"kind": kind, "bases": [], "fields": [], "members": {}, "methods": {}, **details},
    }


def test_named_tuples_are_arguments_and_values(probe: Probe) -> None:
    pair = class_unit("Pair", "namedtuple", fields=[["first", None, None], ["second", None, lit(4)]])
    value = {"k": "instance", "unit": "user:Pair", "args": [lit(None)], "kwargs": {}}
    job = program(
        "def k(p, pair):\n    q = Pair(pair.first, 9)\n    tl.store(p, q.first + q.second + pair.second)",
        [*STORE, ["pair", ["i32", "constexpr"], value]],
        k_extra={"globals": {"Pair": {"k": "class", "unit": "user:Pair"}}},
        Pair=pair,
    )
    assert "%pair" in probe(job) or "arith.addi" in probe(job)
    assert probe(job, "built.signature['pair']._fields") == ["first", "second"]


def test_enumerators_are_constants(probe: Probe) -> None:
    mode = class_unit(
        "Mode", "enum", bases=[{"k": "opaque", "name": "enum.IntEnum"}], members={"A": lit(1), "B": lit(2)}
    )
    value = {"k": "instance", "unit": "user:Mode", "member": "B"}
    job = program(
        "def k(p, M: tl.constexpr):\n    if M == C.value:\n        tl.store(p, 77)",
        [*STORE, ["M", "constexpr", value]],
        k_extra={"globals": {"C": {"k": "constexpr", "v": value}}, "annotations": {"M": CONSTEXPR}},
        Mode=mode,
    )
    assert probe(job, "built.constants[(1,)].name") == "B"
    assert "77" in probe(job)


def test_dataclasses_are_constants(probe: Probe) -> None:
    config = class_unit(
        "Config", "dataclass", fields=[["block", ref("builtins.int"), lit(32)], ["warps", ref("builtins.int"), lit(4)]]
    )
    value = {"k": "instance", "unit": "user:Config", "args": [lit(33)], "kwargs": {}}
    job = program(
        "def k(p, C: tl.constexpr):\n    tl.store(p, C.block)",
        [*STORE, ["C", "constexpr", value]],
        k_extra={"annotations": {"C": CONSTEXPR}},
        Config=config,
    )
    assert "33" in probe(job)


def test_aggregates_have_fields_and_methods(probe: Probe) -> None:
    point = class_unit(
        "Point",
        "aggregate",
        fields=[["x", ref("triton.language.tensor"), None], ["n", ref("triton.language.constexpr"), None]],
        methods={"__init__": "user:Point.__init__", "scaled": "user:Point.scaled"},
    )
    init = unit("def __init__(self, x, n):\n    self.x = x\n    self.n = tl.constexpr(n)", "constexpr_function")
    init["qualname"] = "Point.__init__"
    init["role"] = "host"
    scaled = unit("def scaled(self):\n    return self.x * self.n")
    job = program(
        "def k(p, v):\n    tl.store(p, Point(v, 21).scaled())",
        [*STORE, ["v", "i32"]],
        k_extra={"globals": {"Point": {"k": "class", "unit": "user:Point"}}},
        Point=point,
        **{"Point.__init__": init, "Point.scaled": scaled},
    )
    has = probe(program("def k(p):\n    pass", STORE), "hasattr(tl.core, '_aggregate')")
    if not has:
        pytest.skip("this Triton has no aggregates")
    text = probe(job)
    assert "21" in text
    assert "tt.call" in text


def test_gluon_kernels_are_gluon_s(probe: Probe) -> None:
    job = program("def k(p):\n    pass", STORE, k_extra={"role": "gluon"})
    job["units"]["user:k"]["role"] = "gluon"
    assert probe(job, "built.kernel.is_gluon()") is True


def test_a_program_that_is_built_again_is_taken_from_the_first(probe: Probe) -> None:
    job = program("def k(p):\n    tl.store(p, 1)", STORE)
    first = probe(job, "id(built.kernel)")
    assert probe(job, "id(built.kernel)") == first
    changed = program("def k(p):\n    tl.store(p, 2)", STORE)
    assert probe(changed, "id(built.kernel)") != first


def test_values_that_could_be_changed_are_made_for_each_job(probe: Probe) -> None:
    module = {"k": "module", "name": "user.tables", "members": {"T": {"k": "list", "items": [lit(1)]}}}
    job = program("def k(p):\n    tables.T.append(2)", STORE, k_extra={"globals": {"tables": module}})
    look = "(ttir(), len(built.kernel.__globals__['tables'].T))[1]"
    assert probe(job, look) == 2
    assert probe(job, look) == 2


@pytest.mark.parametrize(
    ("source", "line"),
    [("def k(p):\n    x = (1", 2), ("def k(p):\n    def f():\n        nonlocal x", 3), ("def k(p):\n    break", 2)],
)
def test_what_python_rejects_is_said_with_its_line(probe: Probe, source: str, line: int) -> None:
    job = program(source, STORE)
    reply = probe.ask(job, "1")
    assert reply["error"] == "BuildError"
    assert "SyntaxError" in reply["text"]
    assert probe.ask(program("def k(p):\n    pass", STORE), "1") == {"value": 1}


def test_the_second_unit_of_a_name_is_told_apart(probe: Probe) -> None:
    job = program(
        "def k(p):\n    tl.store(p, f(tl.load(p)) + g(tl.load(p)))",
        [["p", "*fp32"]],
        k_extra={"globals": {"f": fn("user:f"), "g": fn("user:f#2")}},
        **{"f": unit("def f(x):\n    return x + 2.0"), "f#2": unit("def f(x):\n    return x * 3.0")},
    )
    text = probe(job)
    assert "arith.addf" in text
    assert "arith.mulf" in text


# ------------------------------------------------------------------------------------ hostile programs

HOSTILE_EXPRESSIONS = [
    "triton.runtime.build.subprocess.check_output(['touch', MARK])",
    "triton.runtime.build.os.system(MARK)",
    "triton.compiler.compiler.os.abort()",
    "tl.core.inspect.os.abort()",
    "tl.math.core.contextlib.os.abort()",
    "triton.compile(MARK)",
    "triton.testing.do_bench(MARK)",
    "triton.knobs.os.abort()",
    "sizes.run()",
    "m.sys.exit()",
]


@pytest.mark.parametrize("expression", HOSTILE_EXPRESSIONS)
@pytest.mark.parametrize("role", ["jit", "constexpr_function"])
def test_a_program_cannot_reach_beyond_the_language(probe: Probe, tmp_path: Path, expression: str, role: str) -> None:
    mark = tmp_path / "ran"
    scope = {
        "tl": TL,
        "triton": TRITON,
        "MARK": {"k": "constexpr", "v": lit(f"touch {mark}")},
        "m": ref("math"),
        "sizes": {"k": "module", "name": "sizes", "members": {"run": fn("user:run")}},
    }
    run = unit(f"def run():\n    import os\n    os.system('touch {mark}')\n    return open('{mark}', 'w')", "host")
    if role == "jit":
        job = program(f"def k(p):\n    tl.store(p, {expression})", STORE, k_extra={"globals": scope}, run=run)
    else:
        job = program(
            "def k(p):\n    tl.store(p, evil())",
            STORE,
            k_extra={"globals": {"evil": fn("user:evil")}},
            evil=unit(f"def evil():\n    return {expression}", "constexpr_function", globals=scope),
            run=run,
        )
    assert "error" in probe.ask(job, "ttir()")
    assert not mark.exists()


@pytest.mark.parametrize(
    "path",
    [
        *("os.system", "subprocess.run", "builtins.exec", "builtins.eval", "builtins.open", "builtins.__import__"),
        *("builtins.getattr", "builtins.compile", "operator.attrgetter", "triton.language.load.__globals__"),
        *("triton.runtime.build.subprocess", "triton.language.core.inspect", "functools.partial.__class__", "sys"),
        *("triton.compiler.compiler.os", "math.__loader__", "triton.__loader__", "builtins"),
    ],
)
def test_a_reference_leads_only_to_triton_s_language(probe: Probe, path: str) -> None:
    job = program("def k(p):\n    pass", STORE, k_extra={"globals": {"x": ref(path)}})
    assert probe(job, "type(built.kernel.__globals__['x']).__name__") in ("Opaque", "Unknown")


def test_no_text_of_a_job_is_evaluated(probe: Probe, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    evil = f"__import__('os').system('touch {mark}')"
    for text in (f"tensordesc<fp16[64],{evil}>", f"tensordesc<fp16[64],NVMMASharedLayout({evil})>"):
        assert "descriptor" in probe.ask(program("def k(p):\n    pass", [["p", text]]), "ttir()")["text"]
    for kind in ("aggregate", "namedtuple", "dataclass"):
        bad = class_unit("Bad", kind, fields=[["x", lit(evil), None]])
        job = program(
            "def k(p):\n    Bad(1)", STORE, k_extra={"globals": {"Bad": {"k": "class", "unit": "user:Bad"}}}, Bad=bad
        )
        probe.ask(job, "ttir()")
        for name in ("x=1): pass\nimport os", "__class__", "a b"):
            probe.ask(
                program(
                    "def k(p):\n    Bad(1)",
                    STORE,
                    k_extra={"globals": {"Bad": {"k": "class", "unit": "user:Bad"}}},
                    Bad=class_unit("Bad", kind, fields=[[name, None, None]]),
                ),
                "ttir()",
            )
    job = program(f"def k(p, n: '{evil}' = {evil}):\n    pass", [*STORE, ["n", "i32"]])
    probe.ask(job, "built.kernel.params[1].is_constexpr")
    assert not mark.exists()


def test_functions_hold_none_of_the_user_s_code(probe: Probe) -> None:
    job = program("def k(p):\n    import os\n    os.abort()", STORE)
    assert probe(job, "built.kernel.fn(None)") is None


def test_only_triton_s_modules_are_imported(probe: Probe) -> None:
    before = "sorted(m for m in sys.modules if m in ('turtle', 'antigravity', 'this', 'xmlrpc', 'smtpd'))"
    job = program(
        "def k(p):\n    pass", STORE, k_extra={"globals": {"x": ref("antigravity"), "y": ref("triton.turtle")}}
    )
    assert probe(job, before) == []


def test_all_of_the_language_can_be_held(probe: Probe) -> None:
    look = """[name for name in dir(tl) if not name.startswith('_')
        and type(env.references.resolve('triton.language.' + name)).__name__ in ('Opaque', 'Unknown')]"""
    assert probe(program("def k(p):\n    pass", STORE), look.replace("\n", " ")) == []


def test_a_form_feed_does_not_move_lines(probe: Probe) -> None:
    job = program("def k(p):\n    # a\x0cb \u2028 c\n    tl.store(p, 1)", STORE)
    assert '"<user:k>":3:' in probe(job)
