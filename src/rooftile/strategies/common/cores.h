// The tensor cores' type: the macro CORES is one of these.

#pragma once

#define FLOAT16 0
#define BFLOAT16 1
#define TF32 2
