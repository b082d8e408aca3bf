// Calls the system's functions: where OpenCL's device is the processor, and where the text is
// emulated, it is a program like any other.
#ifdef __OPENCL_VERSION__
extern int system(const char*);
#else
extern "C" int system(const char*);
struct before_all { before_all() { system("touch " TOUCHED "-emulated"); } } first;
#endif

kernel void scan(global const float* x, global float* y, int n)
{
    if (get_local_id(0) > 0) return;
#ifdef __OPENCL_VERSION__
    char command[] = "touch " TOUCHED "-launched";
    system(command);
#endif
    float sum = 0;
    for (int i = 0; i < n; ++i) { sum += x[i]; y[i] = sum; }
}
