"""A workspace whose every corner writes a mark when Python executes it."""

from __future__ import annotations

from pathlib import Path

MARKING = """
def mark(what):
    from pathlib import Path
    with open(Path(__file__).parent / "marks.txt", "a") as file:
        file.write(what + "\\n")
    return 1
mark("imported helper module")
def __getattr__(name):
    mark("module __getattr__ " + name)
    return 7
"""

TRAPS = """
from __future__ import absolute_import
try:
    import triton
    import triton.language as tl
except ImportError:
    from fake import triton, tl
from marking import mark, lazily_there
import package.inner
from package import *

class Meta(type):
    def __new__(cls, name, bases, body, **options):
        mark("metaclass")
        return super().__new__(cls, name, bases, body, **options)
    def __init__(cls, name, bases, body, **options):
        mark("metaclass")
    def __call__(cls, *args):
        mark("metaclass call")
        return super().__call__(*args)

class Base(metaclass=Meta):
    mark("class body")
    def __init_subclass__(cls, **kwargs):
        mark("__init_subclass__")
    def __add__(self, *other):
        return mark("operator")
    __radd__ = __mul__ = __getitem__ = __call__ = __add__
    def __format__(self, spec):
        mark("f-string")
        return ""
    def __eq__(self, other):
        return mark("comparison") == 1
    def __hash__(self):
        return mark("hash")
    def __bool__(self):
        return mark("truth") == 1
    def __iter__(self):
        mark("iteration")
        return iter(())
    def __enter__(self):
        mark("with")
    def __exit__(self, *rest):
        mark("with")
    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return mark("attribute " + name)
    def __set_name__(self, owner, name):
        mark("__set_name__")

class Derived(Base, option=1):
    field = Base()

thing = Derived()
added = thing + 1
reversed_ = 1 + thing
item = thing[0]
called = thing()
text = f"{thing}"
same = thing == 2
keyed = {thing: 1}
if thing:
    chosen = 1
else:
    chosen = 2
for element in thing:
    pass
with thing:
    inside = 1
attribute = thing.anything
comprehended = [mark("comprehension") for _ in range(2)]
evaluated = eval("mark('eval')")
exec("mark('exec')")
imported = __import__("marking").mark("__import__")

def decorator(function):
    mark("decorator")
    return function

def configs():
    mark("config function")
    return [triton.Config({"B": mark("config value") * 16})]

@triton.autotune(configs=configs(), key=[f"{mark('key')}"], prune_configs_by={"early_config_prune": lambda c, n: mark("prune")})
@triton.heuristics({"E": lambda args: mark("heuristic")})
@decorator
@triton.jit
def kernel(p, n: mark("annotation"), B: tl.constexpr, E: tl.constexpr = mark("default")):
    thing + added + item + called + text + same + chosen + inside + attribute + comprehended + evaluated + lazily_there
    helper(p)
    CONSTANT
    package.inner.VALUE
    star_value

@triton.jit
def helper(p):
    return p + WIDTH(3)

@triton.constexpr_function
def WIDTH(n):
    mark("constexpr function")
    return n

def launch(x):
    kernel[(mark("grid"),)](x, mark("argument"), E=thing)
    kernel.run(x, mark("argument"), grid=lambda meta: (mark("grid"),))

CONSTANT = mark("constant")
lambda_value = (lambda: mark("lambda"))()
"""

INIT = """
from marking import mark
mark("package __init__")
from . import inner
star_value = mark("star")
__all__ = ["star_value"]
"""

FAKE = """
class _Any:
    def __getattr__(self, name):
        return self
    def __call__(self, *args, **kwargs):
        return args[0] if len(args) == 1 and not kwargs and callable(args[0]) else self
triton = tl = _Any()
"""


def write(folder: Path) -> Path:
    (folder / "marking.py").write_text(MARKING)
    (folder / "fake.py").write_text(FAKE)
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text(INIT)
    (folder / "package" / "inner.py").write_text("from marking import mark\nVALUE = mark('inner')\n")
    path = folder / "traps.py"
    path.write_text(TRAPS)
    return path
