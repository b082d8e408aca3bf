"""The ladder of `linear_cross_entropy` on GPUs: CUDA C texts that OpenCL compiles too."""
