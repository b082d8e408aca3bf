"""The distribution's commands are commands of `rooftile` where it is installed."""

from __future__ import annotations

import ast
import importlib.metadata
import tomllib
from pathlib import Path

import pytest

from rooftile.cli import _commands, main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def without_papers(monkeypatch):
    monkeypatch.setattr(_commands, "_of_others", dict)


def test_the_commands_are_entry_points():
    project = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text(encoding="utf-8"))
    stated = project["project"]["entry-points"]["rooftile.commands"]
    found = {
        one.name: one.value for one in importlib.metadata.entry_points(group="rooftile.commands")
    }
    assert stated.items() <= found.items()
    assert set(stated) == set(_commands.OF_PAPERS)


def test_the_versions_are_one():
    assert importlib.metadata.version("rooftile-papers") == importlib.metadata.version("rooftile")


@pytest.mark.parametrize("words", [["reproduce"], ["submit", "x.py"], ["list", "experiments"]])
def test_without_it_a_sentence_says_what_to_install(words, capsys, without_papers):
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "rooftile-papers" in said
    assert "pip install ./papers" in said


def test_without_it_help_lists_the_other_commands(capsys, without_papers):
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    assert "\n  audit " in told
    assert "\n  submit " not in told


def test_rooftile_imports_nothing_of_it():
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("rooftile_papers") for name in names), path
