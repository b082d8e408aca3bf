"""Why: the pencil-and-paper performance model, on plain numbers.

No device is needed and none is touched; the modules import nothing but `rooftile.ops`.

| module | answers |
| --- | --- |
| `launch` | how many blocks, threads and warps; which thread is where |
| `occupancy` | how many blocks a multiprocessor holds, and what limits them |
| `architectures` | the limits of real multiprocessors |
| `divergence` | in which warps threads disagree |
| `access` | sectors, bursts, rows and banks that accesses touch |
| `accesses` | all that one kernel loads and stores, as the counters of a GPU count it |
| `traffic` | loads from global memory and reuse of tiles |
| `bounds` | roofline, shares of peak |
| `layers` | sizes, FLOPs and parameters of a network's layers |
| `transfers` | links, copies and their overlap with kernels |
| `work` | steps and operations of reductions, scans and histograms |
| `sparse` | storage of sparse matrices |
| `speedup` | Amdahl's, Gustafson's and their kin |

"PMPP" stands for Kirk, Hwu, El Hajj, "Programming Massively Parallel Processors", 4th ed.
Every function raises `InputError` for sizes, rates or times that cannot be.
"""
