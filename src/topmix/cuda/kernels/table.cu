// What shards need of the topics: a float32 table [words, K], each row over its largest entry, and each word's own top
// L.
//
//     collapsed     e_vk = (S_vk + eta_vk) / (S_k + eta_k)                      the posterior mean, Eq. (3.3)
//     variational   e_vk = exp(psi(S_vk + eta_vk) - psi(S_k + eta_k))           exp E[log phi], Eq. (3.2)
#include "arguments.hpp"
#include "math.hpp"
#include "team.hpp"

constexpr int kTableTeam = 128;

/// Sparse rows name a topic at most once, so no two lanes write to one entry.
__device__ inline void add_row(const i64* indptr, const TopicId* topic, const double* value, double weight, int v,
                               int lane, float* row) {
    for (i64 i = indptr[v] + lane; i < indptr[v + 1]; i += kTableTeam) row[topic[i]] += float(weight * value[i]);
}

extern "C" __global__ void __launch_bounds__(kTableTeam) make_table(TableArgs a) {
    const Team<kTableTeam> team;
    for (int w = int(blockIdx.x); w < a.n_words; w += int(gridDim.x)) {
        const int v = a.cols ? a.cols[w] : w;
        const i64* S = a.counts + i64(v) * a.K;
        float* row = a.table + i64(w) * a.K;
        const double common = a.pseudo_indptr && a.common ? a.pseudo_weight * a.common[v] : 0.0;
        for (int k = team.lane; k < a.K; k += kTableTeam) {
            const double eta = a.eta[i64(v) * a.word_step + i64(k) * a.topic_step];
            const double x = fmax(double(S[k]) * a.factor, 0.0) + eta;
            row[k] = float(common > 0 ? x + common * a.share[k] : x);
        }
        team.sync();
        if (a.extra_indptr) {
            add_row(a.extra_indptr, a.extra_topic, a.extra_value, 1.0, v, team.lane, row);
            team.sync();
        }
        if (a.pseudo_indptr) {
            add_row(a.pseudo_indptr, a.pseudo_topic, a.pseudo_value, a.pseudo_weight, v, team.lane, row);
            team.sync();
        }
        float largest = -3e38f;
        for (int k = team.lane; k < a.K; k += kTableTeam) {
            row[k] = float(a.variational ? digamma(double(row[k])) - a.by_topic[k] : double(row[k]) * a.by_topic[k]);
            largest = fmaxf(largest, row[k]);
        }
        largest = team.over(largest, Max());
        const float scale = 1 / largest;
        for (int k = team.lane; k < a.K; k += kTableTeam)
            row[k] = fmaxf(a.variational ? expf(row[k] - largest) : row[k] * scale, kLeast);
        if (team.lane == 0) a.log_scale[w] = a.variational ? double(largest) : log(double(largest));
    }
}

constexpr int kCandidates = 96;  // per word
constexpr int kSelectWarps = 4;  // words at a time

/// The L best of a row, best first; of equal weights the lower topic is first. A warp has a word.
///
/// The L-th largest of the lanes' own maxima is no more than the L-th largest of the row: what is at least as large are
/// candidates, hardly more than L of them. Where they are too many, the row is searched L times.
struct Selection {
    const float* row;
    const int K, lane;
    u64* candidate;  // [kCandidates], shared

    __device__ u64 rank(int k) const { return ranked(row[k], k); }

    __device__ int candidates() const {
        u64 mine = 0;
        for (int k = lane; k < K; k += 32) mine = Max()(mine, rank(k));
        int better = 0;  // lanes whose maximum is larger
        for (int other = 0; other < 32; ++other) better += __shfl_sync(kAll, mine, other) > mine;
        const u32 who = __ballot_sync(kAll, better == min(kL, 32) - 1);
        const u64 least = __shfl_sync(kAll, mine, who ? __ffs(int(who)) - 1 : 0);
        if (!who || kL > 32) return -1;  // lanes without a topic tie
        int n = 0;
        for (int first = 0; first < K; first += 32) {
            const int k = first + lane;
            const bool in = k < K && rank(k) >= least;
            const u32 mask = __ballot_sync(kAll, in);
            const int at = n + __popc(mask & ((1u << lane) - 1));
            if (in && at < kCandidates) candidate[at] = rank(k);
            n += __popc(mask);
        }
        __syncwarp();
        return n <= kCandidates ? n : -1;
    }

    /// Calls out(l, rank) on every lane; rank 0 where the row has fewer than L topics.
    template <class Out>
    __device__ void each(Out&& out) const {
        const int n = candidates();
        u64 before = ~u64(0);
        for (int l = 0; l < kL; ++l) {
            u64 best = 0;
            if (n >= 0) {
                for (int i = lane; i < n; i += 32)
                    if (candidate[i] < before) best = Max()(best, candidate[i]);
            } else {
                for (int k = lane; k < K; k += 32)
                    if (rank(k) < before) best = Max()(best, rank(k));
            }
            before = over_warp(best, Max());
            out(l, before);
        }
        __syncwarp();
    }
};

extern "C" __global__ void __launch_bounds__(32 * kSelectWarps) first_selection(TableArgs a) {
    __shared__ u64 candidate[kSelectWarps][kCandidates];
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    for (int w = int(blockIdx.x) * kSelectWarps + warp; w < a.n_words; w += int(gridDim.x) * kSelectWarps) {
        const Selection selection{a.table + i64(w) * a.K, a.K, lane, candidate[warp]};
        float sum = 0;
        selection.each([&](int l, u64 rank) {
            const float x = __uint_as_float(u32(rank >> 32));
            sum += x;
            if (lane == 0) {
                a.first_topic[i64(w) * kL + l] = TopicId(rank ? place_of(rank) : 0);
                a.first_share[i64(w) * kL + l] = x;
            }
        });
        __syncwarp();
        for (int l = lane; l < kL; l += 32) a.first_share[i64(w) * kL + l] /= sum;
    }
}

/// f(counts + eta) of Eq. (3.10), summed over the words of each block in an order of its own.
__device__ inline double term(int function, double x) {
    return function == 0 ? x * log_of(x) : function == 1 ? log_gamma(x) : digamma(x);
}

extern "C" __global__ void __launch_bounds__(kTableTeam) sum_of_words(TableArgs a) {
    const Team<kTableTeam> team;
    double sum = 0;
    for (int v = int(blockIdx.x); v < a.n_words; v += int(gridDim.x)) {
        const i64* S = a.counts + i64(v) * a.K;
        const auto count = [&](int k) {
            return fmax(double(S[k]) * a.factor, 0.0) + a.eta[i64(v) * a.word_step + i64(k) * a.topic_step];
        };
        for (int k = team.lane; k < a.K; k += kTableTeam) sum += term(a.function, count(k));
        if (a.extra_indptr)
            for (i64 i = a.extra_indptr[v] + team.lane; i < a.extra_indptr[v + 1]; i += kTableTeam) {
                const double x = count(a.extra_topic[i]);
                sum += term(a.function, x + a.extra_value[i]) - term(a.function, x);
            }
    }
    sum = team.over(sum, Sum());
    if (team.lane == 0) a.partial[blockIdx.x] = sum;
}
