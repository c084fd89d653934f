// As solve_short.cu, with exclusion, selection in early iterations, and restarts.
#include "documents.hpp"

constexpr int kTeams = 4;  // per block

extern "C" __global__ void __launch_bounds__(32 * kTeams, 4) extra_short(SolveArgs a) {
    DYNAMIC_SHARED(float, memory);
    const i64 each = Document<32, true>::lists(a.most) + a.room;
    solve_documents<32, true>(a, memory + (threadIdx.x / 32) * each, nullptr);
}
