from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

import rooftile
from rooftile.cli import _main, _options, main
from rooftile.cli._commands import GROUPS, OWN
from rooftile.cli.render import output
from rooftile.lab.measure.history import store as lab
from rooftile.ops import Precision
from tests.support.full_disk import room_for


def _rooftile(*arguments):
    command = [sys.executable, "-c", "from rooftile.cli import main; raise SystemExit(main())"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


def test_help_imports_nothing_that_computes():
    script = (
        "import sys; from rooftile.cli import main\n"
        "try: main(['run', '--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'numba', 'numpy', 'rich'} & set(sys.modules), sorted(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"rooftile {rooftile.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["run"],
        ["run", "lenet5", "--batch", "x"],
        ["run", "lenet5", "--batch", "0"],
        ["run", "lenet5", "--limit", "-1"],
        ["run", "lenet5", "--seed", "-1"],
        ["climb", "conv2d", "--batch", "0"],
        ["climb", "conv2d", "--limit", "nan"],
        ["climb", "conv2d", "--precision", "fp8"],
        ["tune", "conv2d", "--trials", "0"],
        ["history", "--last", "-3"],
        ["history", "--status", "magic"],
        ["history", "--command", "magic"],
        ["compare", "a", "b", "--level", "2"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: rooftile" in capsys.readouterr().err


def test_without_arguments_it_says_where_to_begin(capsys):
    with pytest.raises(SystemExit):
        main([])
    said = capsys.readouterr().err
    for command in ("rooftile run lenet5", "rooftile climb conv2d", "rooftile --help"):
        assert command in said
    # What it proposes can be asked for.
    for line in re.findall(r"^  rooftile (\w+.*?)  ", said, re.MULTILINE):
        assert _main._parser().parse_args(line.split()).command


@pytest.mark.parametrize("columns", ["80", "200", "40"])
def test_help_lists_every_command_once_in_its_group(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    for title, names in GROUPS.items():
        assert f"\n{title}:\n" in told
        for name in names:
            assert len(re.findall(rf"^  {name} +\S", told, re.MULTILINE)) == 1
    files = {path.stem for path in (Path(_main.__file__).parent / "commands").glob("[a-z]*.py")}
    assert set(OWN) == files


@pytest.mark.parametrize("command", ["list", "history", "report", "tune"])
def test_help_names_no_default_device_that_is_none(capsys, command):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "default cpu" not in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["climb", "conv9d", "--shape", "lenet-conv1"], "operation"),
        (["climb", "conv2d", "--shape", "mask=5x5"], "shape"),
        (["climb", "conv2d", "--shape", "lenet-conv1", "--strategy", "magic"], "strategy"),
        (["run", "alexnet"], "alexnet"),
        (["run", "lenet5", "--precision", "fp16"], "precision"),
        (["run", "lenet5", "--device", "abacus"], "abacus"),
        (["run", "mnist8", "--weights", "nowhere.safetensors"], "nowhere.safetensors"),
        (["train", "mnist8", "--device", "abacus"], "abacus"),
        (["train", "mnist8", "--out", "no/such/directory/x"], "directory"),
        (["train", "mnist8", "--optimizer", "magic"], "magic"),
        (["train", "mnist8", "--out", "."], "--out"),
        (["history", "--device", "abacus"], "abacus"),
        (["report", "--out", "no/such/directory/x"], "--out"),
        (["report", "nowhere.json"], "nowhere.json"),
        (["explain", "conv2d", "--device", "cuda", "--picture", "no/such/x"], "--picture"),
    ],
)
def test_wrong_arguments_are_one_message_and_exit_code_2(call, arguments, text):
    refused(call(*arguments), 2, text)


@pytest.mark.parametrize("command", [["climb", "conv2d"], ["run", "lenet5"], ["devices"]])
def test_a_missing_device_is_one_message_and_exit_code_1(call, command):
    refused(call(*command, "--device", "cuda:99"), 1, "cuda")


def refused(answer, expected, text):
    code, out, err = answer
    assert code == expected
    assert out == ""
    assert text in err
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("rooftile: ")


def test_debug_shows_the_traceback(call):
    code, _, err = call("run", "alexnet", "--debug")
    assert code == 2
    assert "Traceback" in err


def test_an_interrupt_is_no_traceback(call, monkeypatch):
    from rooftile.lab.measure import climb

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(climb, "climb", interrupt)
    code, _, err = call("climb", "conv2d", "--shape", "lenet-conv1")
    assert code == 130
    assert err.endswith("interrupted\n")


def test_options_name_the_precisions_that_there_are():
    assert get_args(Precision) == _options.PRECISIONS


def test_a_history_that_cannot_be_written_costs_the_record_alone(call, known_roof, monkeypatch):
    monkeypatch.setenv("ROOFTILE_HISTORY", "/proc/no/such/folder/history.sqlite")
    shape = ("--shape", "channels=1,height=9,width=9,maps=1,mask=3x3")
    code, out, err = call("climb", "conv2d", *shape, "--strategy", "loops")
    assert code == 0
    assert "loops" in out
    assert err.count("nothing is recorded") == 1


SMALL = ("conv2d", "--shape", "channels=1,height=9,width=9,maps=1,mask=3x3", "--strategy", "loops")


def test_a_damaged_history_costs_the_record_alone(call, known_roof, history_path):
    history_path.write_bytes(b"no database\n" * 400)
    code, out, err = call("climb", *SMALL)
    assert code == 0
    assert "loops" in out
    assert err.count("nothing is recorded: history: got") == 1
    assert history_path.read_bytes() == b"no database\n" * 400


def test_a_history_on_a_full_disk_costs_the_record_alone(
    call, known_roof, history_path, monkeypatch
):
    # Pages of 512 bytes: no record fits into what is left of one.
    with closing(sqlite3.connect(history_path)) as small:
        small.execute("PRAGMA page_size = 512")
        small.execute("VACUUM")
    connect = lab.connect

    def full(path):
        database = connect(path)
        (pages,) = database.execute("PRAGMA page_count").fetchone()
        database.execute(f"PRAGMA max_page_count = {pages}")
        return database

    monkeypatch.setattr(lab, "connect", full)
    code, out, err = call("climb", *SMALL)
    assert code == 0
    assert "loops" in out
    assert err.count("nothing more is recorded: history: got") == 1
    assert "database or disk is full" in err
    assert "make room" in err
    assert "move it away" not in err
    assert lab.records() == []


def test_a_report_on_a_full_disk_leaves_the_old_one(call, known_roof, tmp_path):
    climbed, page = tmp_path / "climb.json", tmp_path / "report.html"
    climbed.write_text(call("climb", *SMALL, "--json")[1])
    page.write_text("what was there")
    with room_for(4096):
        answer = call("report", climbed, "--out", page)
    refused(answer, 1, f"File too large, so nothing was written: '{page}'")
    assert page.read_text() == "what was there"
    assert not list(tmp_path.glob("report.html.*"))


def test_a_reader_that_leaves_is_no_error():
    command = "from rooftile.cli import main; raise SystemExit(main())"
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -c '{command}' history --json | true"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("fraction", "full", "text"),
    [(0, "", ""), (0.5, "█" * 8, "#" * 8), (1, "█" * 16, "#" * 16), (2, "█" * 16, "#" * 16)],
)
def test_bars(fraction, full, text):
    assert output.bar(fraction) == full
    assert output.bar(fraction, unicode=False) == text


def test_bars_have_eighths():
    assert output.bar(1 / 16 + 1 / 32) == "█▌"


def test_quantities():
    assert output.quantity(2.508e9, "FLOP") == "2.51 GFLOP"
    assert output.quantity(12, "B") == "12 B"
    assert output.percent(0.934) == "93 %"
    assert output.percent(0.0123) == "1.2 %"
    assert [output.milliseconds(t) for t in (0.1234, 12.3, 1234.5)] == ["0.1234", "12.30", "1234"]
