/* A start of a graph, from the look at the thread and its stream to the driver's answer.
 *
 * `replay` is a method with METH_FASTCALL: it is given a list of addresses and the stream's.  It
 * gives True where it has launched the graph that was made for these addresses.  Where there is
 * none, or the thread is on another GPU, or the stream is being captured, or another thread is
 * launching one of these graphs, or the driver refuses, it gives None.
 *
 * It uses CPython's limited API.  `make texts` compiles it to `replay.ll`, which `replay.py` has
 * LLVM compile for the processor.
 */

#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* CUDA's types, as its driver has them; a result of 0 is success. */
typedef struct context *CUcontext;
typedef struct stream *CUstream;
typedef struct graph *CUgraphExec;
typedef int CUresult;

/* The graphs that a method knows; `replay.py` has the same fields, with the same names. */
struct table {
    CUresult (*current_context)(CUcontext *found);               /* cuCtxGetCurrent */
    CUresult (*is_capturing)(CUstream stream, int *found);       /* cuStreamIsCapturing */
    CUresult (*launch)(CUgraphExec graph, CUstream stream);      /* cuGraphLaunch */
    CUcontext context;
    CUstream never_captured;
    int64_t addresses;     /* of each graph */
    int64_t graphs;
    const uint64_t *rows;  /* for each graph its addresses, then its own */
    uint64_t *given;       /* room for the addresses of a call */
    int64_t launching;     /* 1 while a thread launches; a thread that looks at it has the GIL */
};

static PyObject *new_reference(PyObject *object) {
    Py_IncRef(object);
    return object;
}

/* Writes the list's numbers into the room; whether all of them are Python's integers. */
static bool read_addresses(const struct table *table, PyObject *list) {
    for (int64_t k = 0; k < table->addresses; k++) {
        PyObject *number = PyList_GetItem(list, k);
        if (!PyLong_CheckExact(number)) return false;
        table->given[k] = PyLong_AsUnsignedLongLong(number);
    }
    return true;
}

/* The graph of the addresses in the room; null where there is none. */
static CUgraphExec find(const struct table *table) {
    const uint64_t *row = table->rows;
    for (int64_t graph = 0; graph < table->graphs; graph++, row += table->addresses + 1) {
        int64_t same = 0;
        while (same < table->addresses && row[same] == table->given[same]) same++;
        if (same == table->addresses) return (CUgraphExec)row[same];
    }
    return NULL;
}

/* True if the thread's context is the GPU's, and the stream is not being captured. */
static bool may_launch(const struct table *table, CUstream stream) {
    CUcontext current = NULL;
    int capturing = 0;
    table->current_context(&current);
    if (current != table->context) return false;
    if (stream == table->never_captured) return true;
    return table->is_capturing(stream, &capturing) == 0 && capturing == 0;
}

PyObject *replay(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    struct table *table = PyLong_AsVoidPtr(PyTuple_GetItem(self, 0));
    if (count != 2 || !PyList_CheckExact(arguments[0]) || !PyLong_CheckExact(arguments[1]))
        return new_reference(Py_None);
    PyObject *list = arguments[0];
    if (PyList_Size(list) != table->addresses || table->launching || !read_addresses(table, list))
        return new_reference(Py_None);
    CUgraphExec graph = find(table);
    CUstream stream = PyLong_AsVoidPtr(arguments[1]);
    if (PyErr_Occurred()) {
        /* A number that is negative, or too large for an address. */
        PyErr_Clear();
        return new_reference(Py_None);
    }
    if (graph == NULL || !may_launch(table, stream)) return new_reference(Py_None);
    table->launching = 1;
    /* The driver waits where a stream holds too much: other threads run meanwhile. */
    PyThreadState *thread = PyEval_SaveThread();
    CUresult error = table->launch(graph, stream);
    PyEval_RestoreThread(thread);
    table->launching = 0;
    return new_reference(error == 0 ? Py_True : Py_None);
}
