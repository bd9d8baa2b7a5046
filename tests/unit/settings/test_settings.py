"""Settings: which source wins, what a bad value does, and that what is generated from them is current."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from kernel_ls import settings
from kernel_ls.errors import UsageError
from kernel_ls.model import Target
from kernel_ls.settings import COMMAND_LINE, Settings, Source, checked, combine, load, options

ROOT = Path(__file__).resolve().parents[3]


def project(tmp_path: Path, text: str) -> Path:
    (tmp_path / "pyproject.toml").write_text(text)
    return tmp_path


def test_every_source_is_stronger_than_the_one_before(tmp_path: Path) -> None:
    folder = project(tmp_path, "[tool.kernel-ls]\nbudget = 1\ndeadline = 1\njobs = 1\n")
    found = load(folder, client={"deadline": 2, "jobs": 2}, command_line={"jobs": 3})
    assert (found.start_deadline, found.budget, found.deadline, found.jobs) == (30.0, 1.0, 2.0, 3)
    origins = [found.origin(n) for n in ("start-deadline", "budget", "deadline", "jobs")]
    assert origins == ["default", str(tmp_path / "pyproject.toml"), "client", "command line"]
    assert found.problems == ()


def test_the_nearest_pyproject_that_has_the_section_counts(tmp_path: Path) -> None:
    project(tmp_path, "[tool.kernel-ls]\njobs = 3\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    project(inner, '[project]\nname = "kernel-ls-user"\n')
    assert load(inner).jobs == 3


@pytest.mark.parametrize("name", ["cache-dir", "cacheDir", "cache_dir"])
def test_a_name_may_be_spelt_as_the_editor_spells_it(name: str) -> None:
    assert combine([Source("client", {name: "/c"})]).cache_dir == "/c"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("targets", ["cuda:x"], "number such as 80"),
        ("targets", [], "at least one"),
        ("targets", "cuda:90", "list of strings"),
        ("jobs", True, "whole number"),
        ("jobs", -1, "from 0 to 256"),
        ("budget", "fast", "number from"),
        ("ignore", ["Not A Code"], "not a finding code"),
        ("per-file-ignores", ["x"], "table"),
        ("include-info", "yes", "true or false"),
        ("nonsense", 1, "there is no setting"),
    ],
)
def test_a_bad_value_is_reported_and_the_weaker_one_stands(name: str, value: object, says: str) -> None:
    good = {"targets": ["cuda:80"], "jobs": 4, "budget": 4, "ignore": ["recursion"], "include-info": False}
    found = combine([Source("pyproject", good), Source("later", {name: value})])
    assert [says in p.message and p.source == "later" for p in found.problems] == [True]
    assert found.targets == (Target("cuda", 80, 32),)
    assert (found.jobs, found.budget, found.ignore, found.include_info) == (4, 4.0, ("recursion",), False)


def test_a_section_of_the_client_may_hold_the_editors_own_settings() -> None:
    assert combine([Source("client", {"serverCommand": ["x"], "trace": None})]).problems == ()


def test_a_bad_value_on_the_command_line_ends_the_command() -> None:
    with pytest.raises(UsageError, match=r"jobs.*from 0 to 256"):
        checked(combine([Source(COMMAND_LINE, {"jobs": 1000})]))


@pytest.mark.parametrize("text", ["[tool.kernel-ls]\njobs = \n", "[tool.kernel-ls\n"])
def test_a_pyproject_that_is_not_toml_is_reported(tmp_path: Path, text: str) -> None:
    found = load(project(tmp_path, "[tool.kernel-ls]\n" + text))
    assert len(found.problems) == 1
    assert "not valid TOML" in found.problems[0].message
    assert found.jobs == 0


def test_relative_paths_are_relative_to_the_file_that_says_them(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    project(tmp_path, '[tool.kernel-ls]\npython = "env/bin/python"\n')
    assert load(inner).python == str(tmp_path / "env/bin/python")
    project(tmp_path, '[tool.kernel-ls]\npython = "python3.11"\n')
    assert load(inner).python == "python3.11"


def test_settings_from_other_places_with_equal_values_are_equal() -> None:
    assert combine([Source("a", {"jobs": 2})]) == combine([Source("b", {"jobs": 2})])


def test_select_and_ignore_never_hide_a_syntax_error() -> None:
    found = Settings(select=("recursion",), ignore=("syntax-error",))
    assert [found.wants(c) for c in ("recursion", "branch-type", "syntax-error")] == [True, False, True]


def test_every_option_is_documented_and_its_default_is_one_of_its_values() -> None:
    assert len(options()) == sum(bool(f.metadata) for f in fields(Settings))
    for option in options():
        assert option.doc.endswith((".", ")")), option.name
        assert option.kind.read(option.plain_default) == option.default


def test_generated_files_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_manual_page_names_every_option() -> None:
    page = settings.markdown()
    assert all(f"## `{option.name}`" in page for option in options())
