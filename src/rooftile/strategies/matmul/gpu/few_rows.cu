// few_rows: all rows of a at once, b once; few_rows.h says how.

#define FAMILY few_rows
#include "matmul/gpu/few_rows.h"
