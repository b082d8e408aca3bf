from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from rooftile.cli.render import standing as _beside
from rooftile.errors import CompileFailure
from rooftile.lab.audit import CHECKS, verdict
from rooftile.lab.measure.history import store
from rooftile.lab.measure.history.store import History
from rooftile.ops import parse
from rooftile.runtime.selection.choice import decide
from rooftile.runtime.timing.host import Timing

MEASURED = _beside.measured
KERNELS = Path(__file__).parent.parent / "frauds" / "kernels"
SHAPE = "channels=2,height=20,width=24,maps=3,mask=3x3,padding=1x1,activation=relu"


@pytest.fixture(autouse=True)
def few_samples(monkeypatch, quick_audits):
    # One test has our own rung timed.
    monkeypatch.setattr(_beside, "measured", lambda *_: [])


@pytest.fixture
def audit(call):
    def run(name, *more):
        kernel = f"{KERNELS / name}:kernel"
        return call("audit", kernel, "--op", "conv2d", "--shape", SHAPE, "--batch", 4, *more)

    return run


def test_an_honest_kernel_is_exit_code_0(audit):
    code, out, err = audit("honest_numpy.py")
    assert code == 0, out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    for name in CHECKS:
        assert any(line.startswith(name) for line in lines)
    assert lines[0].startswith("passed: right and honest; the worst error is")
    assert any("ms a call on new inputs" in line for line in lines)
    assert any("x its floor of" in line for line in lines)
    assert "results on known and on secret inputs" in err


def test_a_failed_check_is_exit_code_1_with_its_evidence(audit):
    code, out, _ = audit("fraud_cache_shape.py")
    assert code == 1
    assert out.startswith("failed: not honest (cache); no time")
    assert "it returned the result of 1 calls before" in " ".join(out.split())


def test_one_json_object(audit):
    code, out, _ = audit("honest_workspace.py", "--json", "--precision", "fast")
    found = json.loads(out)
    assert code == 0
    assert found["status"] == "passed"
    assert [check["name"] for check in found["checks"]] == list(CHECKS)
    assert found["time_ms"]["median"] > 0
    assert 0 < found["roof_fraction"] < 1
    assert found["precision"] == "fast"
    assert set(found["isolation"]) == {"in_force", "missing"}
    assert found["printed"].endswith("called")


def test_it_is_compared_with_our_own_rungs_of_the_problem(audit, call, history_path):
    assert call("climb", "conv2d", "--shape", SHAPE, "--batch", 4, "--strategy", "loops")[0] == 0
    _, out, err = audit("honest_numpy.py", "--no-history")
    (line,) = (line for line in out.splitlines() if "than loops, our rung (" in line)
    assert float(line.split()[0]) >= 1
    assert line.split()[2] in ("slower", "faster")
    assert "our own rung" not in err


def test_where_no_climb_is_recorded_the_rung_that_is_picked_is_timed(
    audit, history_path, monkeypatch
):
    monkeypatch.setattr(_beside, "measured", MEASURED)
    picked = decide(parse("conv2d", SHAPE, 4)).strategy.name
    _, out, err = audit("honest_numpy.py")
    assert f"than {picked}, our rung (" in out
    assert f"timing {picked}, our own rung" in err
    with History(history_path) as history:
        assert {record.command for record in history.records()} == {"audit", "climb"}


def _record(kind, name, precision, ms):
    row = {"kind": kind, "time_ms": {"median": ms}}
    return SimpleNamespace(
        kind=kind,
        strategy=name,
        precision=precision,
        median_ms=ms,
        to_row=lambda: SimpleNamespace(**row),
    )


def test_the_fastest_and_the_slowest_rung_and_the_fastest_peer_of_its_precision(monkeypatch):
    climbed = [
        _record("strategy", "loops", "ieee", 40.0),
        _record("strategy", "tile", "ieee", 9.0),  # an older time
        _record("strategy", "tile", "ieee", 0.5),
        _record("strategy", "mma", "fp16", 0.01),
        _record("peer", "torch", "ieee", 4.0),
        _record("peer", "torch", "fp16", 0.02),
    ]
    monkeypatch.setattr(store, "records", lambda **_: climbed)
    ladder = SimpleNamespace(gpu=SimpleNamespace(name="a GPU"), device="cuda:0")
    timing = Timing(20.0, 20.0, 20.0, 20.0, 9, True)
    found = SimpleNamespace(time_ms=timing, claim="ieee", problem=None, ladder=lambda: ladder)
    assert _beside.standing(found, None, None, None) == [
        "40 x slower than tile, our fastest rung (0.5000 ms)",
        "2 x faster than loops, our slowest rung (40.00 ms)",
        "5 x slower than torch, the fastest peer (4.00 ms)",
    ]


