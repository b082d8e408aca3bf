"""An operation outside the package, whose files `docs/do/operations.md` shows, is a guest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rooftile import ops
from rooftile.cli import main
from rooftile.devices import cpu
from rooftile.devices.cuda.compile import compile_cubin, cuda_core
from rooftile.errors import DeviceMissing
from rooftile.lab.judge.verify import verify
from rooftile.lab.measure.history.store import records
from rooftile.ops import named, parse, registry
from rooftile.runtime.selection.choice import choose
from rooftile.strategies import strategy

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SHAPE = "height=300,width=33"
PYTHON = """
def count(rows, numbers):
    return ((rows & 7) == (numbers & 7)[:, None]).sum(axis=1)


def into(rows, numbers, counts):
    counts[:] = count(rows, numbers)


def whole_eights(rows, numbers):
    return count(rows[:, : rows.shape[1] // 8 * 8], numbers)
"""
OPENCL = """
__kernel void agreeing(__global const uchar* rows, __global const int* numbers,
                       __global long* counts, int height, int width)
{
    int row = get_global_id(0);
    if (row >= height) return;
    long found = 0;
    for (int j = 0; j < width; j++) found += (rows[row * width + j] & 7) == (numbers[row] & 7);
    counts[row] = found;
}
"""
CUDA = """
extern "C" __global__ void agreeing(const unsigned char* rows, const int* numbers,
                                    long long* counts, int height, int width)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= height) return;
    long long found = 0;
    for (int j = 0; j < width; j++) found += (rows[row * width + j] & 7) == (numbers[row] & 7);
    counts[row] = found;
}
"""
LAUNCH = "grid=ceil(height/64) block=64 args=rows,numbers,counts,height,width"


@pytest.fixture(scope="module", autouse=True)
def made_up():
    """The operation, known in this module alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        patch.setattr(registry, "registered", dict(registry.registered))
        yield ops.register("made_up")


@pytest.fixture(autouse=True)
def all_quick_and_here(quick, quick_audits, judged_here, history_path):
    """Few samples, and ceilings that nobody measured: no test here looks at times."""


