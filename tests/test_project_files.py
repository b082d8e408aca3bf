"""What stands about the project beside its code agrees with it."""

from __future__ import annotations

import pkgutil
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import rooftile

ROOT = Path(__file__).parent.parent


def test_the_citation_has_the_packages_version_and_licence():
    fields = dict(re.findall(r"^(\w[\w-]*): (.+)$", (ROOT / "CITATION.cff").read_text(), re.M))
    assert fields["version"] == rooftile.__version__
    assert fields["license"] == "MIT"
    assert fields["title"].strip('"').startswith("rooftile: ")


def test_links_between_pages_lead_somewhere():
    papers = (ROOT / "papers" / "README.md", *ROOT.glob("papers/docs/*.md"))
    for page in (ROOT / "CONTRIBUTING.md", ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *papers):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_page_is_in_the_sites_menu():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:")[2]
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")]
    assert sorted(re.findall(r"(\S+\.md)$", menu, re.M)) == sorted(pages)


def test_every_environment_variable_has_a_row():
    """The variables that the sources name are those of the table, in both directions."""
    named = set()
    for path in (*(ROOT / "src").rglob("*"), *(ROOT / "papers" / "src").rglob("*")):
        if path.suffix in {".py", ".c", ".cc", ".h", ".ll", ".cu", ".cl"}:
            named |= set(re.findall(r"ROOFTILE_[A-Z_]+", path.read_text(encoding="utf-8")))
    page = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.M)) == named


def test_every_table_beside_the_records_is_listed():
    """Each file of all rows has its row in the list, and its page names it."""
    folder = ROOT / "benchmarks" / "results"
    listed = re.findall(r"^\| `(\S+\.md)` \|", (folder / "README.md").read_text("utf-8"), re.M)
    there = {path.name for path in folder.glob("*.md")} - {"README.md"}
    assert {path.name for name in listed for path in folder.glob(name)} == there
    found = (*ROOT.glob("docs/**/*.md"), *ROOT.glob("papers/docs/*.md"))
    pages = "".join(path.read_text("utf-8") for path in found)
    assert [name for name in sorted(there) if f"benchmarks/results/{name}" not in pages] == []


def test_the_changelog_has_the_version_below_what_is_unreleased():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, second, *_ = re.findall(r"^## \[([^]]+)\]", text, re.M)
    assert (first, second) == ("Unreleased", rooftile.__version__)


def test_mkdocs_needs_no_plugin_but_the_references():
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = site.partition("\nplugins:\n")[2].partition("\nmarkdown_extensions:")[0]
    assert re.findall(r"^  - (\w+)", listed, re.M) == ["mkdocstrings"]
    assert '"mkdocs>=1.6,<2"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_first_page_is_short_and_the_pages_stay_readable():
    """The README takes some minutes, and the pages with it no longer than a book."""
    words = {path: len(path.read_text("utf-8").split()) for path in ROOT.glob("docs/**/*.md")}
    first = len((ROOT / "README.md").read_text("utf-8").split())
    assert first <= 900
    assert (
        first + len((ROOT / "CHANGELOG.md").read_text("utf-8").split()) + sum(words.values())
        <= 80_000
    ), sorted(words.items(), key=lambda item: -item[1])[:5]


def test_the_reference_is_of_what_there_is():
    for page in ROOT.glob("docs/reference/api/*.md"):
        for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.M):
            assert pkgutil.resolve_name(name), name


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("goal", ["demo", "docs"])
def test_make_says_what_it_does_before_what_takes_long(goal, tmp_path):
    """pip, the compiler of bytecode and the builder of pages: a line stands before each."""
    asked = ["make", "--dry-run", "--file", ROOT / "Makefile", goal]
    (tmp_path / "papers").mkdir()
    for folder in (tmp_path, tmp_path / "papers"):
        (folder / "pyproject.toml").write_text("")
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    long = [
        n for n, line in enumerate(lines) if re.search(r"pip install|compileall|/mkdocs ", line)
    ]
    assert len(long) >= 2
    for number in long:
        assert "echo" in lines[number - 1], lines[number]
        assert "pip install --quiet" not in lines[number]
