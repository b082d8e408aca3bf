from __future__ import annotations

import json

import pytest

from rooftile.cli import main
from rooftile.cli._commands import OWN
from rooftile.cli.contract import OBJECTS

_NO_OBJECT = {"completion", "schema"}


def test_every_command_that_prints_an_object_has_a_schema():
    assert set(OBJECTS) == set(OWN) - _NO_OBJECT


def test_the_schemas_of_all_commands(capsys):
    assert main(["schema"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == set(OBJECTS)
    for name, one in found.items():
        assert one["$ref"].removeprefix("#/$defs/") in one["$defs"], name


def test_one_schema_names_required_keys(capsys):
    assert main(["schema", "climb"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["$defs"]["ClimbObject"]["required"]) == {
        "problem", "device", "ceilings", "environment", "rows"
    }  # fmt: skip
    assert "crashed" in found["$defs"]["RowObject"]["properties"]["cause"]["enum"]


def test_a_command_without_an_object_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["schema", "completion"])
    assert ended.value.code == 2