@pytest.fixture
def call(capsys):
    """``call("climb", "made_up", ...)``: the exit code and what is printed."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def call_json(call):
    """The exit code and the one object that is printed."""

    def run(*arguments):
        code, out, err = call(*arguments, "--json")
        assert out, err
        return code, json.loads(out)

    return run


@pytest.fixture
def wrong_rung():
    """It counts in whole groups of eight bytes: right on a width of 64, and wrong off the grid."""

    class WholeEights(type(strategy("made_up", "loops"))):
        def prepare(self, problem, parameters, threads):
            def count(rows, numbers, counts):
                counts[:] = problem.reference(rows[:, : problem.width // 8 * 8], numbers)

            return count

    return WholeEights()


@pytest.fixture
def wrong_text(device):
    """The same on a GPU."""
    right = strategy("made_up", "rows", kind(device))

    class WholeEights(type(right)):
        text = right.text.replace("j < width", "j < width / 8 * 8")

    return WholeEights()


def kind(device):
    return device.description.kind


def failed(audit):
    found = [check for check in audit["checks"] if check["status"] == "failed"]
    return {check["name"]: check["evidence"] for check in found}


class TestVerify:
    def test_a_rung_of_the_cpu_is_right(self):
        verdict = verify(named("made_up", "few"), strategy("made_up", "loops"), hard=True)
        assert verdict.passed, verdict.reason

    def test_a_text_is_right(self, device):
        rung = strategy("made_up", "rows", kind(device))
        verdict = verify(named("made_up", "few"), rung, device=device, hard=True)
        assert verdict.passed, verdict.reason

    def test_a_wrong_rung_is_caught_off_the_grid(self, wrong_rung):
        assert verify(named("made_up", "few"), wrong_rung, neighbours=False).passed
        verdict = verify(named("made_up", "few"), wrong_rung)
        assert not verdict.passed
        assert verdict.reason.startswith("at Agreeing(")

    def test_a_wrong_text_is_caught_off_the_grid(self, wrong_text, device):
        verdict = verify(named("made_up", "few"), wrong_text, device=device)
        assert not verdict.passed
        assert verdict.reason.startswith("at Agreeing(")


def test_it_is_computed_by_the_rung_that_is_chosen():
    problem = parse("made_up", "height=3,width=4")
    rows = np.arange(12, dtype=np.uint8).reshape(3, 4)
    numbers, counts = np.array([9, 4, 8], np.int32), np.empty(3, np.int64)
    choose(problem).bind(problem, (), cpu.open_device())(rows, numbers, counts)
    assert counts.tolist() == [1, 1, 1]


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_its_text_compiles_without_a_gpu(architecture):
    try:
        cuda_core()
    except DeviceMissing as error:
        pytest.skip(str(error))
    rung, problem = strategy("made_up", "rows", "cuda"), named("made_up", "few")
    macros = rung.macros(problem, rung.config(problem))
    assert compile_cubin(rung.text, macros, architecture, rung.folders)


class TestCommands:
    def test_a_climb_of_the_cpu_its_history_and_its_report(self, call, call_json, tmp_path):
        code, found = call_json("climb", "made_up", "--shape", SHAPE)
        assert code == 0
        assert [(row["strategy"], row["status"]) for row in found["rows"]] == [("loops", "passed")]
        assert found["problem"]["output_shape"] == [300]
        assert found["rows"][0]["error"]["max_abs"] == 0
        (record,) = records(operation="made_up", problem=parse("made_up", SHAPE))
        assert (record.strategy, record.status) == ("loops", "passed")
        _, listed, _ = call("history", "made_up")
        assert "made_up 300x33 " in listed
        assert "x1 " not in listed
        page = tmp_path / "page.html"
        code, found = call_json("report", "--operation", "made_up", "--out", page)
        assert (code, found["ladders"], found["rows"]) == (0, 1, 1)
        text = page.read_text(encoding="utf-8")
        assert "loops" in text
        assert "height 300, width 33" in text

    def test_a_climb_for_a_reader(self, call):
        code, said, _ = call("climb", "made_up", "--shape", "few")
        assert code == 0
        assert "rows[500,64]:uint8 numbers[500]:int32 -> [500]:int64" in said

    def test_peers_are_rows_that_nobody_described(self, call_json):
        _, found = call_json("climb", "made_up", "--shape", SHAPE, "--peers")
        peers = [row for row in found["rows"] if row["kind"] == "peer"]
        assert peers
        assert {row["cause"] for row in peers} <= {"unsupported", "not installed"}

    @pytest.mark.alone
    def test_a_climb_and_a_tuning_of_the_text(self, call_json, device, tmp_path):
        where = ("--shape", SHAPE, "--device", kind(device))
        code, found = call_json("climb", "made_up", *where)
        assert code == 0
        assert [(row["strategy"], row["status"]) for row in found["rows"]] == [("rows", "passed")]
        code, found = call_json("tune", "made_up", *where, "--trials", 3)
        assert code == 0
        tried = {trial["config"]["BLOCK"]: trial["status"] for trial in found["trials"]}
        assert tried == dict.fromkeys((32, 64, 128), "passed")
        assert found["winner"]["config"]["BLOCK"] in tried
        assert {record.command for record in records(operation="made_up")} == {
            "climb", "tune", "final",
        }  # fmt: skip
        page = tmp_path / "page.html"
        code, found = call_json("report", "--operation", "made_up", "--out", page)
        assert (code, found["ladders"]) == (0, 1)
        assert "BLOCK" in page.read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("function", "expected"),
        [("count", []), ("into", []), ("whole_eights", ["off_grid", "degenerate"])],
    )
    def test_an_audit_of_a_python_function(self, call_json, tmp_path, function, expected):
        file = tmp_path / "theirs.py"
        file.write_text(PYTHON, encoding="utf-8")
        shape = ("--op", "made_up", "--shape", "height=300,width=32")
        code, found = call_json("audit", f"{file}:{function}", *shape)
        assert list(failed(found)) == expected, failed(found)
        assert code == bool(expected)

    @pytest.mark.alone
    def test_an_audit_of_a_text(self, call_json, tmp_path, device):
        cuda = kind(device) == "cuda"
        file = tmp_path / ("theirs.cu" if cuda else "theirs.cl")
        file.write_text(CUDA if cuda else OPENCL, encoding="utf-8")
        code, found = call_json(
            "audit", f"{file}:agreeing", "--op", "made_up", "--shape", SHAPE,
            "--device", kind(device), "--launch", LAUNCH,
        )  # fmt: skip
        assert failed(found) == {}
        assert code == 0

    def test_an_explanation(self, call_json):
        code, found = call_json("explain", "made_up", "--shape", "many")
        assert code == 0
        assert (found["strategy"], found["units"]) == ("loops", 100_000)
        assert found["bound"]["limit"] == "memory"
        where = ("--device", "cuda", "--architecture", "sm_90")
        code, found = call_json("explain", "made_up", "--shape", "many", *where)
        assert code == 0
        (kernel,) = found["kernels"]
        assert (kernel["name"], kernel["grid"], kernel["block"]) == (
            "agreeing", [1563, 1, 1], [64, 1, 1],
        )  # fmt: skip
        # A byte of each row's, its number and its count.
        assert found["moved_bytes"] == 100_000 * (256 + 4 + 8)
        assert found["bound_by"] == "device memory"


def test_the_environment_makes_it_known_to_other_processes(opencl_device):
    paths = os.pathsep.join([str(HERE), *sys.path])
    environment = {**os.environ, "ROOFTILE_OPERATIONS": "made_up", "PYTHONPATH": paths}
    code = "import sys; from rooftile.cli import main; sys.exit(main(sys.argv[1:]))"
    command = ["climb", "made_up", "--shape", "height=40,width=33", "--device", "opencl", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", code, *command], env=environment, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["strategy"], row["status"]) == ("rows", "passed")
    assert [record.strategy for record in records(operation="made_up")] == ["rows"]


def test_the_page_shows_these_very_files():
    page = (ROOT / "docs" / "do" / "operations.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^`(made_up/\S+)`:\n\n```\w+\n(.*?)^```$", page, re.M | re.S))
    files = {
        str(path.relative_to(HERE)): path.read_text(encoding="utf-8")
        for path in sorted((HERE / "made_up").rglob("*"))
        if path.suffix in (".py", ".cu") and path.name != "__init__.py"
    }
    assert shown == files
