"""The ladder of `conv2d_weights_gradient` on GPUs: CUDA C texts that OpenCL compiles too."""
