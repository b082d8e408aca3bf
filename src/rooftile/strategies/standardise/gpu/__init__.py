"""The ladder of `standardise` on GPUs: CUDA C texts that OpenCL compiles too."""
