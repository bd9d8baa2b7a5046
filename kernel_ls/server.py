"""The language server: registrations and nothing else. What is decided is decided in `session`, what is said in `convert`,
and `connection` brings the messages.

Handlers of notifications are plain functions that take version and text in their first statement: the document may change
under an `await`. Slow work is asyncio tasks of the session; no handler blocks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from kernel_ls import __version__, convert, requests, settings
from kernel_ls.analysis.features.inactive import Region
from kernel_ls.analysis.positions import split_lines
from kernel_ls.analysis.specialize.from_recorded import FILE
from kernel_ls.background import Background
from kernel_ls.memory import Collector
from kernel_ls.model import Finding, digest
from kernel_ls.project import root_of
from kernel_ls.session import Session, Superseded
from kernel_ls.sources import FileSystemProvider

log = logging.getLogger("kernel_ls")

_WATCHED = ("**/*.py", "**/pyproject.toml", f"**/{FILE}")
_CONFIGURATION_SECONDS = 2.0
"""How long documents wait for a client that was asked for its settings."""

_PROGRESS_SECONDS = 1.0
"""A check that takes longer shows a progress."""


class KernelServer(LanguageServer):
    """One client's server.

    Args:
        command_line: settings of the command line, which nothing overrules.
    """

    def __init__(self, command_line: Mapping[str, Any] | None = None) -> None:
        super().__init__("kernel-ls", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.command_line = dict(command_line or {})
        self.section: Mapping[str, Any] = {}
        self.client_python = ""
        self.session = Session(self, self._settings, Background, root_of=root_of)
        self.texts: dict[str, str] = {}
        """The text of each open document, in the protocol's own notion of lines."""
        self._disk = FileSystemProvider()
        self._lines: dict[str, tuple[str, list[str]]] = {}
        self.greys_itself = False
        """Whether the client shows `kernelLs/inactiveRegions`."""
        self._held: list[Callable[[], None]] | None = None
        self._progress: dict[str, asyncio.Task[None]] = {}
        self._told: set[str] = set()
        self.collector: Collector | None = None
        """None outside of a process of its own, whose garbage is others' affair as well."""

    def _settings(self, folder: Path) -> settings.Settings:
        return settings.load(
            folder, client=self.section, command_line=self.command_line, client_python=self.client_python
        )

    # ---------------------------------------------------------------------------- session.Client

    def publish(self, path: str, version: int | None, findings: Sequence[Finding]) -> None:
        """See `session.Client`. A client that pulls is not pushed what it asks for itself."""
        if self.pulls and version is not None:
            return
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(
                convert.to_uri(path), [*self.diagnostics(findings), *self.unnecessary(path)], version
            )
        )

    def refreshed(self) -> None:
        """See `session.Client`."""
        workspace = self.client_capabilities.workspace
        if self.pulls and workspace and workspace.diagnostics and workspace.diagnostics.refresh_support:
            self.workspace_diagnostic_refresh(None)

    def viewed(self, path: str) -> None:
        """See `session.Client`. A client is asked to ask again for hints and lenses, and told what is not generated."""
        workspace = self.client_capabilities.workspace
        if workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)
        if workspace and workspace.code_lens and workspace.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)
        positions = self.positions
        regions = [convert.to_region(r, positions, path) for r in self.inactive(path)]
        if self.collector is not None:
            self.collector.checked()
        self.protocol.notify(
            "kernelLs/inactiveRegions",
            {
                "textDocument": {"uri": convert.to_uri(path), "version": self.session.version(path)},
                "regions": regions,
            },
        )

    def inactive(self, path: str) -> Sequence[Region]:
        """The regions of an open document that no specialization in use generates, if they are to be shown."""
        engine = self.session.engine_of(path)
        view = self.session.views.view(path)
        if view is None or engine is None or not engine.settings.inactive_code:
            return ()
        return view.inactive()

    def unnecessary(self, path: str) -> list[lsp.Diagnostic]:
        """The same as hints that grey, for a client that does not show regions itself."""
        document = self.client_capabilities.text_document
        shows = document.publish_diagnostics if document else None
        if self.greys_itself or not (self.pulls or (shows and shows.tag_support)):
            return []
        positions = self.positions
        return [convert.to_unnecessary(region, positions, path) for region in self.inactive(path)]

    def status(self, state: str, message: str) -> None:
        """See `session.Client`."""
        log.info("%s %s", state, message)
        self.protocol.notify("kernelLs/status", {"state": state, "message": message})

    def problem(self, message: str) -> None:
        """See `session.Client`."""
        log.warning("%s", message)
        if message not in self._told:
            self._told.add(message)
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, f"kernel-ls: {message}"))

    def began(self, path: str) -> None:
        """See `session.Client`."""
        window = self.client_capabilities.window
        if window and window.work_done_progress and path not in self._progress:
            self._progress[path] = asyncio.ensure_future(self._show_progress(path))

    def ended(self, path: str) -> None:
        """See `session.Client`."""
        task = self._progress.pop(path, None)
        if task is not None:
            task.cancel()

    async def _show_progress(self, path: str) -> None:
        await asyncio.sleep(_PROGRESS_SECONDS)
        token = f"kernel-ls/{path}"
        created = asyncio.ensure_future(self.work_done_progress.create_async(token))
        await created
        self.work_done_progress.begin(
            token, lsp.WorkDoneProgressBegin(title="kernel-ls", message=f"checking {Path(path).name}")
        )
        try:
            await asyncio.Event().wait()
        finally:
            self.work_done_progress.end(token, lsp.WorkDoneProgressEnd())
            self.work_done_progress.tokens.pop(token, None)

    # ---------------------------------------------------------------------------------- the client

    @property
    def pulls(self) -> bool:
        """Whether the client asks for diagnostics itself."""
        document = self.client_capabilities.text_document
        return document is not None and document.diagnostic is not None

    @property
    def positions(self) -> convert.Positions:
        """Positions in the encoding that was negotiated."""
        return convert.Positions(self.workspace.position_encoding or lsp.PositionEncodingKind.Utf16, self.lines)

    def lines(self, path: str) -> Sequence[str]:
        """The lines of a file, from its buffer where it is open."""
        text = self.texts.get(path)
        if text is None:
            text = self._disk.read(path) or ""
        known = self._lines.get(path)
        if known is None or known[0] is not text:
            known = self._lines[path] = (text, split_lines(text.removeprefix("\ufeff")))
        return known[1]

    def diagnostics(self, findings: Sequence[Finding]) -> list[lsp.Diagnostic]:
        """Findings as this client can show them."""
        document = self.client_capabilities.text_document
        shows = document.publish_diagnostics if document else None
        related = bool((shows and shows.related_information) or self.pulls)
        tags = bool((shows and shows.tag_support) or self.pulls)
        positions = self.positions
        return [positions.to_diagnostic(finding, related=related, tags=tags) for finding in findings]

    def report_server_error(self, error: Exception, source: Any) -> None:
        """An error outside of a request goes to the log; a dialogue for each malformed message would be a nuisance."""
        log.error("%s: %s", getattr(source, "__name__", source), error)

    # --------------------------------------------------------------------------------------- settings

    def when_configured(self, do: Callable[[], None]) -> None:
        """Do something now, or as soon as the client has said its settings."""
        if self._held is None:
            do()
        else:
            self._held.append(do)

    async def pull_configuration(self) -> None:
        """Ask the client for its section; what waits for it goes on when it is there, or has not come in time."""
        if self._held is None:
            self._held = []
        try:
            items = [lsp.ConfigurationItem(section=settings.SECTION)]
            request = self.workspace_configuration_async(lsp.ConfigurationParams(items))
            answer = await asyncio.wait_for(request, _CONFIGURATION_SECONDS)
            self.take_section(answer[0] if answer else None)
        except (asyncio.TimeoutError, JsonRpcException) as error:
            log.warning("the client did not say its settings: %s", error)
        finally:
            held, self._held = self._held or [], None
            for do in held:
                do()

    def take_section(self, section: Any) -> None:
        """The client's section is this."""
        plain = _plain(section)
        if plain != self.section:
            self.section = plain
            self._told.clear()
            self.session.settings_changed()


