"""`rooftile.sparse`, products and solvers as their user calls them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rooftile
from rooftile.analysis.spmv import fastest
from rooftile.analysis.spmv_machines import H200, PROCESSOR
from rooftile.devices.cuda.compile import compile_cubin
from rooftile.devices.cuda.cubin import resources
from rooftile.errors import DeviceMissing, InputError
from rooftile.functional.sparse_matrices import conjugate
from rooftile.ops.sparse.rows import ARRAYS, FORMS
from rooftile.ops.sparse.spmv import Spmv

GENERATOR = np.random.default_rng(0)
DENSE = GENERATOR.standard_normal((70, 50), np.float32) * (GENERATOR.random((70, 50)) < 0.1)
X = GENERATOR.standard_normal(50, np.float32)


SQUARE = rooftile.sparse(np.eye(50, dtype=np.float32))


def triplets(dense=DENSE):
    places = np.nonzero(dense)
    return dense[places], places


def test_whatever_it_is_made_from():
    values, (rows, columns) = triplets()
    order = GENERATOR.permutation(len(values))
    shuffled = values[order], (rows[order], columns[order])
    offsets = np.concatenate([[0], np.cumsum((DENSE != 0).sum(axis=1))])
    places = {(int(i), int(j)): float(DENSE[i, j]) for i, j in zip(rows, columns, strict=True)}
    for matrix in (
        rooftile.sparse(DENSE),
        rooftile.sparse(shuffled, shape=DENSE.shape),
        rooftile.sparse((values, columns, offsets), shape=DENSE.shape, index="int64"),
        rooftile.sparse(places, shape=DENSE.shape),
        rooftile.sparse(rooftile.sparse(DENSE), "jds_t"),
    ):
        assert np.array_equal(matrix.to_dense(), DENSE)
        assert matrix.nnz == len(values)
        assert np.allclose(matrix @ X, DENSE @ X, atol=1e-5)
    twice = np.concatenate([values, values]), [np.concatenate([i, i]) for i in (rows, columns)]
    assert np.array_equal(rooftile.sparse(twice, shape=DENSE.shape).to_dense(), 2 * DENSE)
    assert rooftile.sparse(DENSE).to_dok() == places


def test_between_any_two_formats():
    matrix = rooftile.sparse(DENSE)
    for first in FORMS:
        held = matrix.to(first)
        assert held.bytes == sum(array.nbytes for array in held.arrays.values())
        again = rooftile.Sparse(held.shape, first, held.arrays, held.nnz)
        for second in FORMS:
            assert np.array_equal(again.to(second).to_dense(), DENSE), (first, second)
        assert np.array_equal(again.T.to_dense(), DENSE.T), first
    packed = rooftile.to_packets(matrix, 16)
    assert np.array_equal(rooftile.from_packets(packed).to_dense(), DENSE)


def test_between_any_two_formats_on_a_device(device):
    """The arrays are those that the host makes, to the bit."""
    cases = ((DENSE, "int32"), (DENSE.astype(np.float64), "int64"), (np.float16(DENSE), "int32"))
    for dense, index in cases:
        matrix = rooftile.sparse(dense, index=index)
        held = {form: matrix.to(form) for form in FORMS}
        for first in FORMS:
            there = held[first].to("csr", device=device.name)
            for second in FORMS if dense is DENSE else (first,):
                made = there.to(second, device=device.name)
                assert (made.bytes, made.dtype) == (held[second].bytes, dense.dtype)
                for name, array in held[second].arrays.items():
                    assert np.array_equal(made.arrays[name], array), (first, second, name)
    assert np.array_equal(rooftile.sparse(dense, "jds", device=device.name).to_dense(), dense)
    blocks = matrix.to("bsr", block=3, device=device.name)
    again = blocks.to("bsr", block=5, device=device.name)
    assert np.array_equal(again.to("coo").to_dense(), dense)
    assert np.allclose(blocks @ X, np.float32(dense) @ X, atol=1e-2)
    narrow = matrix.to("hybrid", width=2, device=device.name).arrays
    assert np.array_equal(narrow["values"], matrix.to("hybrid", width=2).arrays["values"])
    long = np.zeros((3000, 3000), np.float32)
    long[0] = 1
    with pytest.raises(InputError, match="format"):
        rooftile.sparse(long).to("ell", device=device.name)


def test_updates_and_transposes():
    y = GENERATOR.standard_normal(70, np.float32)
    matrix = rooftile.sparse(DENSE)
    made = rooftile.spmv(matrix, X, alpha=2, y=y, beta=-0.5)
    assert np.allclose(made, 2 * DENSE @ X - 0.5 * y, atol=1e-5)
    assert np.allclose(rooftile.spmv(matrix, X, alpha=3), 3 * DENSE @ X, atol=1e-5)
    nothing = np.full(70, np.nan, np.float32)
    assert np.isfinite(rooftile.spmv(matrix, X, alpha=3, y=nothing)).all()
    for form in ("csr", "ell"):
        made = rooftile.spmv(matrix.to(form), y, transposed=True)
        assert np.allclose(made, DENSE.T @ y, atol=1e-5)
    out = np.empty(70, np.float32)
    assert rooftile.spmv(matrix, X, out=out) is out
    b = GENERATOR.standard_normal((50, 33), np.float32)
    assert np.allclose(matrix @ b, DENSE @ b, atol=1e-4)
    assert np.allclose(rooftile.spmm(matrix.to("coo"), b[:, :1]), DENSE @ b[:, :1], atol=1e-4)


def test_padding_is_never_multiplied():
    values = np.zeros((6, 6), np.float32)
    values[0, 3], values[4, :5] = 1, 2
    x = np.array([np.inf, 1, 1, 1, 1, np.nan], np.float32)
    for form in FORMS:
        made = rooftile.sparse(values).to(form) @ x
        assert made.tolist() == [1, 0, 0, 0, np.inf, 0], form


@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix", "ignore:Sparse .* tensor support")
def test_matrices_of_other_libraries():
    scipy = pytest.importorskip("scipy.sparse")
    for form in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok"):
        given = scipy.csr_matrix(DENSE).asformat(form)
        assert np.array_equal(rooftile.sparse(given).to_dense(), DENSE), form
    assert np.array_equal(rooftile.sparse(DENSE).to_scipy().toarray(), DENSE)
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(DENSE)
    blocks = tensor.to_sparse_bsr((7, 5))
    for one in (tensor, tensor.to_sparse(), tensor.to_sparse_csr(), tensor.to_sparse_csc(), blocks):
        assert np.array_equal(rooftile.sparse(one).to_dense(), DENSE), one.layout
        with pytest.raises(InputError, match="requires a gradient"):
            rooftile.sparse(one.detach().requires_grad_())
    with pytest.raises(InputError, match="bfloat16"):
        rooftile.sparse(tensor.bfloat16())
    matrix = rooftile.sparse(tensor)
    values = torch.from_numpy(matrix.arrays["values"])
    assert "csr" in rooftile.identify(matrix, values)
    with pytest.raises(InputError, match="requires a gradient"):
        rooftile.identify(matrix, values.requires_grad_())


def test_arrays_that_others_have_laid_out():
    """Entries of a row in another order are sorted, wherever a conversion leads."""
    coo = rooftile.sparse(DENSE, "coo")
    order = np.lexsort((-coo.arrays["column_index"], coo.arrays["row_index"]))
    turned = {name: array[order] for name, array in coo.arrays.items()}
    ell = rooftile.sparse(DENSE, "ell")
    padded = {name: array[::-1].copy() for name, array in ell.arrays.items()}
    along = {
        name: array[::-1].copy() for name, array in rooftile.sparse(DENSE, "dia").arrays.items()
    }
    blocks = dict(rooftile.sparse(DENSE, "bsr").arrays)
    starts = blocks["block_offsets"]
    order = np.concatenate([np.arange(b, a, -1) - 1 for a, b in itertools.pairwise(starts)])
    blocks |= {name: blocks[name][order] for name in ("values", "block_columns")}
    for form, arrays in (("coo", turned), ("ell", padded), ("dia", along), ("bsr", blocks)):
        for to in ("csr", "csc"):
            made = rooftile.Sparse(DENSE.shape, form, arrays, coo.nnz).to(to)
            for name, array in coo.to(to).arrays.items():
                assert np.array_equal(made.arrays[name], array), (form, to, name)


@pytest.mark.parametrize("form", FORMS)
def test_arrays_that_others_have_laid_out_are_looked_at(form):
    """An index, an offset or a place that the matrix does not have is never read by a kernel."""
    held = rooftile.sparse(DENSE, form)

    def made(**changed):
        return rooftile.Sparse(DENSE.shape, form, {**held.arrays, **changed}, held.nnz)

    assert np.array_equal(made().to_dense(), DENSE)
    for name, array in held.arrays.items():
        if name in ("values", "tail_values"):
            wrong = [array.astype(np.int32)]
        else:
            wrong = [array.astype(np.float32), array.astype(np.int16), array.tolist()]
            for at in (0, array.size // 2, array.size - 1):
                for value in (-1 - array.size, 10**6, -(2**31)):
                    other = array.copy()
                    other.reshape(-1)[at] = value
                    wrong.append(other)
        wrong += [array[:-1], array[..., None]]
        for other in wrong:
            with pytest.raises(InputError) as caught:
                made(**{name: other})
            assert caught.value.argument.startswith("arrays[")
        gaps = np.zeros((*array.shape, 2), array.dtype)
        gaps[..., 0] = array
        assert np.array_equal(made(**{name: gaps[..., 0]}).to_dense(), DENSE)
    for shape in ((69, 50), (70, 40), (-1, 50), [70, 50]):
        with pytest.raises(InputError):
            rooftile.Sparse(shape, form, held.arrays, held.nnz)
    for entries in (-1, 10**7, "many"):
        with pytest.raises(InputError):
            rooftile.Sparse(DENSE.shape, form, held.arrays, entries)
    with pytest.raises(InputError, match="arrays"):
        rooftile.Sparse(DENSE.shape, form, {"values": held.arrays["values"]}, held.nnz)
    for shape in ((0, 5), (5, 0), (3, 4)):
        nothing = rooftile.sparse(np.zeros(shape, np.float32), form)
        again = rooftile.Sparse(shape, form, nothing.arrays, 0)
        assert np.array_equal(again.to_dense(), nothing.to_dense())


@pytest.mark.parametrize("form", ["csr", "csc", "jds", "jds_t"])
def test_entries_of_a_row_may_come_in_any_order(form):
    """As SciPy's matrices may: they are sorted, and entries of one place are added."""
    held = rooftile.sparse(DENSE, form)
    rng = np.random.default_rng(3)
    arrays = {name: array.copy() for name, array in held.arrays.items()}
    starts = next(array for name, array in arrays.items() if name.endswith("_offsets"))
    if form == "jds_t":
        # The first two entries of the longest row, one in each section.
        order = np.arange(held.nnz)
        order[[0, starts[1]]] = order[[starts[1], 0]]
    else:
        spans = itertools.pairwise(starts)
        order = np.concatenate([rng.permutation(np.arange(*span)) for span in spans])
    names = [name for name in arrays if name in ("values", "column_index", "row_index")]
    for name in names:
        arrays[name] = arrays[name][order]
    made = rooftile.Sparse(DENSE.shape, form, arrays, held.nnz)
    assert made.nnz == held.nnz
    assert all(np.array_equal(made.arrays[name], held.arrays[name]) for name in ARRAYS[form])
    x = rng.standard_normal(DENSE.shape[1]).astype(np.float32)
    assert np.array_equal(made @ x, held @ x)


