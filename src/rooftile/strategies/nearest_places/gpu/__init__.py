"""The ladder of `nearest_places` on GPUs: CUDA C texts that OpenCL compiles too."""
