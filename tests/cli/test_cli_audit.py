from __future__ import annotations

import json
from pathlib import Path

import pytest

from rooftile.lab.audit import CHECKS, library, speed, verdict
from rooftile.lab.history.store import History

KERNELS = Path(__file__).parent.parent / "frauds" / "kernels"
SHAPE = "channels=2,height=20,width=24,maps=3,mask=3x3,padding=1x1,activation=relu"


@pytest.fixture(autouse=True)
def few_samples(monkeypatch, known_roof):
    monkeypatch.setattr(speed, "_MOST", 5)
    monkeypatch.setattr(library, "_SECONDS", 0.1)


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
    assert lines[0].startswith("passed: the worst error is")
    assert any("ms a call on new inputs" in line for line in lines)
    assert any("no climb of this problem is recorded" in line for line in lines)
    assert "results on known and on secret inputs" in err


def test_a_failed_check_is_exit_code_1_with_its_evidence(audit):
    code, out, _ = audit("fraud_cache_shape.py")
    assert code == 1
    assert out.startswith("failed: cache; no time")
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


def test_it_is_compared_with_our_own_rung_of_the_problem(audit, call, history_path):
    assert call("climb", "conv2d", "--shape", SHAPE, "--batch", 4, "--strategy", "loops")[0] == 0
    _, out, _ = audit("honest_numpy.py", "--no-history")
    (line,) = (line for line in out.splitlines() if "than our rung loops (" in line)
    assert float(line.split()[0]) >= 1
    assert line.split()[2] in ("slower", "faster")


def test_isolation_may_be_required(audit, monkeypatch):
    monkeypatch.setattr(verdict, "_REQUIRED", ("a moat",))
    code, out, err = audit("honest_numpy.py", "--require-isolation", "--no-history")
    assert (code, out) == (2, "")
    assert "required isolation is not to be had" in err
    assert "limits" in err


def test_the_history_keeps_it(audit, history_path):
    audit("honest_numpy.py")
    audit("fraud_cache_shape.py", "--seed", 3)
    audit("fraud_cache_shape.py", "--no-history")
    with History(history_path) as history:
        newest, oldest = sorted(history.records(), key=lambda record: -record.id)
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
