// The type in which weights are transformed, before they are rounded once: `wide`, which is double
// except on OpenCL devices that have none.

#pragma once

#if defined(__OPENCL_VERSION__) && !defined(cl_khr_fp64)
typedef float wide;
#else
typedef double wide;
#endif
