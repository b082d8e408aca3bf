"""The ladder of `linear` on GPUs: CUDA C texts that OpenCL compiles too."""
