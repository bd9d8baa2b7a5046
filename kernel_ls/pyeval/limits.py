"""What `torch.finfo` and `torch.iinfo` say of an element type, which host code and kernels ask alike.

The figures are those of the formats themselves (IEEE 754, bfloat16, and the OCP 8-bit formats with their `fnuz` variants).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Optional

_FLOATS = {
    # bits, largest, smallest normal, epsilon
    "float16": (16, 65504.0, 2.0**-14, 2.0**-10),
    "bfloat16": (16, 3.3895313892515355e38, 2.0**-126, 2.0**-7),
    "float32": (32, 3.4028234663852886e38, 2.0**-126, 2.0**-23),
    "float64": (64, 1.7976931348623157e308, 2.0**-1022, 2.0**-52),
    "float8_e4m3fn": (8, 448.0, 2.0**-6, 2.0**-3),
    "float8_e5m2": (8, 57344.0, 2.0**-14, 2.0**-2),
    "float8_e4m3fnuz": (8, 240.0, 2.0**-7, 2.0**-3),
    "float8_e5m2fnuz": (8, 57344.0, 2.0**-15, 2.0**-2),
}
_INTEGER = re.compile(r"u?int(8|16|32|64)")


def float_limits(name: str) -> Optional[Mapping[str, Any]]:
    """The attributes of `torch.finfo` for a dtype's name without `torch.`, or None for one that is no float known here."""
    if name not in _FLOATS:
        return None
    bits, largest, smallest, epsilon = _FLOATS[name]
    members = {"bits": bits, "max": largest, "min": -largest, "tiny": smallest, "smallest_normal": smallest}
    return {**members, "eps": epsilon, "resolution": epsilon, "dtype": name}


def integer_limits(name: str) -> Optional[Mapping[str, Any]]:
    """The attributes of `torch.iinfo` for a dtype's name, or None for one that is no integer."""
    found = _INTEGER.fullmatch(name)
    if found is None:
        return None
    bits = int(found.group(1))
    if name.startswith("u"):
        return {"bits": bits, "max": (1 << bits) - 1, "min": 0, "dtype": name}
    return {"bits": bits, "max": (1 << (bits - 1)) - 1, "min": -(1 << (bits - 1)), "dtype": name}