def test_what_was_not_reached_and_a_compilers_words_once(call, tmp_path, opencl_device):
    text = tmp_path / "soft.cl"
    text.write_text(
        "__kernel void soft(__global const float *x, __global float *out) {\n"
        "    out[get_global_id(0)] = x[0] + oops;\n"
        "}\n",
        encoding="utf-8",
    )
    launch = "grid=batch block=1 args=x,out define=ROWS:batch"
    given = ("audit", f"{text}:soft", "--op", "softmax", "--shape", "classes=10", "--batch", 8)
    code, out, _ = call(*given, "--device", "opencl", "--launch", launch, "--json")
    found = json.loads(out)
    assert (code, found["device"]) == (1, "opencl:0")
    statuses = {check["name"]: check["status"] for check in found["checks"]}
    assert (statuses["runs"], statuses["values"]) == ("failed", "not reached")
    code, out, _ = call(*given, "--device", "opencl:0", "--launch", launch)
    assert out.startswith("failed: not right (runs); no time")
    # What a compiler says is its own affair, and whether it shows the line; it is said once.
    with pytest.raises(CompileFailure) as caught:
        opencl_device.compile(text.read_text(encoding="utf-8"), {}, plain=True)
    assert out.count("does not compile") == 1
    said = [line for line in caught.value.log.splitlines() if "oops" in line]
    assert out.count("oops") == sum(line.count("oops") for line in said)
    assert "not reached: form," in out


def test_isolation_may_be_required(audit, monkeypatch):
    monkeypatch.setattr(verdict, "REQUIRED", ("a moat",))
    code, out, err = audit("honest_numpy.py", "--require-isolation", "--no-history")
    assert (code, out) == (2, "")
    assert "required isolation is not to be had" in err
    assert "limits" in err


def test_the_history_keeps_it(audit, history_path):
    audit("honest_numpy.py")
    audit("fraud_cache_shape.py", "--seed", 3)
    audit("fraud_cache_shape.py", "--no-history")
    with History(history_path) as history:
        oldest, newest = history.records(command="audit")
    assert (newest.command, newest.strategy) == ("audit", "fraud_cache_shape.py:kernel")
    assert (newest.status, newest.seed, newest.kind) == ("failed", 3, "peer")
    assert newest.to_row().reason.startswith("cache: on fresh inputs")
    assert (newest.to_row().cause, oldest.to_row().cause) == ("wrong", "")
    assert oldest.status == "passed"
    assert oldest.median_ms > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing.py",), "expected a file"),
        (("honest_numpy.py", "--device", "opencl"), "device"),
        (("_direct.py",), "no function 'kernel'"),
        (("honest_numpy.py", "--launch", "grid=1"), "launch"),
    ],
)
def test_wrong_usage_is_exit_code_2(audit, arguments, said):
    code, out, err = audit(*arguments)
    assert (code, out) == (2, "")
    assert said in err


def test_names_are_shown_without_what_a_terminal_obeys(audit, tmp_path):
    path = tmp_path / "mi\x1b[2Jne\u202e.py"
    path.write_text("def other(x): pass", encoding="utf-8")
    code, _, err = audit(path)
    assert code == 2
    assert "mi\\x1b[2Jne\\u202e.py has no function 'kernel'" in err
    assert not {"\x1b", "\u202e"} & {*err}


def test_a_link_to_itself_is_no_file(audit, tmp_path):
    path = tmp_path / "mine.py"
    path.symlink_to(path)
    code, _, err = audit(path)
    assert (code, "expected a file" in err) == (2, True)


def test_a_signature_that_wants_what_there_is_not(audit, tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text("def kernel(x, weights, bias, depth): pass", encoding="utf-8")
    code, _, err = audit(path)
    assert code == 2
    assert "['depth']" in err
    path.write_text("def kernel(x): pass", encoding="utf-8")
    code, _, err = audit(path)
    assert code == 2
    assert "3 arrays first: x, weights, bias" in err
