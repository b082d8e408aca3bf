"""The ladder of `gather_batch` on GPUs: CUDA C texts that OpenCL compiles too."""
