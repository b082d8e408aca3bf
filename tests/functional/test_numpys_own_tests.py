"""NumPy's own tests of `histogram`, `unique`, `sort` and `argsort`, with rooftile's functions.

A test module of NumPy is executed in a namespace of its own, in which the functions are ours.
Dtypes that rooftile has not (strings, dates, complex numbers, objects) are NumPy's as before; an
array of any other goes to rooftile, which may not refuse it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import rooftile
from rooftile.ops.problem import DTYPES


@pytest.fixture(autouse=True)
def _marks_of_numpy(request):
    marks = "leaks_references parallel_threads slow slow_pypy thread_unsafe valgrind_error"
    for mark in marks.split():
        request.config.addinivalue_line("markers", f"{mark}: a mark of NumPy's tests")


def loaded(name: str) -> ModuleType:
    """A test module of NumPy's, executed anew; the test is skipped where NumPy has none."""
    found = None
    with contextlib.suppress(ModuleNotFoundError):
        found = importlib.util.find_spec(name)
    if found is None or found.loader is None:
        pytest.skip(f"this NumPy was installed without its tests: no {name}")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


class Ours:
    """Functions of rooftile with NumPy's signatures, and how often each was called."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}

    def takes(self, name: str, *arrays: Any) -> bool:
        """Whether all have dtypes that rooftile knows; noted, if so."""
        known = all(
            type(a) is np.ndarray and a.dtype.name in DTYPES and a.dtype.isnative for a in arrays
        )
        self.calls[name] = self.calls.get(name, 0) + known
        return known

    def histogram(
        self,
        a: Any,
        bins: Any = 10,
        range: Any = None,
        density: Any = None,
        weights: Any = None,
    ) -> Any:
        """`numpy.histogram`: the counts are rooftile's, and the edges NumPy's."""
        given = (a, bins, range, density, weights)
        x = np.asarray(a)
        if density or isinstance(bins, str) or not self._counts(x, bins, weights):
            return np.histogram(*given)
        edges = np.histogram_bin_edges(a, bins, range, weights)
        if x.dtype == np.uint8 and range is None and np.ndim(bins) == 0:
            # Without a range bytes have 0 to 256.
            range = x.min(initial=255), x.max(initial=0)
        held = None if weights is None else np.asarray(weights)
        return rooftile.histogram(x, bins, range, held), edges

    def _counts(self, x: Any, bins: Any, weights: Any) -> bool:
        held = None if weights is None else np.asarray(weights)
        own = held is None or held.dtype.name in ("float32", "float64")
        plain = np.ndim(bins) == 0 or np.asarray(bins).dtype.kind in "iuf"
        return own and plain and x.dtype.kind != "b" and self.takes("histogram", x)

    def unique(self, ar: Any, *options: Any, **named: Any) -> Any:
        """`numpy.unique`."""
        x = np.asanyarray(ar)
        own = {"return_index", "return_inverse", "return_counts", "axis"}
        nan = x.dtype.kind == "f" and np.isnan(x).any()
        if not own.issuperset(named) or len(options) > 4 or (nan and named.get("axis") is not None):
            return np.unique(ar, *options, **named)
        if not self.takes("unique", x):
            return np.unique(ar, *options, **named)
        try:
            return rooftile.unique(x, *options, **named)
        except rooftile.InputError as error:
            # What NumPy raises for an axis that there is not.
            kind = np.exceptions.AxisError if isinstance(named.get("axis"), int) else TypeError
            raise kind(str(error)) from None

    def sort(self, a: Any, axis: Any = -1, **named: Any) -> Any:
        """`numpy.sort`, of any kind: all give the same values."""
        return self._in_order("sort", a, axis, named)

    def argsort(self, a: Any, axis: Any = -1, **named: Any) -> Any:
        """`numpy.argsort`, stable."""
        return self._in_order("argsort", a, axis, named)

    def _in_order(self, name: str, a: Any, axis: Any, named: dict[str, Any]) -> Any:
        x = np.asanyarray(a)
        if not {"kind"}.issuperset(named) or not self.takes(name, x) or axis is None or not x.ndim:
            return getattr(np, name)(a, axis, **named)
        return getattr(rooftile, name)(x, axis)


class AsNumPy(ModuleType):
    """NumPy, with functions of ours."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        super().__init__("numpy")
        self.__dict__.update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def cases(kind: type, names: set[str]) -> Iterator[Callable[[], Any]]:
    """The tests of these names, each once for all combinations of its parameters."""
    for name, test in inspect.getmembers(kind, inspect.isfunction):
        marks = getattr(test, "pytestmark", [])
        if name in names and all(mark.name == "parametrize" for mark in marks):
            for values in combinations([mark.args for mark in marks]):
                yield lambda name=name, values=values: getattr(kind(), name)(**values)


def combinations(marks: list[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """Every combination of the parameters of pytest's marks."""
    if not marks:
        yield {}
        return
    (told, rows, *_), *others = marks
    names = [name.strip() for name in told.split(",")] if isinstance(told, str) else list(told)
    for row in rows:
        values = getattr(row, "values", None) or (row if len(names) > 1 else [row])
        for more in combinations(others):
            yield {**dict(zip(names, values, strict=True)), **more}


def passed(kind: type, prefixes: tuple[str, ...], leave: tuple[str, ...] = ()) -> int:
    """How many tests of a class there were; each must pass."""
    names = {name for name in dir(kind) if name.startswith(prefixes)} - {*leave}
    tests = list(cases(kind, names))
    for test in tests:
        test()
    return len(tests)


@pytest.mark.filterwarnings("ignore")
def test_histogram():
    module, ours = loaded("numpy.lib.tests.test_histograms"), Ours()
    module.histogram = ours.histogram
    # That test takes 20 GB.
    assert passed(module.TestHistogram, ("test",), ("test_big_arrays",)) > 20
    assert ours.calls["histogram"] > 20


@pytest.mark.filterwarnings("ignore")
def test_unique():
    module, ours = loaded("numpy.lib.tests.test_arraysetops"), Ours()
    module.unique, module.np = ours.unique, AsNumPy(unique=ours.unique)
    assert passed(module.TestUnique, ("test",)) > 10
    assert ours.calls["unique"] > 100


@pytest.mark.filterwarnings("ignore")
def test_sort_and_argsort():
    module, ours = loaded("numpy._core.tests.test_multiarray"), Ours()
    module.np = AsNumPy(sort=ours.sort, argsort=ours.argsort)
    assert passed(module.TestMethods, ("test_sort", "test_argsort")) > 8
    assert ours.calls["sort"] > 5
