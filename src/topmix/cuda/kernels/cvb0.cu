// CVB0 on one shard, as cpp/steps/cvb0.hpp: every word keeps its gamma, and is left out of all three counts when it is
// updated. What the words hold of an entry is what the last visit left in the memo.
#include "tokens.hpp"

struct Excluding {
    const TokenArgs& a;
    TokenDocument& document;
    const int lane;

    /// gamma of entry u of the word at hand, lane by lane: from the words alone, from the last visit, or of this one.
    __device__ void read(int u, bool is_counted, int& topic, u32& share) const {
        const i64 from = lane * a.n_entries + document.at + u;
        topic = 0, share = 0;
        if (lane >= (is_counted ? a.last_n[document.at + u] : kL)) return;
        topic = is_counted ? a.last_topic[from] : a.memo_topic[from];
        share = is_counted ? a.last_share[from] : a.memo_share[from];
    }

    /// gamma from the word alone.
    __device__ void start() {
        for (int u = 0; u < document.U; ++u) {
            const i64 from = i64(a.index[document.at + u]) * kL + lane;
            document.k = lane < kL ? a.first_topic[from] : 0;
            document.w = lane < kL ? a.first_share[from] : 0.f;
            document.sum = 1.f;
            document.keep(u, document.share(a.value[document.at + u]));
        }
    }

    __device__ void count_last() {
        for (int u = 0; u < document.U; ++u) {
            int topic;
            u32 share;
            read(u, true, topic, share);
            if (share) document.mass[topic] += share;
            __syncwarp();
        }
    }

    /// One sweep; returns sum_u c_u H[gamma_u].
    __device__ double sweep(bool is_counted) {
        double entropy = 0;
        for (int u = 0; u < document.U; ++u) {
            update(u, a.value[document.at + u], is_counted);
            entropy += double(a.value[document.at + u]) * double(document.entropy());
            document.keep(u, document.share(a.value[document.at + u]));
        }
        return entropy;
    }

    __device__ float tokens(int k) const { return float(double(document.mass[k]) / double(a.unit)); }

    __device__ void update(int u, float c, bool is_counted) {
        const int v = a.index[document.at + u];
        const float* e = a.table + i64(v) * a.K;
        for (int k = lane; k < a.K; k += 32) document.row.s[k] = e[k] * (tokens(k) + float(a.alpha[k]));
        __syncwarp();
        int k;
        u32 share;
        read(u, is_counted, k, share);
        if (share) {
            const float g = fminf(c, 1.f) * (float(share) / (c * a.unit)), scale = float(exp(a.log_scale[v]));
            float phi = e[k];
            if (is_counted) {
                const float norm = a.norm[k];
                phi = fmaxf(phi * scale * norm - g, a.least) / (scale * fmaxf(norm - g, a.least));
            }
            document.row.s[k] = phi * (fmaxf(tokens(k) - g, 0.f) + float(a.alpha[k]));
            document.mass[k] -= share;
        }
        document.choose();
    }
};

extern "C" __global__ void __launch_bounds__(32 * kTokenWarps) cvb0_documents(TokenArgs a) {
    DYNAMIC_SHARED(float, memory);
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    TokenDocument document(a, memory + warp * TokenDocument::room(a.K, a.chunk), lane);
    Excluding excluding{a, document, lane};
    TeamSums sums;
    const bool is_counted = a.last_n != nullptr;
    each_document(a, lane, [&](int d) {
        document.open(d);
        if (document.U > 0) {
            if (is_counted)
                excluding.count_last();
            else
                excluding.start();
            double entropy = 0;
            const int sweeps = is_counted ? 1 : a.burn_in + 1;
            for (int n = 0; n < sweeps; ++n) entropy = excluding.sweep(is_counted);
            sums.iterations += sweeps, sums.entropy += fixed(entropy, kSums);
        }
        document.close(sums);
    });
    if (lane == 0) sums.add_to(a.sums);
}