def create_server(command_line: Mapping[str, Any] | None = None) -> KernelServer:
    """A server with everything registered."""
    server = KernelServer(command_line)
    _register_lifecycle(server)
    _register_documents(server)
    _register_workspace(server)
    _register_features(server)
    requests.register(server)
    return server


def _register_lifecycle(server: KernelServer) -> None:
    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        options = _plain(params.initialization_options)
        python = options.pop("python", "")
        server.client_python = python if isinstance(python, str) else ""
        server.greys_itself = options.pop("inactiveRegions", False) is True
        server.section = _plain(options.get("settings", options))
        uris = [folder.uri for folder in params.workspace_folders or ()]
        if not uris and params.root_uri:
            uris = [params.root_uri]
        server.session.folders_changed([Path(convert.to_path(uri)) for uri in uris])

    @server.feature(lsp.INITIALIZED)
    async def initialized(_params: lsp.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        asks = bool(workspace and workspace.configuration)
        if asks:
            server._held = []
        registrations = []
        if workspace and workspace.did_change_watched_files and workspace.did_change_watched_files.dynamic_registration:
            watchers = [lsp.FileSystemWatcher(glob) for glob in _WATCHED]
            options: Any = lsp.DidChangeWatchedFilesRegistrationOptions(watchers)
            registrations.append(lsp.Registration("watched-files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
        if workspace and workspace.did_change_configuration and workspace.did_change_configuration.dynamic_registration:
            options = lsp.DidChangeConfigurationRegistrationOptions(section=settings.SECTION)
            registrations.append(lsp.Registration("configuration", lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, options))
        if asks:
            await server.pull_configuration()
        if registrations:
            try:
                await server.client_register_capability_async(lsp.RegistrationParams(registrations))
            except JsonRpcException as error:
                log.warning("the client refused to watch: %s", error)

    @server.feature(lsp.SHUTDOWN)
    async def shutdown(_params: None) -> None:
        await server.session.close()


def _register_documents(server: KernelServer) -> None:
    # pygls would keep texts of its own and, on the way to its own notion of lines, change the positions of an edit in
    # place: behind a form feed, say, they would be others than the client sent.
    for method in (lsp.TEXT_DOCUMENT_DID_OPEN, lsp.TEXT_DOCUMENT_DID_CHANGE, lsp.TEXT_DOCUMENT_DID_CLOSE):
        del server.protocol.fm.builtin_features[method]

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        path, version, text = (
            convert.to_path(params.text_document.uri),
            params.text_document.version,
            params.text_document.text,
        )
        if not _is_checked(params.text_document.uri, params.text_document.language_id):
            return
        server.texts[path] = text
        server.when_configured(lambda: server.session.opened(path, version, text))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        path, version = convert.to_path(params.text_document.uri), params.text_document.version
        text = server.texts.get(path)
        if text is None:
            return
        encoding = server.positions.encoding
        for change in params.content_changes:
            text = convert.apply_change(text, change, encoding)
        server.texts[path] = final = text
        if server.collector is not None:
            server.collector.touched()
        server.when_configured(lambda: server.session.changed(path, version, final))

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: lsp.DidSaveTextDocumentParams) -> None:
        path = convert.to_path(params.text_document.uri)
        server.when_configured(lambda: server.session.saved(path))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
        path = convert.to_path(params.text_document.uri)
        server.texts.pop(path, None)
        server._lines.pop(path, None)
        server.when_configured(lambda: server.session.closed(path))


def _register_workspace(server: KernelServer) -> None:
    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(_params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        paths = [Path(convert.to_path(folder.uri)) for folder in server.workspace.folders.values()]
        server.when_configured(lambda: server.session.folders_changed(paths))

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configuration(params: lsp.DidChangeConfigurationParams) -> None:
        sent = _plain(params.settings)
        workspace = server.client_capabilities.workspace
        if isinstance(sent.get(settings.SECTION), dict):
            server.when_configured(lambda: server.take_section(sent[settings.SECTION]))
        elif workspace and workspace.configuration:
            await server.pull_configuration()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params: lsp.DidChangeWatchedFilesParams) -> None:
        _files_changed(server, [change.uri for change in params.changes])

    python = lsp.FileOperationFilter(pattern=lsp.FileOperationPattern(glob="**/*.py"), scheme="file")
    folder = lsp.FileOperationFilter(
        pattern=lsp.FileOperationPattern(glob="**", matches=lsp.FileOperationPatternKind.Folder), scheme="file"
    )
    interesting = lsp.FileOperationRegistrationOptions(filters=[python, folder])

    @server.feature(lsp.WORKSPACE_DID_RENAME_FILES, interesting)
    def renamed(params: lsp.RenameFilesParams) -> None:
        _files_changed(server, [uri for file in params.files for uri in (file.old_uri, file.new_uri)])

    @server.feature(lsp.WORKSPACE_DID_CREATE_FILES, interesting)
    def created(params: lsp.CreateFilesParams) -> None:
        _files_changed(server, [file.uri for file in params.files])

    @server.feature(lsp.WORKSPACE_DID_DELETE_FILES, interesting)
    def deleted(params: lsp.DeleteFilesParams) -> None:
        _files_changed(server, [file.uri for file in params.files])


def _files_changed(server: KernelServer, uris: Sequence[str]) -> None:
    paths = [convert.to_path(uri) for uri in uris]
    server.when_configured(lambda: server.session.files_changed(paths))


def _register_features(server: KernelServer) -> None:
    @server.feature(
        lsp.TEXT_DOCUMENT_DIAGNOSTIC,
        lsp.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier=convert.SOURCE),
    )
    async def diagnostic(params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
        path = convert.to_path(params.text_document.uri)
        while server._held is not None:
            await asyncio.sleep(0.01)
        try:
            answer = await server.session.findings(path)
        except Superseded:
            raise JsonRpcException(
                code=lsp.LSPErrorCodes.ServerCancelled,
                message="the document was edited",
                data={"retriggerRequest": True},
            ) from None
        if answer is None:
            return lsp.RelatedFullDocumentDiagnosticReport(items=[])
        findings, result_id = answer
        greyed = server.unnecessary(path)
        if greyed:
            result_id = digest([result_id, [repr(d) for d in greyed]])
        if result_id == params.previous_result_id:
            return lsp.RelatedUnchangedDocumentDiagnosticReport(result_id=result_id)
        return lsp.RelatedFullDocumentDiagnosticReport(
            items=[*server.diagnostics(findings), *greyed], result_id=result_id
        )

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        path = convert.to_path(params.text_document.uri)
        engine = server.session.engine_of(path)
        if not isinstance(engine, Background):
            return []
        found = await engine.ask(lambda project: project.symbols(path))
        positions = server.positions
        return [convert.to_symbol(symbol, positions, path) for symbol in found]


def _is_checked(uri: str, language: str) -> bool:
    # A notebook's cell alone does not see what the other cells define: its findings would be wrong.
    return language in ("python", "") and not uri.startswith("vscode-notebook-cell:")


def _plain(value: Any) -> dict[str, Any]:
    """What a client sent as options, as a dictionary; pygls gives objects for some."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) if isinstance(v, Mapping) else v for k, v in value.items()}
    fields = getattr(value, "_asdict", None)
    if callable(fields):
        return {str(k): _plain(v) if hasattr(v, "_asdict") else v for k, v in fields().items()}
    return {}
