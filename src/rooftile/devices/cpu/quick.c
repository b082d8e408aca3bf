/* A call of Python's on arrays of NumPy, from the look at them to the result.
 *
 * `quick` is a method with METH_FASTCALL: it is given a tuple of arrays and the array for the
 * result, or None.  Where an array is not plain (NumPy's own type, the expected dtype, row-major,
 * aligned; that for the result writable and apart from the others), or the team is missing, or
 * another thread is in this call, it gives None.
 *
 * It uses CPython's limited API and NumPy's C API.  `make texts` compiles it to `quick.ll`, which
 * `quick.py` has LLVM compile for the processor.
 */

#define Py_LIMITED_API 0x030B0000
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stdbool.h>
#include <unistd.h>

#include "team.h"

enum { MOST_ARRAYS = 8, MOST_AXES = 32 };

/* The functions that a method calls; `quick.py` has the same fields, with the same names. */
struct call {
    void **numpy;            /* NumPy's C API */
    const void *dtype;       /* that of all arrays */
    int64_t dtype_number;    /* NumPy's number of it */
    int64_t given;           /* arrays that are given; the result comes behind them */
    int64_t axes;            /* of the result */
    npy_intp shape[MOST_AXES];
    int64_t bytes[MOST_ARRAYS];  /* of each array */
    int64_t places[MOST_ARRAYS]; /* words of the table for the arrays' addresses */
    int64_t *table;          /* what `alone` and `spread` run */
    int64_t rows, width;
    void (*alone)(const int64_t *table, int64_t rows, int64_t width);
    void (*spread)(struct team *, const int64_t *table, int64_t rows, int64_t width, int64_t most);
    int64_t shares;          /* of a kernel */
    struct team **team;      /* null: the kernel is the caller's alone; a forked child that has
                                made no team finds null there */
    int64_t frees_gil;       /* whether other threads of Python's run meanwhile */
    int64_t computing;       /* the process that computes without the GIL, else 0; a thread that
                                looks at it has the GIL */
};

static PyObject *new_reference(PyObject *object) {
    Py_IncRef(object);
    return object;
}

static bool is_plain(const struct call *call, PyObject *object, int flags) {
    void **PyArray_API = call->numpy; /* where NumPy's macros look */
    if (!PyArray_CheckExact(object)) return false;
    const PyArrayObject *array = (const PyArrayObject *)object;
    return PyArray_DESCR(array) == call->dtype && (PyArray_FLAGS(array) & flags) == flags;
}

static char *memory_of(PyObject *array) { return PyArray_BYTES((PyArrayObject *)array); }

/* True if the caller's array has the result's shape, may be written, and overlaps no other. */
static bool fits(const struct call *call, PyObject *out, PyObject *arrays) {
    if (!is_plain(call, out, NPY_ARRAY_CARRAY)) return false;
    const PyArrayObject *array = (const PyArrayObject *)out;
    if (PyArray_NDIM(array) != call->axes) return false;
    for (int axis = 0; axis < call->axes; axis++)
        if (PyArray_DIM(array, axis) != call->shape[axis]) return false;
    const char *begin = memory_of(out), *end = begin + call->bytes[call->given];
    for (int64_t k = 0; k < call->given; k++) {
        const char *other = memory_of(PyTuple_GetItem(arrays, k));
        if (begin < other + call->bytes[k] && other < end) return false;
    }
    return true;
}

static PyObject *new_array(const struct call *call) {
    void **PyArray_API = call->numpy;
    return PyArray_New(&PyArray_Type, (int)call->axes, call->shape, (int)call->dtype_number, NULL,
                       NULL, 0, 0, NULL);
}

/* True if a thread of this process computes: in a forked child its parent's threads do not. */
static bool another_computes(const struct call *call) {
    return call->computing != 0 && call->computing == getpid();
}

static void compute(const struct call *call, struct team *team) {
    if (team == NULL) call->alone(call->table, call->rows, call->width);
    else call->spread(team, call->table, call->rows, call->width, call->shares);
}

PyObject *quick(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    struct call *call = PyLong_AsVoidPtr(PyTuple_GetItem(self, 0));
    if (count != 2 || !PyTuple_Check(arguments[0])) return new_reference(Py_None);
    PyObject *arrays = arguments[0], *out = arguments[1];
    if (PyTuple_Size(arrays) != call->given || another_computes(call))
        return new_reference(Py_None);
    struct team *team = call->team ? *call->team : NULL;
    if (call->team && !team) return new_reference(Py_None);
    for (int64_t k = 0; k < call->given; k++)
        if (!is_plain(call, PyTuple_GetItem(arrays, k), NPY_ARRAY_CARRAY_RO))
            return new_reference(Py_None);
    if (out == Py_None) {
        out = new_array(call);
        if (out == NULL) return NULL;
    } else {
        if (!fits(call, out, arrays)) return new_reference(Py_None);
        Py_IncRef(out);
    }
    for (int64_t k = 0; k < call->given; k++)
        call->table[call->places[k]] = (int64_t)memory_of(PyTuple_GetItem(arrays, k));
    call->table[call->places[call->given]] = (int64_t)memory_of(out);
    if (!call->frees_gil) {
        compute(call, team);
        return out;
    }
    call->computing = getpid();
    PyThreadState *thread = PyEval_SaveThread();
    compute(call, team);
    PyEval_RestoreThread(thread);
    call->computing = 0;
    return out;
}
