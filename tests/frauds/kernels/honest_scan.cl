/* Kogge and Stone's passes: everybody reads, meets, and writes only then. */
__kernel void scan(__global const float* x, __global float* y, int count)
{
    __local float held[64];
    int thread = get_local_id(0);
    float before = 0;
    for (int first = 0; first < count; first += 64) {
        held[thread] = first + thread < count ? x[first + thread] : 0;
        for (int reach = 1; reach < 64; reach *= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            float other = thread >= reach ? held[thread - reach] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            held[thread] += other;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (first + thread < count) y[first + thread] = before + held[thread];
        before += held[63];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
