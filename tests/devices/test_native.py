"""The kernel language: it means what Python means, and says so where it has no words."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooftile.devices import cpu
from rooftile.devices.cpu.native import build, native, source, vector
from rooftile.devices.cpu.native.instructions import KernelError

NUMBERS = st.integers(-(2**40), 2**40)


def run(kernel, *arrays, sizes=(0,), units=1):
    """All units on one thread; the arrays are contiguous."""
    sizes = np.array(sizes, np.int64)
    cpu.Spread(kernel, [str(array.dtype) for array in arrays])(arrays, sizes, units, 1)


def written(body, **using):
    """A kernel of the lines of a text."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    return source("test", f"def kernel(x, out, sizes, begin, end):\n{lines}\n", using)


def result(kernel, x, count=1, dtype=np.int64, sizes=(0,)):
    out = np.full(count, 77, dtype)
    run(kernel, np.asarray(x), out, sizes=sizes)
    return out.tolist()


OPERATORS = written(
    """
a, b = x[0], x[1]
out[0], out[1], out[2], out[3] = a + b, a - b, a // b, a % b
out[4], out[5], out[6], out[7] = min(a, b), max(a, b, 3), abs(a), -a
out[8], out[9] = a // 8, a % 8
out[10] = (a & b) ^ (a | 5)
out[11] = a // 7 + a % -7
out[12] = 1 if a < b and (b > 0 or not a) else 2
out[13] = 0 <= a < b
"""
)


@given(NUMBERS, NUMBERS.filter(bool))
def test_integers_are_pythons(a, b):
    expected = [
        a + b, a - b, a // b, a % b, min(a, b), max(a, b, 3), abs(a), -a, a // 8, a % 8,
        (a & b) ^ (a | 5), a // 7 + a % -7, 1 if a < b and (b > 0 or not a) else 2, int(0 <= a < b),
    ]  # fmt: skip
    assert result(OPERATORS, [a, b], len(expected)) == expected


LOOPS = written(
    """
total = 0
for i in range(sizes[0]):
    if i == 3:
        continue
    for j in range(i, 20, 3):
        total += i * j
        if total > 200:
            break
for i in range(5, -5, -2):
    total += i
n = sizes[0]
while n > 1:
    n = n // 2 if n % 2 == 0 else 3 * n + 1
    total += 1
    if total > 1000:
        break
out[0] = total
"""
)


@given(st.integers(0, 30))
def test_loops_are_pythons(size):
    out = [0]
    LOOPS.tree  # noqa: B018
    scope = {"x": [0], "out": out, "sizes": [size], "begin": 0, "end": 1}
    exec(compile_as_python(LOOPS), scope)
    scope["kernel"]([0], out, [size], 0, 1)
    assert result(LOOPS, [0], sizes=(size,)) == out


def compile_as_python(kernel):
    import ast

    module = ast.Module([kernel.tree], [])
    return compile(ast.fix_missing_locations(module), "kernel", "exec")


@native
def early(z, code):
    if code == 1:
        return z + np.float32(1.0)
    if code > 1:
        return np.float32(math.exp(-abs(z)))
    return z


@native
def floats(x, out, sizes, begin, end):
    for unit in range(begin, end):
        out[unit] = early(x[unit], sizes[0])


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_function_of_a_module_returns_early(code):
    x = np.linspace(-3, 3, 9, dtype=np.float32)
    out = np.zeros_like(x)
    run(floats, x, out, sizes=(code,), units=9)
    expected = (x, x + 1, np.exp(-abs(x)))[code]
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_a_float32_stays_one_and_becomes_a_double_beside_an_integer():
    kernel = written("out[0] = x[0] * float32(3.0)\nout[1] = x[0] / 3\nout[2] = x[0] == x[0]")
    x, out = np.array([0.1], np.float32), np.zeros(3)
    run(kernel, x, out)
    assert out.tolist() == [np.float32(0.1) * np.float32(3), float(np.float32(0.1)) / 3, 1.0]


def test_uint32_wraps():
    kernel = written(
        "total = uint32(0)\nfor j in range(3):\n    total += uint32(x[j])\nout[0] = total"
    )
    assert result(kernel, [2**32 - 1, 5, 7]) == [11]