def test_entries_of_one_place_are_added():
    arrays = {
        "values": np.array([1, 2, 4], np.float32),
        "column_index": np.array([2, 0, 2], np.int32),
        "row_offsets": np.array([0, 3], np.int32),
    }
    made = rooftile.Sparse((1, 3), "csr", arrays, 3)
    assert made.nnz == 2
    assert made.to_dense().tolist() == [[2, 0, 5]]
    assert made.to("csc").arrays["row_index"].tolist() == [0, 0]
    # The caller's arrays are as they were.
    assert arrays["column_index"].tolist() == [2, 0, 2]


@pytest.mark.parametrize("form", ["coo", "hybrid"])
def test_lists_of_entries_may_come_in_any_order(form):
    held = rooftile.sparse(DENSE, form)
    turned = {
        name: array[::-1].copy() if array.ndim == 1 else array
        for name, array in held.arrays.items()
    }
    made = rooftile.Sparse(DENSE.shape, form, turned, held.nnz)
    assert all(np.array_equal(made.arrays[name], held.arrays[name]) for name in ARRAYS[form])


def test_values_beside_the_matrix_are_refused():
    diagonal = np.ones((1, 3), np.float32)
    with pytest.raises(InputError, match="outside the matrix"):
        rooftile.Sparse(
            (3, 3), "dia", {"values": diagonal, "diagonals": np.array([1], np.int32)}, 3
        )
    for at in ((0, 3, 0), (0, 0, 3)):
        block = np.zeros((1, 4, 4), np.float32)
        block[0, 0, 0] = block[at] = 1
        starts = np.array([0, 1], np.int32)
        arrays = {"values": block, "block_columns": starts[:1], "block_offsets": starts}
        with pytest.raises(InputError, match="outside the matrix"):
            rooftile.Sparse((3, 3), "bsr", arrays, 2)


