// The sampling step of a shard, as cpp/steps/sample.hpp: every token is drawn again, or for the first time given the
// proportions of its document, while the table of topics stands still. A warp has a document.
//
// Random numbers are a function of (seed, sweep, document, token), so the result repeats.
#include "terms.hpp"
#include "token_sampler.hpp"

constexpr int kMassWarps = 4;

/// What the prior gives each word, in running sums over blocks of topics. A warp has a word.
extern "C" __global__ void __launch_bounds__(32 * kMassWarps) prior_mass(SampleArgs a) {
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    for (int w = int(blockIdx.x) * kMassWarps + warp; w < a.n_words; w += int(gridDim.x) * kMassWarps) {
        float running = 0;
        for (int b = 0; b < a.blocks; ++b) {
            const int k = 32 * b + lane;
            running += over_warp(k < a.K ? a.weights[k] * a.table[i64(w) * a.K + k] : 0.f, Sum());
            if (lane == 0) a.mass[i64(w) * a.blocks + b] = running;
        }
        if (lane == 0) a.by_word[w] = float(exp(-a.log_scale[w]));
    }
}

struct SampledDocument {
    const SampleArgs& a;
    TopicList topics;
    TokenSampler sampler;
    const int lane;

    __device__ SampledDocument(const SampleArgs& args, int* memory, int my_lane)
        : a(args),
          topics{memory, memory + args.most, my_lane},
          sampler{{a.table, a.mass, a.weights, a.by_topic, a.by_word, a.least, a.K, a.blocks}, topics, my_lane},
          lane(my_lane) {}

    /// Draws all tokens. Returns how many have another topic than before.
    __device__ int draw(int d) {
        const i64 begin = a.first[d], end = a.first[d + 1];
        if (a.z)
            count(a.z, begin, end);
        else
            take_given(d);
        const u64 key = key_of(a.seed, a.sweep, d);
        int moved = 0;
        for (i64 at = begin; at < end; at += 32) {
            const bool in = at + lane < end;
            int z = in && a.z ? a.z[at + lane] : 0;
            const int v_here = in ? a.word[at + lane] : 0, n = int(end - at < 32 ? end - at : 32);
            const u64 place = u64(at + lane - begin);
            const float u_here = uniform(mixed(key + kGolden * (2 * place + 1)));
            const float w_here = uniform(mixed(key + kGolden * (2 * place + 2)));
            for (int i = 0; i < n; ++i) {
                const int v = __shfl_sync(kAll, v_here, i), old = __shfl_sync(kAll, z, i);
                const float u = __shfl_sync(kAll, u_here, i), w = __shfl_sync(kAll, w_here, i);
                int to = a.z ? sampler.draw(v, old, u, w) : sampler.draw_given(v, u, w);
                if (a.own_alpha && a.z && to != old && !accepts(d, old, to, u64(at - begin) + i, key)) to = old;
                if (lane == i) z = to;
                if (a.z && to == old) continue;
                ++moved;
                if (a.z) topics.follow(sampler.at_old, sampler.at_new, to);
            }
            if (in) a.new_z[at + lane] = TopicId(z);
        }
        __syncwarp();
        if (!a.z) count(a.new_z, begin, end);
        return moved;
    }

    /// Whether a draw by the common prior is one by the document's own.  Eq. (3.35)
    __device__ bool accepts(int d, int old, int to, u64 place, u64 key) const {
        const float* const own = a.own_alpha + i64(a.own_row[d]) * a.K;
        const int at = sampler.at_new < 0 ? topics.place_of_topic(to) : sampler.at_new;
        const float n = at < 0 ? 0.f : float(topics.count[at]), n_old = float(topics.count[sampler.at_old] - 1);
        const float u = uniform(mixed(mixed(key + kGolden * (2 * place + 2))));
        return u * (n + a.weights[to]) * (n_old + a.own_scale * own[old]) <
               (n + a.own_scale * own[to]) * (n_old + a.weights[old]);
    }

    /// The document's topics, ascending, and its part of the objective.
    __device__ void write(int d, TeamSums& sums) {
        const i64 at = a.places[d];
        double within = 0, gammas = 0;
        int n = 0;
        for (int first = 0; first < topics.n; first += 32) {
            const int i = first + lane;
            const bool in = i < topics.n && topics.count[i] > 0;
            n += __popc(__ballot_sync(kAll, in));
            if (!in) continue;
            int before = 0;
            for (int j = 0; j < topics.n; ++j) before += topics.count[j] > 0 && topics.id[j] < topics.id[i];
            a.doc_topic[at + before] = TopicId(topics.id[i]);
            a.doc_count[at + before] = float(topics.count[i]);
            add_topic(a, topics.id[i], u64(double(topics.count[i]) * double(a.unit)), within, gammas);
        }
        within = over_warp(within, Sum());
        if (lane == 0) a.doc_n[d] = n;
        sums.within += fixed(within, kSums);
        add_length(a, double(a.first[d + 1] - a.first[d]), sums);
        __syncwarp();
    }

  private:
    __device__ void count(const TopicId* z, i64 begin, i64 end) {
        topics.n = 0;
        for (i64 at = begin; at < end; at += 32) {
            const int z_here = at + lane < end ? z[at + lane] : 0, n = int(end - at < 32 ? end - at : 32);
            for (int i = 0; i < n; ++i) topics.add_one(__shfl_sync(kAll, z_here, i));
        }
    }

    __device__ void take_given(int d) {
        topics.n = a.last_n ? a.last_n[d] : 0;
        float* share = reinterpret_cast<float*>(topics.count);
        for (int i = lane; i < topics.n; i += 32)
            topics.id[i] = a.last_topic[a.last_places[d] + i], share[i] = a.last_count[a.last_places[d] + i];
        __syncwarp();
    }
};

extern "C" __global__ void __launch_bounds__(32 * kGibbsWarps) sample_documents(SampleArgs a) {
    DYNAMIC_SHARED(int, memory);
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    SampledDocument document(a, memory + warp * 2 * a.most, lane);
    TeamSums sums;
    for (;;) {
        const int taken = __shfl_sync(kAll, lane == 0 ? atomicAdd(a.next, 1) : 0, 0);
        if (taken >= a.n_rows) break;
        const int d = a.rows[taken];
        sums.iterations += document.draw(d);
        document.write(d, sums);
    }
    if (lane == 0) sums.add_to(a.sums);
}
