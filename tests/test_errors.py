"""The family of errors: what each message says, and what each can be caught as."""

import pytest

from rooftile import errors

EXAMPLES = [
    (errors.InputError("x", "3 axes", "4"), ("x: got 3 axes", "expected 4"), ValueError),
    (errors.UnsupportedProblem("fft", "too small", "loops"), ("fft", "too small", "loops"), None),
    (errors.DeviceMissing("a GPU", "pip install it"), ("a GPU", "pip install it"), None),
    (errors.CompileFailure("k", "line 3: oops", "k.cu"), ("k", "line 3: oops", "k.cu"), None),
    (errors.VerificationFailure((0, 3), 1.5, 1.0, 1e-6), ("(0, 3)", "1.5", "1.0", "1e-06"), None),
    (errors.OutOfMemory(2**30, 2**20, "a plan"), ("a plan", "1024 MiB", "1 MiB"), MemoryError),
]  # fmt: skip


@pytest.mark.parametrize(("error", "said", "builtin"), EXAMPLES, ids=lambda e: type(e).__name__)
def test_messages_say_what_was_given_and_what_was_expected(error, said, builtin):
    for words in said:
        assert words in str(error)
    assert isinstance(error, errors.RooftileError)
    assert builtin is None or isinstance(error, builtin)
    assert "\n" not in str(error) or isinstance(error, errors.CompileFailure)


def test_the_family_is_closed():
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type)}
    family = {kind for kind in kinds if issubclass(kind, errors.RooftileError)}
    assert family == {type(error) for error, _, _ in EXAMPLES} | {errors.RooftileError}