def test_formats_without_padding_lead_back():
    full = np.arange(1, 12 * 8 + 1, dtype=np.float32).reshape(12, 8)
    for form in ("ell", "bsr"):
        assert np.array_equal(rooftile.sparse(full, form).to("csr").to_dense(), full), form


def test_a_matrix_behind_an_array():
    matrix, y = rooftile.sparse(DENSE), GENERATOR.standard_normal((3, 70), np.float32)
    assert np.allclose(y[0] @ matrix, y[0] @ DENSE, atol=1e-5)
    assert np.allclose(y @ matrix, y @ DENSE, atol=1e-5)


def test_matrices_without_entries():
    empty = rooftile.sparse({}, shape=(3, 4), dtype="float32")
    for form in FORMS:
        assert (empty.to(form) @ np.ones(4, np.float32) == 0).all(), form
    y = np.ones(3, np.float32)
    assert (rooftile.spmv(empty, np.ones(4, np.float32), y=y, beta=2) == 2).all()
    assert (rooftile.sparse({}, shape=(0, 4), dtype="float32") @ np.ones(4, np.float32)).size == 0
    flat = rooftile.sparse({}, shape=(3, 0), dtype="float32")
    assert (flat @ np.ones(0, np.float32) == 0).all()
    for form in FORMS:
        for shape in ((0, 4), (3, 0), (0, 0)):
            none = rooftile.sparse({}, form, shape=shape, dtype="float32")
            assert (none @ np.ones((shape[1], 2), np.float32)).shape == (shape[0], 2)
            assert none.T.to("csr").nnz == 0
    assert (rooftile.sparse(DENSE) @ np.ones((50, 0), np.float32)).shape == (70, 0)


