// The local step of topic models, for short documents: a warp for each.
#include "documents.hpp"

constexpr int kTeams = 4;  // per block

extern "C" __global__ void __launch_bounds__(32 * kTeams, 6) solve_short(SolveArgs a) {
    DYNAMIC_SHARED(float, memory);
    const i64 each = Document<32, false>::lists(a.most) + a.room;
    solve_documents<32, false>(a, memory + (threadIdx.x / 32) * each, nullptr);
}
