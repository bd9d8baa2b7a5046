"""The requests of features: registrations, as in `server`. What is answered is decided in `analysis.features`.

Hover, hints, lenses, completion and signature help are answered at once from the last snapshot of the document
(`session.views`); what has to read other files is asked of the project's own thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from kernel_ls import convert
from kernel_ls.analysis.features import lenses, lines, navigation
from kernel_ls.analysis.features.hints import Level
from kernel_ls.analysis.features.view import View
from kernel_ls.background import Background
from kernel_ls.model import Position
from kernel_ls.project import Project

if TYPE_CHECKING:
    from kernel_ls.server import KernelServer

_NOT_YET = ("kernelLs.compile", "kernelLs.run")


def register(server: KernelServer) -> None:
    """Register everything."""
    _register_answers(server)
    _register_resolving(server)
    _register_navigation(server)
    _register_actions(server)
    _register_custom(server)
    _register_commands(server)


def _register_answers(server: KernelServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        path, view, position = _at(server, params)
        found = view.hover(position) if view is not None else None
        if found is None:
            return None
        told = server.client_capabilities.text_document
        formats = told.hover.content_format if told and told.hover else None
        return convert.to_hover(found, server.positions, path, markdown=_markdown(formats))

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT, lsp.InlayHintOptions(resolve_provider=True))
    def hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        path = convert.to_path(params.text_document.uri)
        view = server.session.views.view(path)
        if view is None:
            return []
        engine = server.session.engine_of(path)
        level = cast("Level", engine.settings.inlay_hints if engine is not None else "types")
        found = view.hints(params.range.start.line, params.range.end.line, level)
        positions = server.positions
        return [convert.to_hint(hint, positions, path) for hint in found]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensOptions(resolve_provider=True))
    def code_lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        path = convert.to_path(params.text_document.uri)
        view = server.session.views.view(path)
        positions = server.positions
        return [convert.to_lens(lens, positions, path) for lens in view.lenses()] if view is not None else []

    triggers = lsp.CompletionOptions(trigger_characters=[".", "(", ",", "=", '"'])

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, triggers)
    def completion(params: lsp.CompletionParams) -> lsp.CompletionList:
        _, view, position = _at(server, params)
        items = view.complete(position) if view is not None else ()
        told = server.client_capabilities.text_document
        able = told.completion.completion_item if told and told.completion else None
        markdown = _markdown(able.documentation_format if able else None)
        return lsp.CompletionList(False, [convert.to_item(item, n, markdown=markdown) for n, item in enumerate(items)])

    @server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpOptions(trigger_characters=["(", ",", "="]))
    def signature_help(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
        _, view, position = _at(server, params)
        found = view.signature(position) if view is not None else None
        if found is None:
            return None
        told = server.client_capabilities.text_document
        able = told.signature_help.signature_information if told and told.signature_help else None
        return convert.to_signature(found, markdown=_markdown(able.documentation_format if able else None))


def _register_resolving(server: KernelServer) -> None:
    @server.feature(lsp.INLAY_HINT_RESOLVE)
    def resolve_hint(hint: lsp.InlayHint) -> lsp.InlayHint:
        hint.data = _plain(hint.data)
        return convert.resolve_hint(hint)

    @server.feature(lsp.CODE_LENS_RESOLVE)
    def resolve_lens(lens: lsp.CodeLens) -> lsp.CodeLens:
        lens.data = _plain(lens.data)
        return convert.resolve_lens(lens)


def _register_navigation(server: KernelServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        path, position, engine = _place(server, params)
        if engine is None:
            return None
        found = await engine.ask(lambda p: navigation.definition(p.workspace, path, position))
        return server.positions.to_location(found) if found is not None else None

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    async def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        path, position, engine = _place(server, params)
        if engine is None:
            return []
        declaration = params.context.include_declaration

        jit = await engine.ask(lambda p: navigation.jit_at(p.workspace, path, position))
        files = await _read(engine, [jit.name] if jit is not None else [])

        def ask(project: Project) -> Sequence[Any]:
            return navigation.references(project.workspace, path, position, files, declaration=declaration)

        found = await engine.ask(ask)
        return [server.positions.to_location(place) for place in found]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
    async def prepare(params: lsp.CallHierarchyPrepareParams) -> list[lsp.CallHierarchyItem] | None:
        path, position, engine = _place(server, params)
        if engine is None:
            return None
        found = await engine.ask(lambda p: navigation.prepare(p.workspace, path, position))
        return [convert.to_call_item(found, server.positions)] if found is not None else None

    @server.feature(lsp.CALL_HIERARCHY_INCOMING_CALLS)
    async def incoming(params: lsp.CallHierarchyIncomingCallsParams) -> list[lsp.CallHierarchyIncomingCall]:
        path, key, engine = _item(server, params.item)
        if engine is None:
            return []

        files = await _read(engine, [key.rpartition(".")[2].partition("#")[0]])

        def ask(project: Project) -> Sequence[navigation.Caller]:
            return navigation.incoming(project.workspace, project.checker.launches, path, key, files)

        found = await engine.ask(ask)
        return [convert.to_incoming(caller, server.positions) for caller in found]

    @server.feature(lsp.CALL_HIERARCHY_OUTGOING_CALLS)
    async def outgoing(params: lsp.CallHierarchyOutgoingCallsParams) -> list[lsp.CallHierarchyOutgoingCall]:
        path, key, engine = _item(server, params.item)
        if engine is None:
            return []
        found = await engine.ask(lambda p: navigation.outgoing(p.workspace, path, key))
        return [convert.to_outgoing(callee, server.positions, path) for callee in found]


def _register_custom(server: KernelServer) -> None:
    @server.feature("kernelLs/ir")
    async def ir(params: Any) -> dict[str, Any]:
        fields = _plain(params)
        stage = str(fields.get("stage") or "ttir")
        if stage != "ttir":
            raise JsonRpcException(code=lsp.LSPErrorCodes.RequestFailed, message=f"{stage} is not available yet")
        path = convert.to_path(str(_plain(fields.get("textDocument")).get("uri", "")))
        return await ir_of(server, path, str(fields.get("kernel", "")))

    @server.feature("kernelLs/specializations")
    def specializations(params: Any) -> dict[str, Any]:
        fields = _plain(params)
        path = convert.to_path(str(_plain(fields.get("textDocument")).get("uri", "")))
        view = server.session.views.view(path)
        if view is None:
            return {"kernels": []}
        wanted = str(fields.get("kernel") or "")
        own = [k for k in view.snapshot.kernels if k.function.path == path and k.trials]
        return {
            "kernels": [
                {"kernel": k.name, "specializations": lenses.choices(k, view.chosen.get(k.name, ""))}
                for k in own
                if wanted in ("", k.name)
            ]
        }


async def ir_of(server: KernelServer, path: str, kernel: str) -> dict[str, Any]:
    """The answer of `kernelLs/ir`: text, where its rows come from, and whether it is the last good one."""
    reading, last_good = server.session.views.ir(path, kernel)
    if reading is None:
        return {"text": "", "sourceMap": [], "lastGood": False, "message": f"{kernel} has no TTIR yet"}
    if not reading.ttir and (engine := server.session.engine_of(path)) is not None:
        await engine.ttir(reading)
    if not reading.ttir:
        return {"text": "", "sourceMap": [], "lastGood": False, "message": f"{kernel} has no TTIR"}
    rows: list[dict[str, Any]] = []
    for first, last, unit, line, column in lines.source_map(reading.module):
        origin = reading.program.origins.get(unit)
        if origin is not None:
            row = origin.row(line)
            rows.append({"rows": [first, last], "uri": convert.to_uri(origin.path), "line": row, "column": column})
    text = reading.ttir
    note = f"// {kernel}: last good, the kernel does not compile as it stands now\n" if last_good else ""
    if note:
        rows = [{**r, "rows": [n + 1 for n in r["rows"]]} for r in rows]
    return {"text": note + text, "sourceMap": rows, "lastGood": last_good, "message": ""}


def _register_commands(server: KernelServer) -> None:
    @server.command("kernelLs.restartWorker")
    async def restart_worker(*_arguments: Any) -> None:
        await server.session.restart_workers()

    @server.command("kernelLs.selectSpecialization")
    async def select(*arguments: Any) -> bool:
        uri, kernel, key = (*(str(a) for a in arguments), "", "", "")[:3]
        path = convert.to_path(uri)
        if not key:
            key = await _ask_for(server, path, kernel) or ""
            if not key:
                return False
        return server.session.choose(path, kernel, "" if key == "default" else key)

    @server.command("kernelLs.showIr")
    async def show_ir(*arguments: Any) -> dict[str, Any]:
        uri, kernel = (*(str(a) for a in arguments), "", "")[:2]
        return await ir_of(server, convert.to_path(uri), kernel)

    for name in _NOT_YET:
        _register_not_yet(server, name)


def _register_actions(server: KernelServer) -> None:
    options = lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, options)
    async def code_actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        path = convert.to_path(params.text_document.uri)
        engine = server.session.engine_of(path)
        if not isinstance(engine, Background):
            return []
        first, last = params.range.start.line, params.range.end.line
        given = params.context.diagnostics
        proved = await engine.fixes(path, first, last)
        found = [server.positions.to_action(finding, fix, given) for finding, fix in proved]
        found += [
            server.positions.to_silencing(path, diagnostic)
            for diagnostic in given
            if diagnostic.source == convert.SOURCE and diagnostic.code not in _NOT_SILENCED
        ]
        return found


_NOT_SILENCED = ("syntax-error", "unused-suppression")


async def _ask_for(server: KernelServer, path: str, kernel: str) -> str:
    """Let the user choose, in a client that has no list of its own for it."""
    view = server.session.views.view(path)
    found = view.kernel(kernel) if view is not None else None
    if found is None:
        return ""
    titles = {f"{n + 1}: {lenses.title(s)}"[:120]: s.key for n, s in enumerate(found.specializations)}
    actions = [lsp.MessageActionItem(title) for title in list(titles)[:8]]
    request = lsp.ShowMessageRequestParams(lsp.MessageType.Info, f"Specialization of {kernel}", actions)
    answer = await server.window_show_message_request_async(request)
    return titles.get(answer.title, "") if answer is not None else ""


def _register_not_yet(server: KernelServer, name: str) -> None:
    @server.command(name)
    def not_yet(*_arguments: Any) -> None:
        raise JsonRpcException(code=lsp.LSPErrorCodes.RequestFailed, message=f"{name} is not available yet")


# ------------------------------------------------------------------------------------------------ parts


def _at(server: KernelServer, params: Any) -> tuple[str, View | None, Position]:
    path = convert.to_path(params.text_document.uri)
    view = server.session.views.view(path)
    if server.collector is not None:
        server.collector.touched()
    return path, view, server.positions.from_position(path, params.position)


def _place(server: KernelServer, params: Any) -> tuple[str, Position, Background | None]:
    path = convert.to_path(params.text_document.uri)
    engine = server.session.engine_of(path)
    position = server.positions.from_position(path, params.position)
    return path, position, engine if isinstance(engine, Background) else None


def _item(server: KernelServer, item: lsp.CallHierarchyItem) -> tuple[str, str, Background | None]:
    data = _plain(item.data)
    path = str(data.get("path") or convert.to_path(item.uri))
    engine = server.session.engine_of(path)
    return path, str(data.get("key", "")), engine if isinstance(engine, Background) else None


async def _read(engine: Background, names: Iterable[str]) -> list[str]:
    """The files that name some jit functions, each read in a step of its own so that checks go on between two."""
    wanted = list(names)
    files = await engine.ask(lambda project: sorted(project.neighbours.naming(wanted)))
    for file in files:
        await engine.ask(lambda project, file=file: project.checker.launches.of_document(file))  # type: ignore[misc]
        await engine.ask(lambda project, file=file: project.workspace.calls(file))  # type: ignore[misc]
    return files


def _markdown(formats: Sequence[lsp.MarkupKind] | None) -> bool:
    """Whether a client shows Markdown, as far as it says what it shows."""
    return bool(formats) and lsp.MarkupKind.Markdown in (formats or ())


def _plain(value: Any) -> dict[str, Any]:
    """An object of a request that pygls knows no type of, as a dictionary."""
    if isinstance(value, Mapping):
        return {str(k): v for k, v in value.items()}
    fields = getattr(value, "_asdict", None)
    return dict(fields()) if callable(fields) else {}
