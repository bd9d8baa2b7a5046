from __future__ import annotations

import re

from kernel_ls.analysis.rules.base import Match, Rule, RuleContext
from kernel_ls.model import Fault

_TEXT = re.compile(
    r"not supported (?:in|on|for) this (?:architecture|target)|target doesn't provide|require native tma|"
    r"num_ctas > 1|requires NVIDIA SM|not supported for AMD|is not supported on |only supported on|"
    r"is currently only supported on|not supported in buffer atomic|on CDNA\d|is only supported for (?:sm|gfx|cuda|hip)|"
    r"Current target is|supported on (?:Hopper|Blackwell|Ampere|gfx)|expects a numeric (?:arch|warp_size)|"
    r"does not support this target|this device does not support|smid is not supported|(?:num_warps|worker).*per CTA",
    re.IGNORECASE,
)


class UnsupportedOnTarget(Rule):
    """The target does not have what the kernel asks for.

    What it finds:
        A data type, an instruction or an option that the GPU being compiled for does not have, such as an fp8 format,
        thread block clusters, or native tensor memory access.

    Why it is a fault:
        The kernel does not compile for this target, though it may for another one.

    Example:
        y = x.to(tl.float8e4nv)       # compiled for cuda:80

    Instead:
        y = x.to(tl.float8e5)

    Triton versions:
        All; which targets have what is Triton's to say.

    Fix and its safety:
        None: choose another format or compile for another target (`--target`).
    """

    code = "unsupported-on-target"
    summary = "the target does not have what the kernel asks for"
    priority = 25

    def match(self, fault: Fault, context: RuleContext) -> Match | None:
        if not _TEXT.search(fault.text):
            return None
        text = " ".join(fault.text.split()).rstrip(".")
        return Match(fault.span, f"Not on {context.target}: {text}.")
