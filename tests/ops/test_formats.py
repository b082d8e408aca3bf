import numpy as np
import pytest

from rooftile.ops import FLOAT32, FORMATS, Format, format_of, rounded


@pytest.mark.parametrize("form", [FLOAT32, FORMATS["fp16"]])
def test_formats_that_numpy_has_are_its_own(form):
    known = np.finfo(form.dtype)
    assert form.unit == known.eps / 2
    assert form.least_normal == known.smallest_normal
    assert form.bytes == np.dtype(form.dtype).itemsize


@pytest.mark.parametrize(("precision", "form"), FORMATS.items())
def test_rounding_is_to_the_bits_that_the_format_has(precision, form):
    one = np.float32(1)
    kept = np.float32(1 + 2 * form.unit)
    assert rounded(np.array([kept, one + np.float32(form.unit)]), precision).tolist() == [kept, one]


def test_precisions_that_round_nothing_have_float32():
    assert format_of("ieee") is format_of("fast") is FLOAT32
    assert format_of("bf16") == Format("bfloat16", 8, 2, -126)
