from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys

import pytest

import rooftile
from rooftile.cli import main
from rooftile.cli._main import _parser
from rooftile.cli._options import model_names, operation_names
from rooftile.cli.commands import completion
from rooftile.nn import MODELS
from rooftile.ops import default_shape, named
from rooftile.ops.registry import operations


def test_every_operation_has_one_sentence(call, call_json):
    found = call_json("list")["operations"]
    assert [one["name"] for one in found] == list(operations())
    assert all(one["summary"].endswith(".") for one in found)
    code, out, _ = call("list")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert all(name in out for name in operations())


def test_shapes_with_their_arrays(call, call_json):
    found = call_json("list", "shapes", "conv2d")["shapes"]
    assert {one["name"] for one in found} == set(operations()["conv2d"].named)
    assert "x[1000,1,86,86] weights[4,1,7,7]" in call("list", "shapes", "conv2d")[1]
    everyone = call_json("list", "shapes")["shapes"]
    assert {one["operation"] for one in everyone} == set(operations())
    for one in everyone:
        assert re.fullmatch(r"[^{}?|]*\w.*\.", one["summary"]), one
    _, out, _ = call("list", "shapes")
    assert max(map(len, out.splitlines())) <= 80
    told = " ".join(out.split())
    assert all(word in told for one in everyone for word in one["summary"].split())


def test_a_shapes_sentence_follows_from_its_fields(call_json):
    found = {one["name"]: one["summary"] for one in call_json("list", "shapes", "conv2d")["shapes"]}
    assert found["lab-conv5"] == (
        "1 image of 256 x 224 x 224, 256 masks of 5 x 5, stride 1 x 1, relu, max pool of 2 x 2."
    )
    assert found["stride-2"].endswith("stride 2 x 2, no activation.")
    (half, *_) = call_json("list", "shapes", "compact")["shapes"]
    assert half["summary"] == "10^6 float32, 50% of which stay, in their order."


def test_strategies_in_rising_order(call, call_json):
    found = call_json("list", "strategies", "conv2d", "--device", "cpu")["strategies"]
    assert [one["name"] for one in found][:2] == ["loops", "threads"]
    assert all(one["summary"] and "cpu" in one["devices"] for one in found)
    _, out, _ = call("list", "strategies", "conv2d")
    assert "direct_tile" in out
    assert "loops" in out
    assert max(map(len, out.splitlines())) <= 80


def test_models_have_one_sentence(call, call_json):
    assert "lenet5" in call("list", "models")[1]
    found = call_json("list", "models")["models"]
    assert [one["name"] for one in found] == list(MODELS) == model_names()
    assert all(one["summary"].endswith(".") for one in found)


@pytest.mark.parametrize("what", ["operations", "shapes", "strategies", "models"])
def test_bare_names_stand_one_a_line(call, call_json, what):
    words = ("list", what) if what in ("operations", "models") else ("list", what, "pool2d")
    code, out, _ = call(*words, "--names")
    assert code == 0
    assert out.splitlines() == [one["name"] for one in call_json(*words)[what]]


def test_an_unknown_operation_is_wrong_usage(call):
    code, _, err = call("list", "shapes", "conv9d")
    assert code == 2
    assert "conv9d" in err


@pytest.mark.parametrize("operation", operations())
def test_the_default_shape_is_not_a_large_one(operation):
    assert named(operation, default_shape(operation)).bytes < 2**28


def test_help_names_the_operations(capsys):
    assert operation_names() == sorted(operations())
    with pytest.raises(SystemExit):
        main(["climb", "--help"])
    assert "segmented_reduce" in capsys.readouterr().out


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "rooftile", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"rooftile {rooftile.__version__}\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("rooftile clim", {"climb"}),
        ("rooftile climb conv3", {"conv3d"}),
        ("rooftile climb --preci", {"--precision"}),
        ("rooftile list sh", {"shapes"}),
        ("rooftile run le", {"lenet5"}),
        ("rooftile climb pool2d --strategy asked", {"asked:list:strategies:pool2d:--names"}),
        ("rooftile explain pool2d --shape asked", {"asked:list:shapes:pool2d:--names"}),
    ],
)
def test_bash_completes(words, expected):
    script = completion.script(_parser(), "bash")
    typed = words.split()
    asked = """rooftile() { local IFS=:; echo "asked:$*"; }"""
    setting = f"COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _rooftile"
    done = subprocess.run(
        ["bash", "-c", f'{asked}\n{script}\n{setting}; printf "%s\\n" "${{COMPREPLY[@]}}"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) == expected


def test_zsh_loads_bashs_completion_first():
    parser = argparse.ArgumentParser()
    assert completion.script(parser, "zsh").startswith("autoload")


@pytest.mark.parametrize("what", ["operations", "shapes", "strategies", "models", "experiments"])
def test_a_list_shows_no_marks_of_code(call, call_json, what):
    assert "`" not in call("list", what)[1]
    assert "`" not in json.dumps(call_json("list", what))
