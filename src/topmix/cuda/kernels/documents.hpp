// Teams take documents of a shard one after another. How many topics a document starts with is known only when it is
// read: if it does not fit, the next kernel, with more room, has it.
#pragma once
#include "shares.hpp"

template <int SIZE, bool EXTRA>
__device__ inline void solve_documents(const SolveArgs& a, float* memory, float* slot) {
    Document<SIZE, EXTRA> document(a, memory, slot);
    const Team<SIZE>& team = document.team;
    TeamSums sums;
    const int n = a.n_rows + (a.more ? *a.n_more : 0);
    for (;;) {
        const int taken = team.of_first(team.lane == 0 ? atomicAdd(a.next, 1) : 0);
        if (taken >= n) break;
        const int d = taken < a.n_rows ? a.rows[taken] : a.more[taken - a.n_rows];
        if (a.indptr[d] == a.indptr[d + 1]) {
            if (team.lane == 0) a.doc_n[d] = 0, add_length(a, 0, sums);
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
        Shares<SIZE, EXTRA>(a, document).write(d, sums);
    }
    if (team.lane == 0) sums.add_to(a.sums);
}
