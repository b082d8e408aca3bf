"""The ladder of `conv2d` on GPUs: CUDA C texts that OpenCL compiles too."""
