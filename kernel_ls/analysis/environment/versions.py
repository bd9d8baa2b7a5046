"""Versions as host code compares them: `packaging.version.parse(triton.__version__) >= Version("3.2")`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging import version as packaging_version

from kernel_ls.analysis.environment.values import Abstract
from kernel_ls.pyeval import Evaluator, Unknown


@dataclass(frozen=True)
class Version(Abstract):
    """A parsed version."""

    parsed: packaging_version.Version

    def describe(self) -> str:
        return f"version {self.parsed}"

    def truth(self) -> bool | None:
        return True

    def attribute(self, name: str) -> Any:
        if name in ("major", "minor", "micro", "release", "base_version", "public", "local", "is_prerelease"):
            return getattr(self.parsed, name)
        if name == "version":  # distutils' name for the parts
            return list(self.parsed.release)
        return super().attribute(name)

    def compare(self, op: str, other: Any, reflected: bool) -> Any:
        if isinstance(other, str):
            other = parse_version(other)
        if not isinstance(other, Version):
            return Unknown("a comparison with a version")
        left, right = (other.parsed, self.parsed) if reflected else (self.parsed, other.parsed)
        return compare_versions(op, left, right)

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any], evaluator: Evaluator, node: Any) -> Any:
        return Unknown("a version is called")


def compare_versions(op: str, left: packaging_version.Version, right: packaging_version.Version) -> Any:
    """One comparison of two versions."""
    if op in ("Eq", "Is"):
        return left == right
    if op in ("NotEq", "IsNot"):
        return left != right
    return {"Lt": left < right, "LtE": left <= right, "Gt": left > right, "GtE": left >= right}.get(
        op, Unknown("a comparison of versions")
    )


def parse_version(text: str) -> Version | None:
    """The version that a text spells, or None."""
    try:
        return Version(packaging_version.Version(text))
    except packaging_version.InvalidVersion:
        return None
