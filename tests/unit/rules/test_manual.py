"""The manual: every rule has a page in full, and the pages of the repository are those of the rules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_ls.analysis import rules
from kernel_ls.analysis.rules import manual
from kernel_ls.analysis.rules.base import Rule
from kernel_ls.model import Severity

ROOT = Path(__file__).resolve().parents[3]
SURFACE = ROOT.parent / "shared" / "surface.md"
RULES = list(rules.registry().values())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_every_rule_has_every_heading(rule: Rule) -> None:
    page = manual.page(rule)
    assert tuple(page.sections) == manual.HEADINGS
    assert page.title.endswith("."), "a page begins with a sentence"
    assert all(line == line.rstrip() for line in manual.markdown(rule).splitlines())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_is_named_after_its_module(rule: Rule) -> None:
    assert type(rule).__module__.rpartition(".")[2] == rule.code.replace("-", "_")
    assert rule.summary
    assert not rule.summary.endswith(".")


def test_the_pages_in_the_repository_are_current() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_link_of_a_finding_leads_to_a_file_of_the_repository() -> None:
    for code in rules.registry():
        assert (ROOT / manual.url(code).removeprefix(manual.HOST)).is_file()
        assert "://" in manual.absolute_url(code)


def test_a_code_without_a_page_has_no_address() -> None:
    assert manual.absolute_url("no-such-code") == ("" if not manual.HOST else manual.url("no-such-code"))


@pytest.mark.skipif(not SURFACE.is_file(), reason="there is no folder ../shared beside the repository")
def test_every_code_that_users_rely_on_has_a_rule() -> None:
    text = SURFACE.read_text("utf-8").partition("## Finding codes")[2].partition("`# kernel-ls:")[0]
    listed, _, deep = text.partition("Deep:")
    codes = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", listed)) | {"recursion"}
    assert codes - set(rules.registry()) == set()
    assert set(rules.registry()) - codes - set(re.findall(r"`([a-z-]+)`", deep)) == set()


class Incomplete(Rule):
    """It has a title.

    What it finds:
        Nothing.
    """

    code = "incomplete"
    summary = "nothing"
    severity = Severity.INFO


def test_a_page_without_all_headings_is_refused() -> None:
    with pytest.raises(manual.ManualError, match="the headings are What it finds; not"):
        manual.page(Incomplete())
