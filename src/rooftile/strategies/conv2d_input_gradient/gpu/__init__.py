"""The ladder of `conv2d_input_gradient` on GPUs: CUDA C texts that OpenCL compiles too."""
