"""``call`` and ``call_json``: command lines in this process."""

from __future__ import annotations

import json

import pytest

from rooftile.cli import main


@pytest.fixture
def call(capsys, monkeypatch):
    """``call("run", ...)``: exit code, standard output and standard error, 80 columns wide."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def call_json(call):
    """The one object on standard output."""

    def run(*arguments):
        code, out, err = call(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return run