@pytest.mark.parametrize("width", [0, 4])
def test_products_of_nothing_write_where_they_are_told(width):
    none = rooftile.sparse({}, shape=(3, width), dtype="float32")
    x, y = np.ones(width, np.float32), np.full(3, 2, np.float32)
    out, several = np.full(3, np.nan, np.float32), np.full((3, 2), np.nan, np.float32)
    assert rooftile.spmv(none, x, out=out) is out
    assert (out == 0).all()
    assert rooftile.spmv(none, x, y=y, beta=3, out=out) is out
    assert (out == 6).all()
    assert rooftile.spmm(none, np.ones((width, 2), np.float32), out=several) is several
    assert (several == 0).all()
    with pytest.raises(InputError, match="x: got 5 elements"):
        rooftile.spmv(none, np.ones(5, np.float32))
    with pytest.raises(InputError, match="out: got shape"):
        rooftile.spmv(none, x, out=np.empty(4, np.float32))


@pytest.mark.parametrize(
    ("matrix", "named"),
    [
        ((np.ones(2, np.float32), ([0, 5], [0, 1])), r"rows\[1\]"),
        ((np.ones(2, np.float32), ([0, 1], [0, -1])), r"columns\[1\]"),
        ((np.ones(2, np.float32), np.array([0, 1]), np.array([0, 2, 1])), r"offsets\[2\]"),
        ((np.ones(2, np.float32), np.array([0, 1]), np.array([1, 1, 2])), r"offsets\[0\]"),
        ((np.ones(3, np.float32), np.zeros(3, int), np.array([0, 3, 1, 3])), r"offsets"),
        ((np.ones(2, np.float32), np.array([0, 9]), np.array([0, 1, 2])), r"columns\[1\]"),
        ((np.ones(2, np.int64), ([0, 1], [0, 1])), "values"),
        ("a word", "matrix"),
        ({0: 1.0}, "matrix"),
        (np.eye(2, dtype=complex), "values"),
        (np.eye(3, dtype=np.float32), "shape"),
    ],
)
def test_invalid_matrices_are_errors_that_name_the_entry(matrix, named):
    with pytest.raises(InputError, match=named):
        rooftile.sparse(matrix, shape=(2, 2))


