"""Every setting, once: its name, type, default and meaning, and where the value in force came from.

    defaults < `[tool.kernel-ls]` of the nearest pyproject.toml that has it < the client's section `kernelLs` < the command line

A value that is not allowed is a `Problem` for the user and the next weaker source stands; nothing here raises for what a
user wrote. Names are spelt as in pyproject.toml (`cache-dir`); `cacheDir` and `cache_dir` are read as well.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import platformdirs

from kernel_ls.errors import SettingsError, UsageError
from kernel_ls.model import Target

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTION = "kernelLs"
"""The client's section; in pyproject.toml it is `[tool.kernel-ls]`."""

DEFAULT = "default"
COMMAND_LINE = "command line"
CLIENT = "client"


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of value: how it is called in manuals, how JSON schema has it, and how a raw value is read.

    `read` raises ValueError with a phrase that says what the value should be.
    """

    name: str
    schema: Mapping[str, Any]
    read: Callable[[Any], Any]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("should be a string")
    return value.strip()


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("should be true or false")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(v, str) for v in value):
        raise ValueError("should be a list of strings")
    return tuple(v.strip() for v in value)


def _targets(value: Any) -> tuple[Target, ...]:
    found = tuple(Target.parse(text) for text in _texts(value))
    if not found:
        raise ValueError("should name at least one target")
    return tuple(dict.fromkeys(found))


def _patterns(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, Mapping):
        raise ValueError("should be a table of file patterns, each with a list of codes")
    return tuple((str(pattern), _codes(codes)) for pattern, codes in value.items())


HINT_LEVELS = ("off", "types", "all")

_CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*$")


def _codes(value: Any) -> tuple[str, ...]:
    codes = _texts(value)
    for code in codes:
        if not _CODE.match(code):
            raise ValueError(f"has {code!r}, which is not a finding code such as `loop-carried-type`")
    return codes


def _number(least: float, most: float, *, whole: bool) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        allowed = (int,) if whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, allowed) or not least <= value <= most:
            raise ValueError(f"should be a {'whole ' if whole else ''}number from {least:g} to {most:g}")
        return value if whole else float(value)

    return read


TEXT = Kind("string", {"type": "string"}, _text)
FLAG = Kind("true or false", {"type": "boolean"}, _flag)
TEXTS = Kind("list of strings", {"type": "array", "items": {"type": "string"}}, _texts)
CODES = Kind("list of finding codes", {"type": "array", "items": {"type": "string"}}, _codes)
TARGETS = Kind("list of targets", {"type": "array", "items": {"type": "string"}, "minItems": 1}, _targets)
PATTERNS = Kind(
    "table of lists of finding codes",
    {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
    _patterns,
)


def _choice(*values: str) -> Kind:
    def read(value: Any) -> Any:
        if value not in values:
            raise ValueError(f"should be one of {', '.join(values)}")
        return value

    return Kind(f"one of {', '.join(f'`{v}`' for v in values)}", {"type": "string", "enum": list(values)}, read)


def _whole(least: int, most: int) -> Kind:
    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Kind("whole number", schema, _number(least, most, whole=True))


def _seconds(least: float, most: float) -> Kind:
    return Kind("seconds", {"type": "number", "minimum": least, "maximum": most}, _number(least, most, whole=False))


def _option(kind: Kind, default: Any, doc: str, *, scope: str = "resource") -> Any:
    """A field of `Settings`. `scope` is the editor's."""
    metadata = {"kind": kind, "doc": " ".join(doc.split()), "scope": scope}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force, with the origin of each and the problems met while reading them.

    Frozen and comparable: two equal `Settings` ask for the same work.
    """

    python: str = _option(
        TEXT,
        "",
        """The interpreter whose Triton checks: an executable, the folder of an environment, or a name on the PATH. Empty: the editor's
        choice, else an activated environment or `.venv` of the workspace, else the server's own if it has Triton, else `python3` on the PATH.""",
        scope="machine-overridable",
    )
    targets: tuple[Target, ...] = _option(
        TARGETS,
        (Target("cuda", 90, 32),),
        "The GPUs to check for, such as `cuda:80`, `cuda:90` or `hip:gfx942`. No such GPU is needed.",
    )
    select: tuple[str, ...] = _option(CODES, (), "Report only these finding codes. Empty: all of them.")
    ignore: tuple[str, ...] = _option(CODES, (), "Finding codes that are not reported.")
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = _option(
        PATTERNS,
        (),
        "Finding codes that are not reported in the files that a pattern matches; patterns are those of .gitignore, relative to the project.",
    )
    include_info: bool = _option(
        FLAG,
        True,
        "Report findings of level information (what had to be assumed, what could not be known, printed types).",
    )
    exclude: tuple[str, ...] = _option(
        TEXTS,
        (),
        "Files and folders that are not checked, as patterns of .gitignore relative to the project, beside what .gitignore files name. A file that is named on the command line is checked all the same.",
    )
    jobs: int = _option(
        _whole(0, 256),
        0,
        "How many workers check at a time on the command line. 0: one a processor core.",
        scope="window",
    )
    budget: float = _option(
        _seconds(0.1, 600.0),
        10.0,
        "Seconds that the code generator may take for one specialization of a kernel before it is stopped and `compiler-timeout` is reported.",
    )
    deadline: float = _option(
        _seconds(0.1, 3600.0),
        20.0,
        "Seconds spent on one kernel after which no further guess about its parameters is tried.",
    )
    start_deadline: float = _option(
        _seconds(1.0, 600.0),
        30.0,
        "Seconds that a worker may take to start, the import of Triton included.",
    )
    cache: bool = _option(FLAG, True, "Keep results on disk, so that what did not change is not generated again.")
    cache_dir: str = _option(
        TEXT,
        "",
        "Folder of the cache. Empty: the user's cache folder of the system.",
        scope="machine-overridable",
    )
    cache_size: int = _option(
        _whole(1, 1 << 20),
        512,
        "What the kept results may occupy, in MiB; the least recently used go first.",
        scope="window",
    )
    inlay_hints: str = _option(
        _choice(*HINT_LEVELS),
        "types",
        "What the editor shows inside of kernels: nothing; the types of names and the values of constants; or also what operators do to their operands, broadcasts and promotions of types.",
    )
    inactive_code: bool = _option(FLAG, True, "Grey the statements of kernels that no specialization in use generates.")
    trace: bool = _option(
        FLAG,
        False,
        "Log on standard error (the editor's output view) what the server does with each document and why.",
        scope="window",
    )
    client_python: str = field(default="", metadata={})
    """The client's choice of an interpreter (not a setting: the editor's own), weaker than `python`."""

    origins: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)
    """For each option that is not at its default: where its value came from."""
    problems: tuple[Problem, ...] = field(default=(), compare=False)

    def origin(self, name: str) -> str:
        """Where the value of an option (spelt as in pyproject.toml) came from: a file's path, or a word."""
        return self.origins.get(name, DEFAULT)

    @property
    def cache_folder(self) -> Path:
        """The folder of the cache, absolute."""
        return Path(self.cache_dir).expanduser().absolute() if self.cache_dir else default_cache_folder()

    def wants(self, code: str) -> bool:
        """Whether `select` and `ignore` let a code through; a syntax error always comes through."""
        return code == "syntax-error" or ((not self.select or code in self.select) and code not in self.ignore)


