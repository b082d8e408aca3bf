"""The ladder of `softmax` on GPUs: CUDA C texts that OpenCL compiles too."""
