"""The ladder of `optimiser_step` on GPUs: CUDA C texts that OpenCL compiles too."""
