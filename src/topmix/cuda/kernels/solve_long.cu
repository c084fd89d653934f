// The local step of topic models, for long documents: a block for each. The first iterations, with many topics, may
// need a slot of global memory for the document's part of the table.
#include "documents.hpp"

extern "C" __global__ void __launch_bounds__(512, 1) solve_long(SolveArgs a) {
    DYNAMIC_SHARED(float, memory);
    solve_documents<512, false>(a, memory, a.slots ? a.slots + blockIdx.x * a.slot_size : nullptr);
}
