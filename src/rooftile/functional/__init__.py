"""The public functions, one module a family: check arguments, build the problem, run a strategy.

Arrays have native byte order and are row-major, images NCHW; a function's text says which dtypes it
takes, float32 where it says nothing.  They are NumPy's, PyTorch's, CuPy's or JAX's, or any in a
GPU's memory with ``__cuda_array_interface__``; all of one call are of one library and in one place.
A view that is not contiguous or not aligned is copied first; other dtypes are refused.

`conv2d`, `linear`, `matmul`, `pool2d`, `softmax`, `Conv2d` and `Linear` also take float16 and
bfloat16: an x of 16 bits means that precision, sums are in float32, and the result has x's dtype.
Parameters may be float32 or of the same 16 bits.  On a GPU kernels read them, or convert them on
the stream; on the CPU they are converted to float32.  Images of PyTorch may have their channels
last.

`matmul`, `matvec`, `linear`, `conv1d`, `conv2d`, `conv3d` and `separable` take float64 too, on the
CPU: all arrays of the call are float64 then, and so is the result.

Results are new arrays of the kind that went in, or ``out`` where it is given.

Functions whose sums may be rounded in several ways take ``precision`` (see
`rooftile.ops.precision`).  Every function takes ``strategy`` (a rung's name; None picks the
fastest), ``device`` (``cpu``, ``cuda[:N]`` or ``opencl[:N]``, which arrays in the CPU's memory are
copied to and from; None follows the array: the CPU, or the CUDA GPU that holds it; a `torch.device`
of these is taken, too) and ``out`` (a
contiguous array of the result's shape and dtype and of x's kind that shares no memory with the
arguments, unless the function says that it may be x), and raises `InputError` naming the argument
that is wrong, `UnsupportedProblem` where the named strategy cannot do it or the device's kind has
none, `DeviceMissing`, `CompileFailure` on GPUs, and `OutOfMemory`.

Numbers are Python's or NumPy's, such as ``np.float32(2)``, ``np.int64(3)`` and ``np.array(4)``.

`Conv2d` and `Linear` hold their parameters, for many calls.

On arrays in a GPU's memory a call only starts the work, on the stream that is current in the
caller's library (JAX has none: there the call waits).
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
