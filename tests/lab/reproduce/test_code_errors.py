"""Errors of the documents' listings, as kernels: each is caught, and the right text is right."""

from __future__ import annotations

import pytest

from rooftile.errors import CompileFailure
from rooftile.lab.judge.verify import verify
from rooftile.lab.reproduce.code_errors import CODE_ERRORS


@pytest.mark.parametrize("error", CODE_ERRORS, ids=lambda error: error.name)
def test_it_is_caught(error, opencl_device):
    def judged():
        config = error.config or None
        return verify(
            error.problem, error.wrong("opencl"), device=opencl_device, config=config,
            neighbours=False,
        )  # fmt: skip

    if error.compiles:
        assert not judged().passed
    else:
        with pytest.raises(CompileFailure):
            judged()


def test_each_has_a_name_and_a_place():
    assert len({error.name for error in CODE_ERRORS}) == len(CODE_ERRORS)
    assert all(error.document and error.place and error.what for error in CODE_ERRORS)
