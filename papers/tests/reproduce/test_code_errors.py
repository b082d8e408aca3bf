"""Errors of the documents' listings, as kernels: each is caught, and the right text is right."""

from __future__ import annotations

import pytest

from rooftile.errors import CompileFailure
from rooftile.lab.judge.verify import verify
from rooftile_papers.reproduce.code_errors import CODE_ERRORS
from tests.support.caught import check_caught


@pytest.mark.parametrize("error", CODE_ERRORS, ids=lambda error: error.name)
def test_it_is_caught(error, opencl_device, tmp_path):
    wrong, config = error.wrong("opencl"), error.config or None
    if error.compiles:
        check_caught(wrong, error.problem, opencl_device, tmp_path, config=config, neighbours=False)
    else:
        with pytest.raises(CompileFailure):
            verify(error.problem, wrong, device=opencl_device, config=config, neighbours=False)


def test_each_has_a_name_and_a_place():
    assert len({error.name for error in CODE_ERRORS}) == len(CODE_ERRORS)
    assert all(error.document and error.place and error.what for error in CODE_ERRORS)
