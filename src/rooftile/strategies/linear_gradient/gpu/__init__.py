"""The ladder of `linear_gradient` on GPUs: CUDA C texts that OpenCL compiles too."""
