"""The ladder of `softmax_gradient` on GPUs: CUDA C texts that OpenCL compiles too."""
