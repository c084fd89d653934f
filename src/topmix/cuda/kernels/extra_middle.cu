// As solve_middle.cu, with exclusion, selection in early iterations, and restarts.
#include "documents.hpp"

extern "C" __global__ void __launch_bounds__(128, 3) extra_middle(SolveArgs a) {
    DYNAMIC_SHARED(float, memory);
    solve_documents<128, true>(a, memory, nullptr);
}
