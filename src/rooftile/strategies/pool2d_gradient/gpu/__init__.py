"""The ladder of `pool2d_gradient` on GPUs: CUDA C texts that OpenCL compiles too."""
