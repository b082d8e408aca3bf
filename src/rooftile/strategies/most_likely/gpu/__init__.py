"""The ladder of `most_likely` on GPUs: CUDA C texts that OpenCL compiles too."""