def test_other_errors():
    matrix = rooftile.sparse(DENSE)
    for call, named in (
        (lambda: matrix.to("sky"), "format"),
        (lambda: rooftile.spmv(DENSE, X), "A"),
        (lambda: matrix @ X[:3], "x"),
        (lambda: rooftile.spmv(matrix, X, beta=1), "y"),
        (lambda: rooftile.sparse(triplets()), "shape"),
        (lambda: rooftile.cg(matrix, X), "A"),
        (lambda: matrix.to("bsr", block=2.5), "block"),
        (lambda: matrix.to("bsr", block="4"), "block: got '4'"),
        (lambda: matrix.to("hybrid", width=True), "width"),
        (lambda: matrix @ np.ones((50, 2, 2), np.float32), "b"),
        (lambda: rooftile.to_packets(DENSE), "matrix"),
        (lambda: matrix @ X.astype(np.float64), "x"),
        (lambda: matrix @ DENSE, "b"),
        (lambda: rooftile.cg(SQUARE, X, preconditioner="ilu"), "preconditioner"),
        (lambda: rooftile.cg(SQUARE, X, limit=-1), "limit"),
        (lambda: rooftile.cg(SQUARE, X, limit=True), "limit"),
        (lambda: rooftile.cg(SQUARE, X, "tight"), "tolerance"),
        (lambda: rooftile.cg(SQUARE, X, True), "tolerance"),
        (lambda: rooftile.cg(SQUARE, X, np.nan), "tolerance"),
        (lambda: matrix.estimates(0), "gbps"),
        (lambda: matrix.estimates(True), "gbps"),
        (lambda: matrix.explain("fast"), "gbps"),
        (lambda: rooftile.identify(DENSE, X), "matrix"),
        (lambda: rooftile.to_packets(matrix, 2.5), "size"),
        (lambda: rooftile.to_packets(matrix, 0), "size"),
    ):
        with pytest.raises(InputError, match=named):
            call()


def test_a_format_of_padding_alone_is_refused():
    long = np.zeros((3000, 3000), np.float32)
    long[0] = 1
    with pytest.raises(InputError, match="format"):
        rooftile.sparse(long).to("ell")


def nearly_all_padding(place):
    few = rooftile.sparse(np.eye(300, dtype=np.float32))
    for form, sizes in (("hybrid", {"width": 10**9}), ("bsr", {"block": 1100})):
        with pytest.raises(InputError, match="format"):
            few.to(form, device=place, **sizes)
    assert np.array_equal(few.to("bsr", block=300, device=place).to_dense(), np.eye(300))


def test_sizes_that_leave_nearly_all_padding_are_refused():
    nearly_all_padding("cpu")


def test_sizes_that_leave_nearly_all_padding_are_refused_on_opencl(opencl_device):
    nearly_all_padding("opencl")


def test_the_chooser():
    size = 2000
    band = sum(np.diag(np.ones(size - abs(k), np.float32), k) for k in (-1, 0, 1))
    matrix = rooftile.sparse(band, "auto")
    assert matrix.format == "dia"
    for device in ("cpu", "cuda"):
        told = rooftile.sparse(DENSE).explain(100, device)
        assert "rule of thumb" in told
        assert all(f"{form}:" in told for form in FORMS)
    # Rows of very different lengths: threads with a row each wait for the longest.
    problem = Spmv(2**14, 2**14, 2**18, width=2**13)
    long = rooftile.sparse(problem.random(0)[:3], shape=(2**14, 2**14)).structure
    assert fastest(long, H200) not in ("ell", "jds", "jds_t", "dia")
    assert fastest(long, PROCESSOR) == "csr"


