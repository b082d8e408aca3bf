"""The README and the documentation: examples run; links, paths, modules and options are there."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

from rooftile.cli import main
from rooftile.cli._commands import GROUPS

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")])
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([\w*./-]+/(?:[\w*.-]+\.(?:py|cu|cl|h|json|md|html))?)`")
"""A file or, ending in a slash, a folder."""
ROOMS = (
    *("", "cli", "functional", "lab", "lab/audit", "lab/measure", "lab/show", "ops", "runtime"),
    *("strategies", "strategies/conv2d"),
)
FOLDERS = ("", *(f"src/rooftile/{room}" for room in ROOMS), "src")
MODULE = re.compile(r"\brooftile(?:\.[A-Za-z_]\w*)+")
ELSEWHERE = ("made_up/", "rooftile.operations", "rooftile.commands", "fashion-mnist/")
"""A package that a page makes up, groups of entry points, and a folder in the user's cache."""

page = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)


@page
def test_examples_run(page):
    text, scope = page.read_text(encoding="utf-8"), {}
    for block in PYTHON.finditer(text):
        # Empty lines before it give a failure the line number that it has on the page.
        lines = "\n" * text[: block.start(1)].count("\n")
        exec(compile(lines + block[1], page, "exec"), scope)


@page
def test_links_lead_to_files(page):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


@page
def test_paths_lead_to_files(page):
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    for path in FILE.findall(text):
        found = any(list((ROOT / folder).glob(path.rstrip("/"))) for folder in FOLDERS)
        assert found or path.startswith(ELSEWHERE), path


@page
def test_dotted_names_are_there(page):
    for name in set(MODULE.findall(page.read_text(encoding="utf-8"))):
        assert name in ELSEWHERE or resolves(name), name


def resolves(name):
    """Whether a dotted name is a module's or of something in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_the_readme_has_examples():
    assert PYTHON.search((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", [name for names in GROUPS.values() for name in names])
def test_every_option_of_a_command_is_documented(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    options = set(re.findall(r"^ +(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    assert {"--json", "--debug"} < options
    text = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    common, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    own = next(section for section in sections if section.startswith(f"`{command}"))
    documented = set(re.findall(r"`(--[a-z-]+)", common + own))
    assert options <= documented
    assert documented - {"--help"} <= options
