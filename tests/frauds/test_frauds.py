"""Dishonest and wrong kernels, every one of which must fail for the right reason."""

from __future__ import annotations

import ast
import shutil

import pytest

from rooftile.lab.audit import Foreign, audit
from rooftile.ops import parse

from .verdicts import ALSO, FRAUDS, INSTEAD, KERNELS, LIMITS, NEEDS, SHAPE, WRONG


def skip_where_threads_cannot_be_read(found):
    library = found.check("library")
    if library.status == "not applicable" and "cannot be read" in library.evidence:
        pytest.skip(library.evidence)


def failed(audit):
    return {check.name: check.evidence for check in audit.checks if check.status == "failed"}


@pytest.mark.parametrize("name", [*FRAUDS, *WRONG])
def test_it_fails_for_the_right_reason(judge, name):
    found = judge(name, limit_s=LIMITS.get(name, 60.0))
    expected = {**FRAUDS, **WRONG}[name]
    if not NEEDS.get(name, {""}) & {"", *found.isolation.in_force}:
        pytest.skip(f"only isolation stops it, and there is {found.isolation}")
    if expected == "library":
        skip_where_threads_cannot_be_read(found)
    right = {expected} | INSTEAD.get(name, set())
    assert right & set(failed(found)), [check for check in found.checks if check.status == "failed"]
    assert set(failed(found)) <= right | ALSO.get(name, set()), failed(found)
    assert found.time_ms is None
    assert not found.passed


def test_there_are_enough_of_them_and_none_is_forgotten():
    cpu = {path.stem for path in KERNELS.glob("*.py") if not path.stem.startswith(("gpu_", "_"))}
    elsewhere = {"fraud_writes_files"}
    assert {name for name in cpu if not name.startswith("honest")} == {*FRAUDS, *WRONG, *elsewhere}
    assert len(FRAUDS) >= 15
    assert len(WRONG) >= 8
    for path in KERNELS.glob("[!_]*.py"):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_no_file_of_the_users_is_written(quick_audits, tmp_path):
    for name in ("fraud_writes_files.py", "_direct.py"):
        shutil.copy(KERNELS / name, tmp_path)
    history = tmp_path / "some.history"
    history.write_text("all that was measured")
    kernel = Foreign.parse(f"{tmp_path / 'fraud_writes_files.py'}:kernel", "cpu")
    found = audit(kernel, parse("conv2d", SHAPE, 2))
    if not {"read-only files", "Landlock"} & {*found.isolation.in_force}:
        pytest.skip(f"nothing keeps it from writing: {found.isolation}")
    assert history.read_text() == "all that was measured"
    assert "runs" in failed(found)


def test_a_vendor_library_may_be_allowed(judge):
    found = judge("fraud_blas", allow_library=True)
    skip_where_threads_cannot_be_read(found)
    assert found.passed
    assert found.check("library").evidence.startswith("allowed: ")
    assert "openblas" in found.check("library").evidence


def test_a_claim_of_lower_precision_is_accepted_as_such(judge):
    assert judge("fraud_tf32", precision="tf32").passed
    assert judge("fraud_fp16_sums", precision="fp16").passed
    assert failed(judge("fraud_fp16", precision="ieee")).keys() == {"precision"}


def test_a_kernel_for_one_shape_says_so(judge):
    found = judge("fraud_one_shape", fixed_shape=True)
    assert found.passed
    assert found.check("off_grid").status == "not applicable"


def test_nondeterminism_may_be_declared(judge):
    assert judge("wrong_last_bits", deterministic=False).passed
