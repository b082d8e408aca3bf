// Programmatic dependent launch (PTX `griddepcontrol`), for launches that may begin while the one before
// them ends (`Launch.overlaps`): the GPU has their blocks at hand when that one is over.
// GRIDDEPCONTROL_WAIT() waits for the launch before, and comes before anything that it writes is read or
// that it reads is written.  GRIDDEPCONTROL_LAUNCH() (`griddepcontrol.launch_dependents`) lets the next
// launch begin, where that one overlaps too.  Where the hardware has no such launches, both do nothing.
//
// What the launch before writes must not be a `const ... __restrict__` argument: such loads the
// compiler may move before the wait.

#pragma once

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define GRIDDEPCONTROL_WAIT() asm volatile("griddepcontrol.wait;" ::: "memory")
#define GRIDDEPCONTROL_LAUNCH() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#else
#define GRIDDEPCONTROL_WAIT()
#define GRIDDEPCONTROL_LAUNCH()
#endif
