"""The ladder of `convert` on GPUs: CUDA C texts that OpenCL compiles too."""