def test_parts_of_arrays_and_own_arrays():
    kernel = written(
        """
own = np.empty(4, np.float64)
part = x[2:5]
for i in range(part.size):
    own[i] = part[i]
out[0] = own[0] * 100 + own[1] * 10 + own[2]
a, b = x[3:]
out[1] = a - b
"""
    )
    assert result(kernel, np.arange(6), 2) == [234, -1]


INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("dtype", ["float32", "float64", *INTEGERS])
def test_elements_of_every_dtype(dtype):
    kernel = written("for i in range(3):\n    out[i] = x[i]")
    x, out = np.array([1, 200, 3]).astype(dtype), np.zeros(3, dtype)
    run(kernel, x, out)
    assert out.tolist() == x.tolist()


def test_an_index_is_not_looked_at_where_the_condition_forbids():
    kernel = written("for i in range(4):\n    out[i] = x[i] if i < 2 else 9")
    assert result(kernel, [5, 6], 4) == [5, 6, 9, 9]


def test_a_name_may_be_a_number_and_then_a_vector():
    kernel = written("t = 2\nt = load_part(x, t, 1)\nout[0] = total(t)")
    x, out = np.arange(4, dtype=np.float32), np.zeros(1, np.float32)
    run(kernel, x, out)
    assert out.tolist() == [2]


def test_a_negative_count_has_no_lanes():
    part = "load_part(x, 0, i - 3)"
    kernel = written(
        f"for i in range(1):\n    store_part(out, 1, {part}, i - 3)\n    out[0] = total({part})"
    )
    out = np.full(1 + vector.lanes(), 5, np.float32)
    run(kernel, np.ones(vector.lanes(), np.float32), out)
    assert out.tolist() == [0] + [5] * vector.lanes()


def test_a_literal_count_of_lanes_is_stored_and_no_more():
    lanes = vector.lanes()
    room = lanes + 2
    lines = [f"store_part(out, {room * n + 1}, load(x, 0), {n})" for n in range(lanes + 1)]
    out = np.full((lanes + 1, room), -1, np.float32)
    run(written("\n".join(lines)), np.arange(lanes, dtype=np.float32), out.reshape(-1))
    for n, row in enumerate(out.tolist()):
        assert row == [-1, *range(n), *[-1] * (room - 1 - n)]


@pytest.mark.parametrize("passes", ["all", "simplify"])
def test_loops_over_vectors_stay_where_a_text_spells_them_out(passes):
    lanes = vector.lanes()
    text = f"""def kernel(x, out, sizes, begin, end):
    for j in range(0, sizes[0], {lanes}):
        store(out, j, load(x, j))
    for j in range(sizes[0], sizes[1], {lanes}):
        store(out, j, splat(float32(0.0)))
"""
    kernel = source("test", text, passes=passes)
    machine = build.assembly(kernel.text(("float32", "float32"), False), passes)
    assert ("memcpy" in machine, "memset" in machine) == (passes == "all",) * 2
    out = np.full(4 * lanes, 7, np.float32)
    run(kernel, np.ones(4 * lanes, np.float32), out, sizes=(2 * lanes, 3 * lanes))
    np.testing.assert_array_equal(out, np.repeat([1, 1, 0, 7], lanes))


@pytest.mark.parametrize(("first", "last"), [(0, 3), (2, 5), (-4, 2), (5, 5), (6, 2), (3, 99)])
def test_lanes_between_two_are_stored(first, last):
    lanes = vector.lanes()
    kernel = written(
        f"first, last = {first} + 0 * sizes[0], {last}\n"
        "store_between(out, 1, load(x, 0), first, last)"
    )
    out, x = np.full(2 + lanes, -1, np.float32), np.arange(lanes, dtype=np.float32)
    run(kernel, x, out)
    stored = [k if first <= k < last else -1 for k in range(lanes)]
    assert out.tolist() == [-1, *stored, -1]


