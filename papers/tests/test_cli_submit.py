"""`rooftile submit` and `rooftile ranking`."""

from __future__ import annotations

import pytest


@pytest.fixture
def lab(tmp_path):
    folder = tmp_path / "labs" / "reduce_sum" / "0"
    folder.mkdir(parents=True)
    (folder / "input0.raw").write_text("3\n1\n2\n4\n", encoding="ascii")
    (folder / "output.raw").write_text("1\n7\n", encoding="ascii")
    return tmp_path / "labs"


def test_a_submission_is_graded_recorded_and_ranked(call, call_json, lab, tmp_path, history_path):
    path = tmp_path / "mine.py"
    path.write_text("def kernel(x, out):\n    out[...] = x.sum()\n", encoding="utf-8")
    code, out, err = call("ranking", "--lab", "reduce_sum")
    assert (code, err) == (0, "")
    assert "nobody" in out
    code, out, err = call("submit", path, "--lab", "reduce_sum", "--data", lab, "--name", "me")
    assert code == 0, err
    assert "me: 1 of 1 data sets passed" in out
    (place,) = call_json("ranking", "--lab", "reduce_sum")["places"]
    assert place["name"] == "me"
    assert place["total_ms"] > 0


def test_a_wrong_submission_is_exit_code_1(call, lab, tmp_path, history_path):
    path = tmp_path / "mine.py"
    path.write_text("def kernel(x, out):\n    out[...] = x.max()\n", encoding="utf-8")
    code, out, _ = call("submit", path, "--lab", "reduce_sum", "--data", lab)
    assert code == 1
    assert "the result is wrong" in out


def test_what_is_unknown_is_wrong_usage(call, lab, tmp_path, history_path):
    path = tmp_path / "mine.py"
    path.write_text("def kernel(x): pass\n", encoding="utf-8")
    for arguments in (("submit", path, "--lab", "nonsense", "--data", lab),
                      ("submit", path, "--lab", "matmul", "--data", lab),
                      ("submit", tmp_path / "none.py:kernel", "--lab", "reduce_sum", "--data", lab),
                      ("ranking", "--lab", "nonsense")):  # fmt: skip
        code, _, err = call(*arguments)
        assert code == 2, err
        assert "rooftile:" in err
