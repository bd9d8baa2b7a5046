"""An editor as a test drives it: the real server over a real connection, with a typed client."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pytest_lsp import LanguageClient, make_test_lsp_client

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0


class Editor:
    """One client and its server.

    Args:
        root: the workspace folder.
        python: the interpreter whose Triton checks.
        cache: the cache's folder.
        pulls: whether the client asks for diagnostics itself.
        encodings: the position encodings that it offers.
    """

    def __init__(
        self, root: Path, python: str, cache: Path, *, pulls: bool = False, encodings: tuple[str, ...] = ("utf-16",)
    ) -> None:
        self.root = root
        self.python = python
        self.cache = cache
        self.pulls = pulls
        self.encodings = encodings
        self.client: LanguageClient = make_test_lsp_client()
        self.versions: dict[str, int] = {}
        self.published: dict[str, lsp.PublishDiagnosticsParams] = {}
        self.statuses: list[dict[str, str]] = []
        self.messages: list[str] = []
        self.capabilities: Any = None

    async def start(self, *arguments: str, folders: tuple[Path, ...] = (), section: Any = None) -> None:
        """Start the server and shake hands."""

        @self.client.feature("kernelLs/status")
        def status(params: Any) -> None:
            self.statuses.append({"state": params.state, "message": params.message})

        if section is not None:
            self.client.set_configuration(section)
        environment = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT))}
        await self.client.start_io(
            sys.executable, "-m", "kernel_ls", "server", "--cache-dir", str(self.cache), *arguments, env=environment
        )
        answer = await asyncio.wait_for(self.client.initialize_session(self._parameters(folders, section)), SECONDS)
        self.capabilities = answer.capabilities

    def _parameters(self, folders: tuple[Path, ...], section: Any) -> lsp.InitializeParams:
        return lsp.InitializeParams(
            capabilities=lsp.ClientCapabilities(
                general=lsp.GeneralClientCapabilities(position_encodings=list(self.encodings)),
                text_document=lsp.TextDocumentClientCapabilities(
                    diagnostic=lsp.DiagnosticClientCapabilities() if self.pulls else None,
                    publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities(
                        related_information=True, version_support=True
                    ),
                ),
                window=lsp.WindowClientCapabilities(work_done_progress=True),
                workspace=lsp.WorkspaceClientCapabilities(configuration=section is not None, workspace_folders=True),
            ),
            initialization_options={"python": self.python},
            workspace_folders=[lsp.WorkspaceFolder(f.as_uri(), f.name) for f in folders or (self.root,)],
        )

    async def stop(self) -> int | None:
        """Shut down as an editor does; the server's exit status."""
        server = self.client._server
        if server is None or server.returncode is not None:
            return server.returncode if server is not None else None
        await asyncio.wait_for(self.client.shutdown_async(None), 20)
        self.client.exit(None)
        status = await asyncio.wait_for(server.wait(), 20)
        await self.client.stop()
        return status

    # ------------------------------------------------------------------------------------------- documents

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def open(self, name: str, text: str | None = None) -> None:
        """Open a file; with a text, one that is not saved."""
        shown = text if text is not None else (self.root / name).read_text("utf-8")
        self.versions[name] = 1
        item = lsp.TextDocumentItem(self.uri(name), "python", 1, shown)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def edit(self, name: str, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        """Replace a range (0-based, in units of the encoding)."""
        self.versions[name] += 1
        change = lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(*start), lsp.Position(*end)), text)
        document = lsp.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name))
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))

    def replace(self, name: str, text: str) -> None:
        """Replace the whole text."""
        self.versions[name] += 1
        document = lsp.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name))
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))

    def close(self, name: str) -> None:
        del self.versions[name]
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(self.uri(name))))

    # ------------------------------------------------------------------------------------------ diagnostics

    def shown(self, name: str) -> list[tuple[str, int]]:
        """(code, 1-based row) of every error and warning that the user sees in a file now."""
        found = self.client.diagnostics.get(self.uri(name), ())
        return sorted(
            (
                (str(d.code), d.range.start.line + 1)
                for d in found
                if d.severity in (lsp.DiagnosticSeverity.Error, lsp.DiagnosticSeverity.Warning)
            ),
            key=lambda pair: (pair[1], pair[0]),
        )

    async def until(self, holds: Callable[[], bool], what: str = "", seconds: float = SECONDS) -> None:
        """Wait for what the server will say."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not holds():
            assert asyncio.get_running_loop().time() < deadline, f"waited in vain: {what}; {self.client.diagnostics}"
            await asyncio.sleep(0.01)

    async def sees(self, name: str, expected: list[tuple[str, int]]) -> None:
        """Wait until a file has exactly these errors and warnings."""
        await self.until(
            lambda: self.uri(name) in self.client.diagnostics and self.shown(name) == expected,
            f"{name} should show {expected}",
        )

    async def pull(self, name: str, previous: str | None = None) -> Any:
        """Ask for a file's diagnostics."""
        document = lsp.TextDocumentIdentifier(self.uri(name))
        parameters = lsp.DocumentDiagnosticParams(document, previous_result_id=previous)
        return await asyncio.wait_for(self.client.text_document_diagnostic_async(parameters), SECONDS)
