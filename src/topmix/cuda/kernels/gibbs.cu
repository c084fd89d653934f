// Collapsed Gibbs sampling, as cpp/chains/gibbs.hpp: documents of a block at once, each token given all others of its
// document; words and totals stand as they were when the block began. A warp has a document.
//
// Random numbers are a function of (seed, sweep, document, token), counts are integers: the result repeats.
#include "arguments.hpp"
#include "math.hpp"
#include "token_sampler.hpp"

constexpr int kGibbsTeam = 128;

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
        TokenSampler sampler{{a.e, a.mass, a.alpha, a.inverse, nullptr, a.least, a.K, a.blocks}, topics, lane};
        for (i64 at = begin; at < end; at += 32) {
            const int z = at + lane < end ? a.z[at + lane] : 0, n = int(end - at < 32 ? end - at : 32);
            for (int i = 0; i < n; ++i) topics.add_one(__shfl_sync(kAll, z, i));
        }
        const u64 key = key_of(a.seed, a.sweep, d);
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
                topics.follow(sampler.at_old, sampler.at_new, to);
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
