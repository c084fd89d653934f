// Collapsed Gibbs sampling, as cpp/chains/gibbs.hpp: documents of a block at once, each token given all others of its
// document; words and totals stand as they were when the block began. A warp has a document.
//
//     z, the topic it has      (n_dz - 1 + alpha_z) e'_vz             e' without the token itself
//     the document's others    sum over its few topics n_dk e_vk      lanes are topics
//     the prior's others       alpha_k e_vk, all k                    running sums over blocks of topics are kept
//
// Random numbers are a function of (seed, sweep, document, token), counts are integers: the result repeats.
#include "arguments.hpp"
#include "math.hpp"
#include "team.hpp"

constexpr int kGibbsTeam = 128;
constexpr int kGibbsWarps = 8;
constexpr u64 kGolden = 0x9E3779B97F4A7C15ull;

__device__ inline u64 mixed(u64 x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

/// In [0, 1), 24 bits.
__device__ inline float uniform(u64 bits) { return float(u32(bits >> 40)) * (1.f / 16777216.f); }

/// e_vk = (n_vk + eta_vk) / (n_k + eta_k), and its running sums times alpha. A block has a word.
extern "C" __global__ void __launch_bounds__(kGibbsTeam) gibbs_table(GibbsArgs a) {
    DYNAMIC_SHARED(float, block_sum);  // [blocks]
    const Team<kGibbsTeam> team;
    for (int v = int(blockIdx.x); v < a.n_words; v += int(gridDim.x)) {
        for (int first = 0; first < 32 * a.blocks; first += kGibbsTeam) {
            const int k = first + team.lane;
            float part = 0;
            if (k < a.K) {
                const double prior = a.eta[i64(v) * a.word_step + i64(k) * a.topic_step];
                const double norm = double(a.total[k]) + a.eta_total[k];
                const float e = float((double(a.counts[i64(v) * a.K + k]) + prior) / norm);
                if (v == 0) a.inverse[k] = float(1 / norm);
                a.e[i64(v) * a.K + k] = e;
                part = a.alpha[k] * e;
            }
            part = over_warp(part, Sum());
            if (team.lane % 32 == 0 && k < 32 * a.blocks) block_sum[k / 32] = part;
        }
        team.sync();
        if (team.lane == 0) {
            float running = 0;
            for (int b = 0; b < a.blocks; ++b) a.mass[i64(v) * a.blocks + b] = running += block_sum[b];
        }
        team.sync();
    }
}

extern "C" __global__ void __launch_bounds__(256) column_sums(GibbsArgs a) {
    for (int k = int(threadIdx.x); k < a.K; k += int(blockDim.x)) {
        i64 sum = 0;
        for (int v = int(blockIdx.x); v < a.n_words; v += int(gridDim.x)) sum += a.counts[i64(v) * a.K + k];
        if (sum) add(&a.next_total[k], sum);
    }
}

/// The topics of one document and their tokens, in shared memory. A place whose topic has left is used again.
struct TopicList {
    int *id, *count;
    const int lane;
    int n = 0;

    __device__ int place_of_topic(int k) const {
        for (int first = 0; first < n; first += 32) {
            const u32 mask = __ballot_sync(kAll, first + lane < n && id[first + lane] == k);
            if (mask) return first + __ffs(int(mask)) - 1;
        }
        return -1;
    }

    /// A token of the topic at one place goes to the topic at another.
    __device__ void move(int from, int to) {
        __syncwarp();  // all lanes have read the list
        if (lane == 0) count[from] -= 1, count[to] += 1;
        __syncwarp();
    }

    __device__ void remove_one(int at) {
        __syncwarp();
        if (lane == 0) count[at] -= 1;
        __syncwarp();
    }

    __device__ void add_one(int k) {
        int at = place_of_topic(k);
        for (int first = 0; at < 0 && first < n; first += 32) {
            const u32 mask = __ballot_sync(kAll, first + lane < n && count[first + lane] == 0);
            if (mask) at = first + __ffs(int(mask)) - 1;
        }
        __syncwarp();
        if (at < 0) {
            at = n++;
            if (lane == 0) count[at] = 0;
        }
        if (lane == 0) id[at] = k, count[at] += 1;
        __syncwarp();
    }
};

__device__ inline float up_to_lane(float x, int lane) {
    for (int far = 1; far < 32; far <<= 1) {
        const float below = __shfl_sync(kAll, x, lane - far);
        if (lane >= far) x += below;
    }
    return x;
}

struct TokenSampler {
    const GibbsArgs& a;
    TopicList& topics;
    const int lane;
    const float* row = nullptr;   // of e
    const float* mass = nullptr;  // of its word
    int at_old = 0, at_new = -1;  // places of the topic it had and of the one drawn; -1: of a topic from the prior

    __device__ float weight(int at, int old) const {
        return at < topics.n && topics.id[at] != old ? float(topics.count[at]) * row[topics.id[at]] : 0.f;
    }

    /// Every lane has the result.
    __device__ int draw(int v, int old, float u, float u_prior) {
        row = a.e + i64(v) * a.K, mass = a.mass + i64(v) * a.blocks;
        const float e = row[old], prior_old = a.alpha[old], one = a.inverse[old];
        at_new = -1;
        int n_old = 0;
        float document = 0;
        for (int first = 0; first < topics.n; first += 32) {  // one read of the list for both
            const int at = first + lane, k = at < topics.n ? topics.id[at] : -1, n = k < 0 ? 0 : topics.count[at];
            const u32 mask = __ballot_sync(kAll, k == old);
            if (mask) at_old = first + __ffs(int(mask)) - 1, n_old = __shfl_sync(kAll, n, __ffs(int(mask)) - 1);
            if (n > 0 && k != old) document += float(n) * row[k];
        }
        document = over_warp(document, Sum());
        const float without = fmaxf(e - one, a.least * one) / fmaxf(1.f - one, 1e-6f);
        const float stay = (float(n_old - 1) + prior_old) * without;
        const float from_prior = fmaxf(mass[a.blocks - 1] - prior_old * e, 0.f);
        const float x = u * (stay + document + from_prior) - stay;
        if (x < 0) return old;
        if (x < document) return of_document(x, old);
        return from_prior > 0 ? of_prior(u_prior * from_prior, old, prior_old * e) : old;
    }

    __device__ int of_document(float x, int old) {
        int last = -1;
        float before = 0;
        for (int first = 0; first < topics.n; first += 32) {
            const float w = weight(first + lane, old), sum = before + up_to_lane(w, lane);
            const u32 over = __ballot_sync(kAll, w > 0 && sum > x), some = __ballot_sync(kAll, w > 0);
            if (over) return topics.id[at_new = first + __ffs(int(over)) - 1];
            if (some) last = first + 31 - __clz(int(some));
            before = __shfl_sync(kAll, sum, 31);
        }
        at_new = last;
        return last < 0 ? old : topics.id[last];  // rounding: the last of them
    }

    /// In proportion to alpha_k e_vk, without `old`, whose weight is taken out of the running sums.
    __device__ int of_prior(float x, int old, float out) const {
        int block = a.blocks - 1;
        for (int first = 0; first < a.blocks; first += 32) {
            const int b = first + lane;
            const bool over = b < a.blocks && mass[b] - (b >= old / 32 ? out : 0.f) > x;
            const u32 mask = __ballot_sync(kAll, over);
            if (mask) {
                block = first + __ffs(int(mask)) - 1;
                break;
            }
        }
        if (block > 0) x -= mass[block - 1] - (block - 1 >= old / 32 ? out : 0.f);
        const int k = 32 * block + lane;
        const float w = k < a.K && k != old ? a.alpha[k] * row[k] : 0.f, sum = up_to_lane(w, lane);
        const u32 over = __ballot_sync(kAll, w > 0 && sum > x), some = __ballot_sync(kAll, w > 0);
        if (over) return 32 * block + __ffs(int(over)) - 1;
        return some ? 32 * block + 31 - __clz(int(some)) : old;
    }
};

extern "C" __global__ void __launch_bounds__(32 * kGibbsWarps) gibbs_sample(GibbsArgs a) {
    DYNAMIC_SHARED(int, memory);
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    int* const mine = memory + warp * 2 * a.most;
    i64 sums = 0;
    for (;;) {
        const int taken = __shfl_sync(kAll, lane == 0 ? atomicAdd(a.next, 1) : 0, 0);
        if (taken >= a.n_rows) break;
        const int d = a.rows[taken];
        const i64 begin = a.first[d], end = a.first[d + 1];
        TopicList topics{mine, mine + a.most, lane};
        TokenSampler sampler{a, topics, lane};
        for (i64 at = begin; at < end; at += 32) {
            const int z = at + lane < end ? a.z[at + lane] : 0, n = int(end - at < 32 ? end - at : 32);
            for (int i = 0; i < n; ++i) topics.add_one(__shfl_sync(kAll, z, i));
        }
        const u64 key = mixed(a.seed + kGolden * mixed((a.sweep << 32) + u64(d)));
        for (i64 at = begin; at < end; at += 32) {
            const bool in = at + lane < end;
            int z = in ? a.z[at + lane] : 0;
            const int v_here = in ? a.word[at + lane] : 0, n = int(end - at < 32 ? end - at : 32);
            const u64 count = u64(at + lane - begin);
            const float u_here = uniform(mixed(key + kGolden * (2 * count + 1)));
            const float w_here = uniform(mixed(key + kGolden * (2 * count + 2)));
            for (int i = 0; i < n; ++i) {
                const int v = __shfl_sync(kAll, v_here, i), old = __shfl_sync(kAll, z, i);
                const int to = sampler.draw(v, old, __shfl_sync(kAll, u_here, i), __shfl_sync(kAll, w_here, i));
                if (to == old) continue;
                if (sampler.at_new >= 0) {
                    topics.move(sampler.at_old, sampler.at_new);
                } else {
                    topics.remove_one(sampler.at_old);
                    topics.add_one(to);
                }
                if (lane == i) z = to;
                if (lane < 2) add(&a.counts[i64(v) * a.K + (lane ? to : old)], lane ? 1 : -1);
            }
            if (in) a.z[at + lane] = TopicId(z);
        }
        double of_document = 0;
        for (int i = lane; i < topics.n; i += 32)
            if (topics.count[i] > 0) {
                const double prior = double(a.alpha[topics.id[i]]);
                of_document += log_gamma(double(topics.count[i]) + prior) - log_gamma(prior);
            }
        of_document = over_warp(of_document, Sum());
        sums += i64(rint(of_document * kSums));
        __syncwarp();
    }
    if (lane == 0) add(a.sums, sums);
}
