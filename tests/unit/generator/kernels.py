"""Kernels of these tests. A comment `# fault: NAME` says which exception is recorded on its line, once; `# fault<3.9:`
and `# fault>=3.9:` limit it to some Triton versions. `# spec:` gives the arguments, `# check:` the kernel's name `k`'s
pin notation. A kernel without a mark is accepted, by the recovering generator and by Triton alike."""

from __future__ import annotations

HEADER = """\
import math
import numpy as np
import triton
import triton.language as tl

PLAIN = 3
TABLE = (1, 2)
SCALE = tl.constexpr(0.5)


"""

KERNELS = {
    "loops carry values": """
# spec: src=*fp32 dst=*fp32 n=i32 BLOCK=64
@triton.jit
def k(src, dst, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    count = 0
    for i in range(0, n, BLOCK):
        x = tl.load(src + i + tl.arange(0, BLOCK))
        for j in range(4):
            acc += x * j
            if count > 3:
                acc = acc * 2.0
                count = 0
        count += 1
    while count < n:
        count += 1
    tl.store(dst + tl.arange(0, BLOCK), acc * count)
""",
    "branches merge": """
# spec: src=*fp32 dst=*fp32 n=i32 WIDE=True OPT=None
@triton.jit
def k(src, dst, n, WIDE: tl.constexpr, OPT: tl.constexpr):
    x = tl.load(src)
    if n > 4:
        y = x + 1.0
        only_then = 3
        if n > 8:
            x = x * 2
    elif n > 2:
        y = x + 2.0
    else:
        y = x
    if WIDE:
        z = tl.arange(0, 64)
    else:
        z = undefined_but_not_generated
    if OPT is not None:
        x = also_undefined
    t = y if n > 3 else x
    tl.store(dst + z, x + y + t)
""",
    "an early return": """
# spec: dst=*i32 n=i32
@triton.jit
def k(dst, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    tl.store(dst + pid, pid)
""",
    "helpers, tuples, defaults, unrolled loops": """
@triton.jit
def pair(x, y=2, W: tl.constexpr = 4):
    return x + y, x * W


@triton.jit
def largest(a, b):
    return tl.maximum(a, b)


# spec: src=*fp32 dst=*fp32
@triton.jit
def k(src, dst):
    x = tl.load(src + tl.arange(0, 64))
    for i in tl.static_range(3):
        p, q = pair(x, W=i)
        x = p + q
    tl.store(dst, tl.reduce(x, 0, largest) + tl.sum(x) * SCALE)
    tl.static_print("seen", x.dtype)
""",
    "independent faults": """
# spec: src=*fp32 dst=*fp32 n=i32
@triton.jit
def k(src, dst, n):
    offs = tl.arange(0, 48)  # fault: ValueError
    a = tl.load(src + offs)
    b = tl.load(src) + PLAIN  # fault: NameError
    c = b + missing  # fault: NameError
    d = c * 2
    b[0] = 1.0  # fault: NotImplementedError
    if 0 < n < 4:  # fault<3.9: UnsupportedLanguageConstruct
        b = b + other  # fault: NameError
    tl.store(dst, b)
    try:  # fault: UnsupportedLanguageConstruct
        e = 1
    except ValueError:
        pass
    tl.store(dst, e)
    f = np.sqrt(tl.load(src))  # fault: OpaqueUse
    tl.store(dst, f)
    return
    tl.store(dst, after_return)
""",
    "a loop that changes types": """
# spec: src=*fp32 dst=*fp32 n=i32 step=1
@triton.jit
def k(src, dst, n, step):
    acc = 0
    top = -1
    for i in range(n):
        acc += tl.load(src + i)  # fault: AssertionError
        top = tl.maximum(top, i)
        step = n  # fault: AssertionError
    tl.store(dst, acc)
    tl.store(dst, missing)  # fault: NameError
""",
    "a nested loop that changes a type is one fault": """
# spec: src=*fp32 dst=*fp32 n=i32
@triton.jit
def k(src, dst, n):
    acc = 0
    for i in range(n):
        for j in range(n):
            acc += tl.load(src + i + tl.arange(0, 64))  # fault: AssertionError
    tl.store(dst, tl.sum(acc, axis=0))
""",
    "arms that disagree": """
# spec: src=*fp32 dst=*fp32 n=i32
@triton.jit
def k(src, dst, n):
    x = tl.load(src)
    z = tl.load(src)
    if n > 0:
        y = x.to(tl.float16)
        z = z.to(tl.float16)  # fault: AssertionError
    else:
        y = x  # fault: AssertionError
    if n > 1:
        x = tl.arange(0, 64)  # fault: AssertionError
    tl.store(dst, y)
    tl.store(dst, x)
    t = 1.0 if n > 0 else 2  # fault: AssertionError
""",
    "faults inside regions leave them whole": """
# spec: src=*fp32 dst=*fp32 n=i32
@triton.jit
def k(src, dst, n):
    x = tl.load(src)
    acc = 0.0
    for i in range(n):
        if i > 2:
            x = bad  # fault: NameError
            w = bad2  # fault: NameError
        else:
            w = 1.0
        acc += x
        acc = worse  # fault: NameError
        tl.store(dst, w)
    while n > 0:
        n -= 1
        acc = acc + again  # fault: NameError
    if n > 2:
        acc = bad3  # fault: NameError
    tl.store(dst, acc)
    tl.store(dst, tl.arange(0, 5))  # fault: ValueError
""",
    "returns in loops": """
# spec: src=*fp32 dst=*i32 n=i32
@triton.jit
def k(src, dst, n):
    for i in range(n):
        if tl.load(src + i) > 0:
            tl.store(dst, missing)  # fault: NameError
            return  # fault: UnsupportedLanguageConstruct
    while n > 0:
        n -= 1
        return  # fault: UnsupportedLanguageConstruct
    tl.store(dst, n)
""",
    "a helper's fault is the helper's": """
@triton.jit
def helper(x):
    y = x + missing  # fault: NameError
    return y


@triton.jit
def two(x):
    if x > 0:
        return x
    return x.to(tl.float16)  # fault: TypeError


@triton.jit
def fine(x):
    z = nowhere  # fault: NameError
    return x + 1


# spec: src=*fp32 dst=*fp32
@triton.jit
def k(src, dst):
    x = tl.load(src)
    tl.store(dst, helper(x))
    tl.store(dst, helper(x))
    tl.store(dst, two(x))
    tl.store(dst, fine(x) + elsewhere)  # fault: NameError
    tl.store(dst, tl.sum(x + tl.arange(0, 64), axis=2))  # fault: ValueError
    tl.store(dst, tl.max(x + tl.arange(0, 64), axis=3))  # fault: ValueError
    tl.store(dst, tl.max(x + tl.arange(0, 64), axis=3) * 2)  # fault: ValueError
""",
    "calls that do not bind": """
@triton.jit
def blend(x, y, w):
    return x * w + y


# spec: src=*fp32 dst=*fp32
@triton.jit
def k(src, dst):
    x = tl.load(src)
    tl.store(dst, blend(x, w=0.5))  # fault: TypeError
    tl.store(dst, blend(x, x, 1.0, 2.0))  # fault: TypeError
    tl.store(dst, blend(x, x, 1.0, w=2.0, v=1))  # fault: TypeError
    tl.store(dst, blend(x, x, 1.0))
""",
    "recursion": """
@triton.jit
def down(x):
    return down(x - 1)  # fault: RecursionError


# spec: dst=*fp32 n=i32
@triton.jit
def k(dst, n):
    tl.store(dst, down(n))
    tl.store(dst, missing)  # fault: NameError
""",
    "loop headers that fail leave the body checked": """
# spec: src=*fp32 dst=*fp32 n=i32
@triton.jit
def k(src, dst, n):
    acc = 0.0
    for i in range(0, n / 2):  # fault: TypeError
        acc += tl.load(src + i) + missing  # fault: NameError
    for j in tl.static_range(n):  # fault: AssertionError
        acc += other  # fault: NameError
    tl.store(dst, acc)
""",
    "names bound elsewhere": """
# spec: dst=*fp32 n=i32 FLAG=False
@triton.jit
def k(dst, n, FLAG: tl.constexpr):
    if FLAG:
        bias = 1.0
    if n > 0:
        late = 2.0
    tl.store(dst, bias)  # fault: NameError
    tl.store(dst, late)  # fault: NameError
""",
    "static assertions and unused results": """
# spec: src=*fp32 dst=*fp32 N=3
@triton.jit
def k(src, dst, N: tl.constexpr):
    tl.static_assert(N % 2 == 0, "N is even")  # fault: CompileTimeAssertionFailure
    x = tl.load(src)
    tl.store(dst, x + nothing)  # fault: NameError
    break_here = [v for v in (1, 2) if v > 1]  # fault<3.9: IgnoredFilter
""",
    "a default that fails hides nothing": """
# spec: src=*fp32 dst=*fp32 n=i32
@triton.jit
def k(src, dst, n):
    lambda_ = lambda v: v  # fault: UnsupportedLanguageConstruct
    tl.store(dst, lambda_(n))
    for i in range(n):
        if i > 3:
            break  # fault: UnsupportedLanguageConstruct
        continue  # fault: UnsupportedLanguageConstruct
    tl.store(dst, missing)  # fault: NameError
""",
}

SILENT = {
    "a loop variable after its loop": """
# spec: dst=*i32 n=i32
@triton.jit
def k(dst, n):
    for i in range(n):
        tl.store(dst + i, i)
    tl.store(dst, i)  # fault: LoopVariableAfterLoop
    for i in range(n):
        tl.store(dst + i, i)
    i = 3
    tl.store(dst, i)
""",
    "an integer condition of a while": """
# spec: dst=*i32 n=i32
@triton.jit
def k(dst, n):
    while n:  # fault<3.9: WhileCondition
        n -= 1
    tl.store(dst, n)
""",
    "a filtered comprehension": """
# spec: dst=*i32
@triton.jit
def k(dst):
    kept = [v for v in (1, 2, 3, 4) if v > 2]  # fault<3.9: IgnoredFilter
    tl.store(dst, kept[0])
""",
}
