// Clusters of bags of words: the table of log probabilities, and tokens that rows bring to the total.
#include "arguments.hpp"
#include "math.hpp"
#include "mixture_arguments.hpp"
#include "team.hpp"

constexpr int kLogThreads = 128;

/// E[log phi_vk] less the word's largest, Eq. (2.2), which goes to log_scale. A block has a word.
extern "C" __global__ void __launch_bounds__(kLogThreads) log_table(TableArgs a) {
    const Team<kLogThreads> team;
    for (int w = int(blockIdx.x); w < a.n_words; w += int(gridDim.x)) {
        const int v = a.cols[w];
        const double eta = a.eta[i64(v) * a.word_step];
        const auto value = [&](int k) {
            const double x = fmax(double(a.counts[i64(v) * a.K + k]) * a.factor, 0.0) + eta;
            return (a.variational ? digamma(x) : log_of(x)) - a.by_topic[k];
        };
        double largest = -1e300;
        for (int k = team.lane; k < a.K; k += kLogThreads) largest = Max()(largest, value(k));
        largest = team.over(largest, Max());
        for (int k = team.lane; k < a.K; k += kLogThreads) a.table[i64(w) * a.K + k] = float(value(k) - largest);
        if (team.lane == 0) a.log_scale[w] = largest;
    }
}

/// What entry e brings to the l-th cluster of its row, in parts of a token. It is computed anew when it is taken out,
/// from the same numbers, and so is the same.
__device__ inline i64 tokens(const RowWordArgs& a, i64 e, int l) {
    const double r = a.r[i64(a.row[e]) * a.L + l];
    return i64(rint(double(a.value[e]) * (a.weight ? r * a.weight[a.row[e]] : r) * a.unit));
}

__device__ inline int cluster_of(const RowWordArgs& a, i64 e, int l) {
    return a.cluster ? a.cluster[i64(a.row[e]) * a.L + l] : l;
}

/// total += factor times what the rows bring.
extern "C" __global__ void __launch_bounds__(256) add_row_words(RowWordArgs a) {
    const i64 step = i64(gridDim.x) * blockDim.x, n = a.n_entries * a.L;
    for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        const i64 e = i / a.L, x = tokens(a, e, int(i % a.L));
        if (x == 0) continue;
        const i64 amount = a.is_whole ? (a.factor < 0 ? -x : x) : i64(rint(double(x) * a.factor));
        add(&a.counts[i64(a.cols[a.index[e]]) * a.K + cluster_of(a, e, int(i % a.L))], amount);
    }
}

/// The same summed over words, into totals [K].
extern "C" __global__ void __launch_bounds__(256) sum_row_words(RowWordArgs a) {
    DYNAMIC_SHARED(u64, sums);  // [K]
    for (int k = int(threadIdx.x); k < a.K; k += int(blockDim.x)) sums[k] = 0;
    __syncthreads();
    const i64 step = i64(gridDim.x) * blockDim.x, n = a.n_entries * a.L;
    for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        const i64 e = i / a.L, x = tokens(a, e, int(i % a.L));
        if (x) atomicAdd(&sums[cluster_of(a, e, int(i % a.L))], u64(x));
    }
    __syncthreads();
    for (int k = int(threadIdx.x); k < a.K; k += int(blockDim.x))
        if (sums[k]) atomicAdd(reinterpret_cast<u64*>(&a.totals[k]), sums[k]);
}
