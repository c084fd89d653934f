// The local step of topic models, for what fits nowhere else: all that a document needs is in global memory.
#include "documents.hpp"

extern "C" __global__ void __launch_bounds__(512, 1) solve_giant(SolveArgs a) {
    solve_documents<512, false>(a, a.slots + blockIdx.x * a.slot_size, nullptr);
}
