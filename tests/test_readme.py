"""The Python examples of the README and the documentation run; their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rooftile.cli import main

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")

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


def test_the_readme_has_examples():
    assert PYTHON.search((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", ["run", "climb", "train", "devices"])
def test_every_option_of_a_command_is_documented(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    options = set(re.findall(r"^ +(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
    assert {"--json", "--debug"} < options
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    common, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    own = next(section for section in sections if section.startswith(f"`{command}"))
    documented = set(re.findall(r"`(--[a-z-]+)", common + own))
    assert options <= documented
    assert documented - {"--help"} <= options
