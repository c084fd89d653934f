// What merging two topics would take from the entropy of responsibilities.  docs/math.md Eq. (3.25).
//
//     sum_du (x + y) log (x + y) - x log x - y log y,   x = c_du r_duj,  y = c_du r_duk
//
// It is the one term of a merge's gain that needs tokens, and a step leaves them in its scratch: any pairs may be asked
// for, as long as no topic is in two of them.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "steps/topics.hpp"

namespace topmix {

constexpr size_t kEntryGrain = 1 << 14;

/// lost [K] at the lower topic of each pair, for the last step that used this scratch with this L. partner [K] is the
/// other topic of k's pair, or negative. Entries are cut into the same blocks for any number of threads.
inline void merged_entropy(const TopicScratch& scratch, size_t L, std::span<const int32_t> partner, int threads,
                           std::span<double> lost) {
    const size_t K = partner.size(), entries = scratch.kept.size(), blocks = (entries + kEntryGrain - 1) / kEntryGrain;
    std::vector<double> block_lost(blocks * K, 0.0);
    auto x_log_x = [](double x) { return x > 0 ? x * std::log(x) : 0.0; };
    parallel_for(entries, kEntryGrain, threads, [&](size_t begin, size_t end, size_t) {
        double* mine = &block_lost[begin / kEntryGrain * K];
        for (size_t i = begin; i < end; ++i) {
            const TopicId* topic = &scratch.topic[i * L];
            const float* share = &scratch.share[i * L];
            const size_t kept = size_t(scratch.kept[i]);
            for (size_t l = 0; l < kept; ++l) {
                const int32_t other = partner[topic[l]];
                if (other <= int32_t(topic[l])) continue;
                for (size_t m = 0; m < kept; ++m)
                    if (int32_t(topic[m]) == other) {
                        const double x = double(share[l]), y = double(share[m]);
                        mine[topic[l]] += x_log_x(x + y) - x_log_x(x) - x_log_x(y);
                    }
            }
        }
    });
    std::fill(lost.begin(), lost.end(), 0.0);
    for (size_t b = 0; b < blocks; ++b)
        for (size_t k = 0; k < K; ++k) lost[k] += block_lost[b * K + k];
}

}  // namespace topmix
