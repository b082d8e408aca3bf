"""The ladder of `matvec` on GPUs: CUDA C texts that OpenCL compiles too."""
