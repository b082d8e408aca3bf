"""The problems that stand for an operation: soon done on two old cores."""

from __future__ import annotations

import numpy as np
import pytest

from rooftile.errors import InputError
from rooftile.ops import climbed_shapes, default_shape, named, operations, parse, registry
from rooftile.ops.climbed import Climbed

MOST_FLOPS, MOST_BYTES = 7e7, 1.3e8
"""Loops on one thread make at least 1e8 FLOP/s and 1 GB/s: a call takes less than a second."""


def problems(operation, kind, large=False):
    found = climbed_shapes(operation, kind, large=large)
    return [parse(operation, shape, found.batch) for shape in found.shapes]


@pytest.mark.parametrize("kind", ["cpu", "opencl"])
@pytest.mark.parametrize("operation", operations())
def test_the_textbook_s_problem_is_soon_done(operation, kind):
    climbed = problems(operation, kind)
    assert max(problem.flops for problem in climbed) <= MOST_FLOPS
    assert max(problem.bytes for problem in climbed) <= MOST_BYTES


@pytest.mark.parametrize("operation", operations())
def test_the_large_problem_is_not_smaller(operation):
    textbook, large = problems(operation, "cpu"), problems(operation, "cpu", large=True)
    assert large[0].bytes >= textbook[0].bytes
    assert len(large) in (1, len(textbook))


def test_on_cuda_it_is_the_first_unless_there_are_several_forms():
    assert climbed_shapes("conv2d", "cuda") == Climbed.of(default_shape("conv2d"))
    assert climbed_shapes("conv2d", "opencl") == climbed_shapes("conv2d")
    assert climbed_shapes("spmv", "cuda") == climbed_shapes("spmv", "cpu")


@pytest.mark.parametrize(
    "operation", [o for o in operations() if len(climbed_shapes(o).shapes) > 1]
)
def test_forms_are_of_the_same_data(operation):
    """Every format of spmv holds the same matrix; what keeps no order keeps the same elements."""
    results = []
    for problem in problems(operation, "cpu"):
        arrays = problem.random(3)
        assert [a.shape for a in arrays] == [a.shape for a in problem.arrays[: len(arrays)]]
        made = problem.reference(*arrays)
        results.append(np.asarray(made[0] if isinstance(made, tuple) else made))
        assert problem.flops == problems(operation, "cpu")[0].flops
    for result in results[1:]:
        np.testing.assert_allclose(np.sort(result), np.sort(results[0]), rtol=1e-12)


def test_spmv_s_forms_are_all_that_there_are():
    from rooftile.ops.sparse.rows import FORMS

    for large in (False, True):
        shapes = climbed_shapes("spmv", large=large).shapes
        assert {named("spmv", shape).form for shape in shapes} == set(FORMS)
        # Whatever a format needs beside the entries follows from the same band.
        assert {named("spmv", shape).entries for shape in shapes} == {
            named("spmv", shapes[0]).entries
        }


def test_a_name_that_is_no_named_problem_is_refused(monkeypatch):
    from rooftile.ops.patterns import matmul

    monkeypatch.setattr(matmul, "TEXTBOOK", Climbed.of("matmul-3"))
    with pytest.raises(InputError, match="matmul-3"):
        registry._of_module(matmul, "rooftile.strategies.matmul")


def test_an_operation_without_either_has_its_first_problem(monkeypatch):
    from rooftile.ops.patterns import matmul

    monkeypatch.delattr(matmul, "TEXTBOOK")
    monkeypatch.delattr(matmul, "LARGE")
    found = registry._of_module(matmul, "rooftile.strategies.matmul")
    assert found.textbook == found.large == Climbed.of(next(iter(matmul.NAMED)))
