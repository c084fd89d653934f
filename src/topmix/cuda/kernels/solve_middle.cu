// The local step of topic models, for longer documents: a small block for each.
#include "documents.hpp"

extern "C" __global__ void __launch_bounds__(128, 4) solve_middle(SolveArgs a) {
    DYNAMIC_SHARED(float, memory);
    solve_documents<128, false>(a, memory, nullptr);
}
