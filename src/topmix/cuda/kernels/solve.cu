// The local step of topic models: every document of a shard, by teams that take one after another.
//
// A short document has a warp, a longer one a block, and one that is too large for shared memory a slot of global
// memory. How many topics a document starts with is known only when it is read: if it does not fit, the next kernel,
// with more room, has it.
#include "shares.hpp"

template <int SIZE>
__device__ inline void solve_documents(const SolveArgs& a, float* memory) {
    Document<SIZE> document(a, memory);
    const Team<SIZE>& team = document.team;
    TeamSums sums;
    const int n = a.n_rows + (a.more ? *a.n_more : 0);
    for (;;) {
        const int taken = team.of_first(team.lane == 0 ? atomicAdd(a.next, 1) : 0);
        if (taken >= n) break;
        const int d = taken < a.n_rows ? a.rows[taken] : a.more[taken - a.n_rows];
        if (a.indptr[d] == a.indptr[d + 1]) {
            if (team.lane == 0) a.doc_n[d] = 0, Shares<SIZE>(a, document).add_length(0, sums);
            continue;
        }
        if (!document.read(d)) {
            if (team.lane == 0) {
                if (a.overflow)
                    a.overflow[atomicAdd(a.n_overflow, 1)] = d;
                else
                    add(&a.sums[kLost], 1);
            }
            team.sync();
            continue;
        }
        document.solve();
        Shares<SIZE>(a, document).write(d, sums);
    }
    if (team.lane == 0) sums.add_to(a.sums);
}

constexpr int kShortTeams = 4;  // per block

extern "C" __global__ void __launch_bounds__(32 * kShortTeams, 6) solve_short(SolveArgs a) {
    DYNAMIC_SHARED(float, memory);
    const i64 each = Document<32>::lists(a.most) + a.room;
    solve_documents<32>(a, memory + (threadIdx.x / 32) * each);
}

extern "C" __global__ void __launch_bounds__(128) solve_middle(SolveArgs a) {
    DYNAMIC_SHARED(float, memory);
    solve_documents<128>(a, memory);
}

extern "C" __global__ void __launch_bounds__(512) solve_long(SolveArgs a) {
    DYNAMIC_SHARED(float, memory);
    solve_documents<512>(a, memory);
}

extern "C" __global__ void __launch_bounds__(512) solve_giant(SolveArgs a) {
    solve_documents<512>(a, a.slots + blockIdx.x * a.slot_size);
}
