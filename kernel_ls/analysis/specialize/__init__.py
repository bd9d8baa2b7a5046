"""What to compile, and on whose evidence: from a kernel and its program to specializations. Pure functions, no IO.

values.py, flow.py, calls.py, library.py   follow values through the kernel's units -> usage.py
guesses.py, names.py                       from use to candidates, the likeliest first
settings.py, heuristics.py                 facts from pins, launches, autotuners, annotations, defaults, heuristics
assemble.py, arms.py, plan.py              facts and guesses -> specializations, every compile-time arm once
repair.py                                  other guesses, where the generator rejects the first
describe.py                                plans for a person
"""

from kernel_ls.analysis.specialize.describe import describe, value_text
from kernel_ls.analysis.specialize.plan import Plan, plan
from kernel_ls.analysis.specialize.repair import Learned, carry, hangs_on_guess, learned, repair
from kernel_ls.analysis.specialize.settings import Setting
from kernel_ls.analysis.specialize.usage import Usage, Use

__all__ = [
    "Learned",
    "Plan",
    "Setting",
    "Usage",
    "Use",
    "carry",
    "describe",
    "hangs_on_guess",
    "learned",
    "plan",
    "repair",
    "value_text",
]
