"""The ladder of `pool2d` on GPUs: CUDA C texts that OpenCL compiles too."""