@dataclass(frozen=True, slots=True)
class Problem:
    """A setting that could not be taken: a sentence for the user, the option's name and the source's."""

    message: str
    option: str
    source: str


@dataclass(frozen=True, slots=True)
class Source:
    """Raw values by name, and what to call the place they come from (a path for a pyproject.toml)."""

    name: str
    values: Mapping[str, Any]
    folder: Path | None = None
    """What relative paths in it are relative to."""


@dataclass(frozen=True, slots=True)
class Option:
    """One setting as manuals and schemas show it. `name` is spelt as in pyproject.toml."""

    name: str
    kind: Kind
    default: Any
    doc: str
    scope: str

    @property
    def plain_default(self) -> Any:
        """The default as JSON and TOML write it."""
        return {} if self.kind is PATTERNS else plain(self.default)


def options() -> tuple[Option, ...]:
    """Every setting, in the order of the manual."""
    found = []
    for f in fields(Settings):
        if f.metadata:
            m = f.metadata
            found.append(Option(f.name.replace("_", "-"), m["kind"], f.default, m["doc"], m["scope"]))
    return tuple(found)


def plain(value: Any) -> Any:
    """A setting's value as JSON has it."""
    if isinstance(value, Target):
        return str(value)
    if isinstance(value, tuple):
        if value and all(isinstance(v, tuple) for v in value):
            return {k: list(v) for k, v in value}
        return [plain(v) for v in value]
    return value