@given(st.lists(st.floats(width=32), min_size=2, max_size=2))
def test_vectors_keep_nan(values):
    width = vector.lanes()
    kernel = written("store(out, 0, maximum(splat_at(x, 0), splat_at(x, 1)))")
    out = np.zeros(width, np.float32)
    run(kernel, np.array(values, np.float32), out)
    np.testing.assert_array_equal(out, np.full(width, np.maximum(*np.array(values, np.float32))))


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("out[0] = [1, 2]", "List"),
        ("import os", "Import"),
        ("out[0] = print(1)", "cannot call"),
        ("out[0] = sizes", "int64"),
        ("t = 1\nt = 2.5", "float64 is assigned"),
        ("for i in x:\n    pass", "range"),
        ("t = 'word'", "word"),
        ("out.first = 1", "assignment"),
        ("out[0] = math", "no number"),
    ],
)
def test_what_the_language_has_no_words_for_is_an_error(body, word):
    with pytest.raises(KernelError, match=word):
        written(body).text(["int64", "int64"], scratch=False)


def test_native_functions_are_not_called_from_python():
    for function in (early, vector.VECTORS["load"]):
        with pytest.raises(TypeError, match="kernels only"):
            function(1, 2)


def helper(number):
    text = f"def kernel(x, out, sizes, begin, end):\n    out[0] = {number}\n"
    return source("helper", text)


def test_the_digest_follows_what_is_called():
    calls = "def kernel(x, out, sizes, begin, end):\n    f(x, out, sizes, begin, end)\n"
    kernels = [source("caller", calls, {"f": helper(n)}) for n in (1, 2, 1)]
    assert kernels[0].digest == kernels[2].digest != kernels[1].digest
    assert [result(kernel, [0]) for kernel in kernels] == [[1], [2], [1]]


def test_the_digest_does_not_say_where_a_module_lies(monkeypatch):
    def kernel(x, out, sizes, begin, end):
        out[0] = np.int64(1)

    before = native(kernel).digest
    monkeypatch.setattr(np.__spec__, "origin", "/elsewhere/numpy/__init__.py")
    assert "elsewhere" in repr(np)
    assert native(kernel).digest == before


def test_code_in_the_cache_is_not_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "kernel_directory", lambda: tmp_path)
    assert result(helper(31), [0]) == [31]
    (path,) = tmp_path.glob("helper-*.o")
    monkeypatch.setattr(build, "compiled", lambda *_: pytest.fail("compiled again"))
    assert result(helper(31), [0]) == [31]
    monkeypatch.undo()
    monkeypatch.setattr(build, "kernel_directory", lambda: tmp_path)
    path.write_bytes(path.read_bytes()[:100])
    assert result(helper(31), [0]) == [31]


def test_eight_threads_at_first_use():
    kernels = [helper(1000 + n % 3) for n in range(8)]
    found = [None] * 8

    def use(n):
        found[n] = result(kernels[n], [0])

    threads = [threading.Thread(target=use, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[1000 + n % 3] for n in range(8)]


NO_NUMBA = """
import sys
import numpy as np
import rooftile
x, w = np.ones((1, 1, 8, 8), np.float32), np.ones((2, 1, 3, 3), np.float32)
print(rooftile.conv2d(x, w, activation="relu", pool=("max", 2)).sum(), "numba" in sys.modules)
"""


def test_a_call_needs_no_numba():
    run = subprocess.run(
        [sys.executable, "-c", NO_NUMBA], capture_output=True, text=True, check=True, env=os.environ
    )
    assert run.stdout.split() == ["162.0", "False"]


def test_the_first_compilation_on_a_machine_is_announced_once(tmp_path, caplog, monkeypatch):
    monkeypatch.delenv("ROOFTILE_QUIET", raising=False)
    threads = [threading.Thread(target=build.announce, args=(tmp_path,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [record.name for record in caplog.records] == ["rooftile"]
    assert str(tmp_path) in caplog.text


@pytest.mark.parametrize("why", ["quiet", "compiled before"])
def test_an_announcement_that_nobody_needs_is_left_out(tmp_path, caplog, monkeypatch, why):
    monkeypatch.setenv("ROOFTILE_QUIET", "1" if why == "quiet" else "")
    if why == "compiled before":
        (tmp_path / "kernel.o").touch()
    build.announce(tmp_path)
    assert not caplog.records
