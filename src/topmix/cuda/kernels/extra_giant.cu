// As solve_giant.cu, with exclusion, selection in early iterations, and restarts.
#include "documents.hpp"

extern "C" __global__ void __launch_bounds__(512, 1) extra_giant(SolveArgs a) {
    solve_documents<512, true>(a, a.slots + blockIdx.x * a.slot_size, nullptr);
}