def combine(sources: Iterable[Source], *, client_python: str = "") -> Settings:
    """The settings that sources give, weakest first. What is wrong in one of them is among the result's problems."""
    known = {option.name: option for option in options()}
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    problems: list[Problem] = []
    for source in sources:
        for raw_name, raw in source.values.items():
            if raw is None:
                continue  # the client's and argparse's way of saying "not set"
            name = spelt(raw_name)
            option = known.get(name)
            if option is None:
                if source.name != CLIENT:  # an editor's section also holds the editor's own settings
                    problems.append(Problem(f"{source.name}: there is no setting {raw_name!r}", name, source.name))
                continue
            try:
                value = option.kind.read(raw)
            except ValueError as error:
                message = str(error)
                sentence = message if message.startswith(("should", "has")) else f"is wrong: {message}"
                problems.append(Problem(f"{source.name}: the setting {name!r} {sentence}", name, source.name))
                continue
            if name in ("python", "cache-dir") and source.folder is not None:
                value = _under(source.folder, value)
            values[name.replace("-", "_")] = value
            origins[name] = source.name
    settings = Settings(**values, origins=origins, problems=tuple(problems))
    return replace(settings, client_python=client_python)


def load(
    folder: Path,
    *,
    client: Mapping[str, Any] | None = None,
    command_line: Mapping[str, Any] | None = None,
    client_python: str = "",
) -> Settings:
    """The settings in force for a folder: of its pyproject.toml, of the client, and of the command line."""
    sources: list[Source] = []
    problems: tuple[Problem, ...] = ()
    path = nearest_pyproject(folder)
    if path is not None:
        try:
            sources.append(read_pyproject(path))
        except SettingsError as error:
            problems = (Problem(str(error), "", str(path)),)
    if client:
        sources.append(Source(CLIENT, client, folder))
    if command_line:
        sources.append(Source(COMMAND_LINE, command_line))
    settings = combine(sources, client_python=client_python)
    return replace(settings, problems=problems + settings.problems)


def checked(settings: Settings) -> Settings:
    """The same settings; for the command line, whose own bad values end it.

    Raises:
        UsageError: an option of the command line has a value that is not allowed.
    """
    for problem in settings.problems:
        if problem.source == COMMAND_LINE:
            raise UsageError(f"--{problem.message.removeprefix(COMMAND_LINE + ': ').replace('the setting ', '', 1)}")
    return settings


def read_pyproject(path: Path) -> Source:
    """The section of a pyproject.toml, empty where it has none.

    Raises:
        SettingsError: it cannot be read or is not TOML.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from error
    section = content.get("tool", {})
    section = section.get("kernel-ls", {}) if isinstance(section, dict) else {}
    if not isinstance(section, dict):
        raise SettingsError(f"{path}: [tool.kernel-ls] is not a table")
    return Source(str(path), section, path.parent)


def nearest_pyproject(folder: Path) -> Path | None:
    """The nearest pyproject.toml, upwards from a folder, that says anything about this tool."""
    for place in (folder.absolute(), *folder.absolute().parents):
        path = place / "pyproject.toml"
        if path.is_file():
            try:
                text = path.read_text("utf-8", errors="replace")
            except OSError:
                continue
            if "kernel-ls" in text and re.search(
                r"^\s*\[\s*tool\s*\.\s*(kernel-ls|\"kernel-ls\")\s*[\].]", text, re.MULTILINE
            ):
                return path
    return None


def spelt(name: str) -> str:
    """A setting's name as pyproject.toml spells it: `cacheDir` and `cache_dir` are `cache-dir`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"-\1", name).replace("_", "-").lower()


def default_cache_folder() -> Path:
    """The user's cache folder for this tool."""
    return Path(platformdirs.user_cache_dir("kernel-ls", appauthor=False))


def _under(folder: Path, value: str) -> str:
    # A bare name such as `python3.11` is looked up on the PATH, everything with a separator is a path.
    if not value or ("/" not in value and os.sep not in value):
        return value
    expanded = Path(value).expanduser()
    return str(expanded if expanded.is_absolute() else folder / expanded)


# ------------------------------------------------------------------------------------------- generated


def markdown() -> str:
    """The manual page of the settings."""
    lines = [
        "# Settings",
        "",
        "Settings live in `[tool.kernel-ls]` of `pyproject.toml` and, with the same names, in the editor's section `kernelLs`",
        "(`kernelLs.cache-dir`). The command line's options are stronger than the editor's settings, those are stronger than",
        "`pyproject.toml`. A value that is not allowed is reported and the next weaker one stands. `kernel-ls doctor` shows each",
        "setting in force and where it came from.",
        "",
    ]
    for option in options():
        default = _toml(option.plain_default)
        lines += [f"## `{option.name}`", "", option.doc, "", f"Type: {option.kind.name}. Default: `{default}`.", ""]
    return "\n".join(lines)


def client_properties() -> dict[str, Any]:
    """The settings as `contributes.configuration.properties` of the editor's package.json has them."""
    return {
        f"{SECTION}.{option.name}": {
            **option.kind.schema,
            "default": option.plain_default,
            "scope": option.scope,
            "markdownDescription": option.doc,
        }
        for option in options()
    }


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return "{}" if isinstance(value, dict) else f"{value:g}" if isinstance(value, float) else str(value)
