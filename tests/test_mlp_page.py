"""docs/do/mlp-training.md: in step with its record; the C program computes what we do."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from rooftile.ops.gradients.mlp_training import MlpTraining, Neurons


def test_the_page_is_that_of_the_record(benchmark_script):
    script = benchmark_script("mlp_page")
    record = json.loads(script.RESULTS.read_text(encoding="utf-8"))
    assert script.PAGE.read_text(encoding="utf-8") == script.page(record)


def test_the_c_program_gives_the_references_weights(benchmark_script, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler cc")
    script = benchmark_script("mlp_training")
    names = ("softmax", "relu", "tanh", "softplus", "gelu", "sigmoid")
    problem = MlpTraining(7, 3, 2, Neurons((4, 5, 3, 3, 2, 2), names), "float64")
    arrays = list(problem.random(0))
    found = script.c_call(problem, arrays, ["-O1"], tmp_path)()
    np.testing.assert_allclose(found, problem.reference(*arrays)[0], rtol=1e-12, atol=1e-13)
