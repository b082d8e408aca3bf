// For launches that may begin while the one before them ends (`Launch.overlaps`): the GPU has their
// blocks at hand when it is over.  AWAIT_EARLIER() waits for it, and comes before anything that it
// writes is read or that it reads is written.  LET_NEXT_BEGIN() lets the next launch begin, where
// that one overlaps too.  Where the hardware has no such launches, both do nothing.
//
// What the launch before writes must not be a `const ... __restrict__` argument: such loads the
// compiler may move before the wait.

#pragma once

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define AWAIT_EARLIER() asm volatile("griddepcontrol.wait;" ::: "memory")
#define LET_NEXT_BEGIN() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#else
#define AWAIT_EARLIER()
#define LET_NEXT_BEGIN()
#endif
