"""The ladder of `dropout` on GPUs: CUDA C texts that OpenCL compiles too."""
