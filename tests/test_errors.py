"""The family of errors: what each message says, and what each can be caught as."""

import copy
import multiprocessing
import pickle
import sys
import threading
from concurrent.futures import ProcessPoolExecutor

import pytest

import rooftile
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


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda error: pickle.loads(pickle.dumps(error)),
    "oldest pickle": lambda error: pickle.loads(pickle.dumps(error, 0)),
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("error", [row[0] for row in EXAMPLES], ids=lambda e: type(e).__name__)
def test_an_error_is_copied_and_pickled_whole(error, copied):
    error.add_note("in the second layer")
    made = copied(error)
    del error.__notes__
    assert type(made) is type(error)
    assert made.__notes__ == ["in the second layer"]
    del made.__notes__
    assert (str(made), made.args, vars(made)) == (str(error), error.args, vars(error))


@pytest.mark.parametrize(
    "value", [sys, threading.Lock(), lambda x: x], ids=lambda one: type(one).__name__
)
def test_what_cannot_be_pickled_goes_as_its_text(value):
    made = pickle.loads(pickle.dumps(errors.InputError("x", value, "an array")))
    assert (made.value, made.expected) == (repr(value), "an array")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_an_error_comes_back_from_a_pool_of_processes(method):
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        with pytest.raises(errors.InputError, match="nothing") as raised:
            pool.apply_async(rooftile.load, ("nothing",)).get(timeout=60)
        assert raised.value.argument == "model"
    with ProcessPoolExecutor(1, context) as pool:
        with pytest.raises(errors.InputError, match="nothing"):
            pool.submit(rooftile.load, "nothing").result(timeout=60)
        # The pool is not broken by it.
        assert pool.submit(abs, -3).result(timeout=60) == 3
