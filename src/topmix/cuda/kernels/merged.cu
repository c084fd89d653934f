// What mergers of topics would take from the entropy, exactly: the CUDA twin of cpp/steps/merged.hpp.
#include "arguments.hpp"
#include "math.hpp"
#include "terms.hpp"

__device__ static double x_log_x(double x) { return x > 0 ? x * log_of(x) : 0.0; }

extern "C" __global__ void __launch_bounds__(256) merged_entropy(MergeArgs a) {
    const i64 step = i64(gridDim.x) * blockDim.x;
    for (i64 e = i64(blockIdx.x) * blockDim.x + threadIdx.x; e < a.n_entries; e += step) {
        const int n = a.n[e];
        for (int l = 0; l < n; ++l) {
            const int k = a.topic[l * a.n_entries + e], other = a.partner[k];
            if (other <= k) continue;
            for (int m = 0; m < n; ++m) {
                if (a.topic[m * a.n_entries + e] != other) continue;
                const double x = a.share[l * a.n_entries + e] / a.unit, y = a.share[m * a.n_entries + e] / a.unit;
                add(&a.lost[k], fixed(x_log_x(x + y) - x_log_x(x) - x_log_x(y), kTopicSums));
            }
        }
    }
}