def test_formats_are_known_by_their_values():
    matrix = rooftile.sparse(DENSE)
    for form in FORMS:
        assert form in rooftile.identify(matrix, matrix.to(form).arrays["values"])
    assert rooftile.identify(matrix, matrix.rows.values[::-1]) == ["coo"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_conjugate_gradients(dtype):
    size = 300
    matrix = np.diag(np.arange(1, size + 1.0)) - 0.25 * (np.eye(size, k=1) + np.eye(size, k=-1))
    held = rooftile.sparse(matrix.astype(dtype))
    b = GENERATOR.standard_normal(size).astype(dtype)
    plain = rooftile.cg(held, b, preconditioner=None)
    found = rooftile.cg(held, b)
    assert found.converged
    assert found.residual < 2e-6
    assert found.iterations < plain.iterations
    assert np.allclose(found.x, np.linalg.solve(matrix, b), rtol=1e-4, atol=1e-5)
    assert not rooftile.cg(held, b, limit=2).converged
    assert rooftile.cg(held, b, start=found.x, tolerance=1e-4).iterations == 0
    with pytest.raises(InputError, match="positive definite"):
        rooftile.cg(rooftile.sparse(-matrix.astype(dtype)), b, preconditioner=None)
    for wrong in (np.nan, np.inf):
        assert not rooftile.cg(held, np.where(np.arange(size) == 7, wrong, b)).converged


def test_conjugate_gradients_on_a_device(device):
    """More steps than one graph holds, and an uneven number of them."""
    size = 500
    matrix = 2.0 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)
    held = rooftile.sparse(matrix + 0.002 * np.diag(np.arange(size)), "dia")
    b = GENERATOR.standard_normal(size)
    here = rooftile.cg(held, b)
    for form, preconditioner in (("dia", None), ("dia", "jacobi"), ("csr", "jacobi")):
        given = held.to(form)
        there = rooftile.cg(given, b, preconditioner=preconditioner, device=device.name)
        assert there.converged
        assert there.residual < 2e-6
        assert np.allclose(there.x, here.x, rtol=1e-3, atol=1e-4)
    short = rooftile.cg(held, b, device=device.name, limit=37)
    assert (short.iterations, short.converged) == (37, False)
    again = rooftile.cg(held, b, start=here.x, tolerance=1e-4, device=device.name)
    assert again.iterations == 0
    turned = rooftile.sparse(-matrix, "dia")
    with pytest.raises(InputError, match="positive definite"):
        rooftile.cg(turned, b, preconditioner=None, device=device.name)


def test_conjugate_gradients_of_rows_of_different_lengths_on_a_device(device):
    size = 400
    matrix = np.diag(np.full(size, 3.0))
    matrix[0, 1:] = matrix[1:, 0] = 0.1
    held = rooftile.sparse(matrix)
    assert held.problem(resident=True).tiled
    b = GENERATOR.standard_normal(size)
    found = rooftile.cg(held, b, device=device.name)
    assert found.converged
    assert np.allclose(found.x, np.linalg.solve(matrix, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("diagonals", [0, 7])
def test_steps_of_conjugate_gradients_compile_for_gpus(diagonals):
    held = conjugate.resident(diagonals)
    macros = {"VALUE": "double", "WEIGHED": 1, "THREADS": 256, "BLOCKS": 528}
    macros |= {"DIAGONALS": diagonals, "INDEX": "int", "RESIDENT": held}
    try:
        code = compile_cubin(conjugate.TEXT.read_text(encoding="utf-8"), macros, "sm_90")
    except DeviceMissing as error:
        pytest.skip(str(error))
    taken = resources(code)
    steps = {"begin", "turn", "curve", "lower", "tell", "settle"}
    assert set(taken) == steps | ({"turn_and_multiply"} if diagonals else set())
    # So many blocks of 256 threads on a multiprocessor.
    assert all(one.registers * 256 * held <= 65536 for one in taken.values())
    assert not any(one.frame_bytes for one in taken.values())


def test_matrix_market_files(tmp_path):
    path = tmp_path / "small.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 2\n3 1 -1.5\n")
    pytest.importorskip("scipy")
    expected = [[2, 0, -1.5], [0, 0, 0], [-1.5, 0, 0]]
    for given in (path, str(path)):
        assert rooftile.sparse(given, "ell", dtype="float32").to_dense().tolist() == expected
    complex_one = "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2"
    for text in (None, "nonsense", complex_one):
        wrong = tmp_path / "wrong.mtx"
        if text is not None:
            wrong.write_text(text)
        with pytest.raises(InputError, match="matrix"):
            rooftile.sparse(wrong)
