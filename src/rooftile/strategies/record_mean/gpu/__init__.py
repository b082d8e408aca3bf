"""The ladder of `record_mean` on GPUs: CUDA C texts that OpenCL compiles too."""
