"""What stands around the kernels of one document, as the rules that need no generated code see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernel_ls.analysis.document import ParsedDocument
    from kernel_ls.analysis.environment import ResolvedFunction, Workspace


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The jit functions of a document with what their decorators hold."""

    workspace: Workspace
    functions: tuple[ResolvedFunction, ...]


def surroundings_of(document: ParsedDocument, workspace: Workspace) -> Surroundings:
    """Evaluate what surrounds the kernels of a document."""
    return Surroundings(workspace, workspace.functions(document.path))
