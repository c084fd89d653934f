// As solve_long.cu, with exclusion, selection in early iterations, and restarts.
#include "documents.hpp"

extern "C" __global__ void __launch_bounds__(512, 1) extra_long(SolveArgs a) {
    DYNAMIC_SHARED(float, memory);
    solve_documents<512, true>(a, memory, a.slots ? a.slots + blockIdx.x * a.slot_size : nullptr);
}
