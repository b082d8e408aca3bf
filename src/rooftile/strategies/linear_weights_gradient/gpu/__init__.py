"""The ladder of `linear_weights_gradient` on GPUs: CUDA C texts that OpenCL compiles too."""
