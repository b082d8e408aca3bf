// Elements of the old record that a thread keeps, where the new one is elsewhere.

#pragma once

__device__ __forceinline__ void keep(const GLOBAL float* record, GLOBAL float* new_record, int at,
                                     int thread, int threads, int steps)
{
    if (record == (const GLOBAL float*)new_record) return;
    for (int k = thread; k < steps; k += threads)
        if (k != at) new_record[k] = record[k];
}
