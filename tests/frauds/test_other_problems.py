"""Problems that rooftile knows nothing of: integers, bytes, several outputs, no batch."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from rooftile.cli import main
from rooftile.lab.audit import Foreign, audit
from rooftile.ops import parse, register, registry

HONEST = {
    "tally": """
        def kernel(keys, amounts, bins):
            totals = np.zeros(bins, np.int64)
            np.add.at(totals, keys, amounts)
            return totals
    """,
    "sift": """
        def kernel(values, wanted, before):
            kept = np.where(wanted, values.astype(np.float32), 0)
            return kept.astype(np.float16), kept > 0, before + wanted.sum()
    """,
    "lookup": """
        def kernel(x, table, out):
            np.take(table, x, out=out)
    """,
}
WRONG = {
    ("tally", "values", "by float32"): """
        def kernel(keys, amounts, bins):
            totals = np.zeros(bins, np.float32)
            np.add.at(totals, keys, amounts.astype(np.float32))
            return totals.astype(np.int64)
    """,
    ("tally", "complete", "no last bin"): """
        def kernel(keys, amounts, bins, out):
            for k in range(max(1, bins - 1)):
                out[k] = amounts[keys == k].sum()
    """,
    ("tally", "stale", "new memory"): """
        def kernel(keys, amounts, bins):
            return np.empty(bins, np.int64)
    """,
    ("tally", "cache", "the first result"): """
        KEPT = {}
        def kernel(keys, amounts, bins):
            if (len(keys), bins) not in KEPT:
                KEPT[len(keys), bins] = totals = np.zeros(bins, np.int64)
                np.add.at(totals, keys, amounts)
            return KEPT[len(keys), bins]
    """,
    ("tally", "inputs", "sorts its input"): """
        def kernel(keys, amounts, bins):
            totals = np.zeros(bins, np.int64)
            np.add.at(totals, keys, amounts)
            keys.sort()
            return totals
    """,
    ("tally", "bounds", "one byte behind"): """
        import ctypes
        def kernel(keys, amounts, bins, out):
            out[...] = 0
            np.add.at(out, keys, amounts)
            for byte in range(4):
                ctypes.memset(out.ctypes.data + out.nbytes + byte, byte, 1)
    """,
    ("tally", "form", "of another dtype"): """
        def kernel(keys, amounts, bins):
            return np.bincount(keys, amounts, bins)
    """,
    ("tally", "off_grid", "by fours"): """
        def kernel(keys, amounts, bins):
            totals, whole = np.zeros(bins, np.int64), len(keys) // 4 * 4
            np.add.at(totals, keys[:whole], amounts[:whole])
            return totals
    """,
    ("sift", "complete", "half the flags"): """
        def kernel(values, wanted, before, out):
            kept, positive, number = out
            kept[...] = np.where(wanted, values.astype(np.float32), 0)
            half = len(values) // 2
            positive[:half] = kept[:half] > 0
            number[...] = before + wanted.sum()
    """,
    ("sift", "values", "one too many"): """
        def kernel(values, wanted, before):
            kept = np.where(wanted, values.astype(np.float32), 0)
            return kept.astype(np.float16), kept > 0, before + wanted.sum() + 1
    """,
    ("sift", "form", "two of three"): """
        def kernel(values, wanted, before):
            return values.astype(np.float16), wanted
    """,
    ("lookup", "complete", "one of several calls"): """
        import time
        CALLS, LAST = [0], [0.0]
        def kernel(x, table, out):
            CALLS[0] += 1
            if CALLS[0] < 40 or time.monotonic() - LAST[0] > 2e-4:
                np.take(table, x, out=out)
            LAST[0] = time.monotonic()
    """,
}  # fmt: skip
ALSO = {"off_grid": {"degenerate"}, "form": {"values"}}
OPENCL = """
__kernel void tally(__global const uchar* keys, __global const int* amounts,
                    __global long* totals, int count, int bins)
{
    int bin = get_global_id(0);
    if (bin >= bins) return;
    long total = 0;
    for (int i = 0; i < count; ++i)
        if (keys[i] == bin) total += amounts[i];
    totals[bin] = total;
}
"""
LAUNCH = "grid=ceil(totals_size/8) block=8 args=keys,amounts,totals,count,bins"


@pytest.fixture(scope="module", autouse=True)
def operations():
    """The packages are known here, and in no other module's tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent / "problems"))
        patch.setattr(registry, "registered", dict(registry.registered))
        for name in HONEST:
            register(name)
        yield


@pytest.fixture
def judge(quick_audits, tmp_path):
    def run(operation, text, device="cpu", **launch):
        path = tmp_path / ("kernel.cl" if launch else "kernel.py")
        path.write_text(text if launch else "import numpy as np\n" + textwrap.dedent(text))
        function = operation if launch else "kernel"
        kernel = Foreign.parse(f"{path}:{function}", device, **launch)
        return audit(kernel, parse(operation, "some"))

    return run


def failed(found):
    return {check.name: check.evidence for check in found.checks if check.status == "failed"}


@pytest.mark.parametrize("operation", HONEST)
def test_an_honest_kernel_passes(judge, operation):
    found = judge(operation, HONEST[operation])
    assert found.passed, failed(found)
    assert found.time_ms.median > 0
    assert found.check("off_grid").status == "passed"


@pytest.mark.parametrize(("operation", "check", "what"), WRONG)
def test_a_wrong_one_fails_for_the_right_reason(judge, operation, check, what):
    found = judge(operation, WRONG[operation, check, what])
    assert check in failed(found), [one for one in found.checks if one.status == "failed"]
    assert set(failed(found)) <= {check} | ALSO.get(check, set()), failed(found)
    assert found.time_ms is None


def test_the_evidence_names_the_output(judge):
    found = judge("sift", WRONG["sift", "values", "one too many"])
    assert "number: " in found.check("values").evidence


@pytest.mark.parametrize(
    ("text", "check"),
    [
        (OPENCL, None),
        (OPENCL.replace("bin >= bins", "bin >= bins / 8 * 8"), "off_grid"),
        (OPENCL.replace("long total = 0", "int total = 0"), "values"),
    ],
)
def test_a_text(judge, opencl_device, text, check):
    found = judge("tally", text, "opencl", launch=LAUNCH)
    assert (check in failed(found)) if check else found.passed, failed(found)
    assert set(failed(found)) <= {check} | ALSO.get(check, set()), failed(found)


def test_the_command_takes_it(quick_audits, tmp_path, capsys):
    path = tmp_path / "kernel.py"
    path.write_text("import numpy as np\n" + textwrap.dedent(HONEST["sift"]))
    given = ["audit", f"{path}:kernel", "--op", "sift", "--shape", "count=77", "--no-history"]
    assert main([*given, "--json"]) == 0
    problem = json.loads(capsys.readouterr().out)["problem"]
    assert problem["output_shape"] == {"kept": [77], "positive": [77], "number": []}
    assert main([*given, "--batch", "3"]) == 2
