// Document completion, as results/completion.py: the topics of a document from some of its words, and the log
// probability of the others. Doubles throughout: a block has a document, its table is read from global memory.
#include "arguments.hpp"
#include "math.hpp"
#include "team.hpp"

constexpr int kPredictTeam = 128;
constexpr double kTooSmall = 1e-250;  // the weight of a word: products with it may have underflowed

struct Prediction {
    const PredictArgs& a;
    const Team<kPredictTeam> team;
    double *N, *P;  // [K]
    int* active;    // [K] topics whose weight is not zero; one that was zero is zero ever after
    int n = 0;
    i64 at = 0;
    int U = 0;

    __device__ Prediction(const PredictArgs& args, double* memory)
        : a(args), N(memory), P(memory + args.K), active(reinterpret_cast<int*>(memory + 2 * args.K)) {}

    __device__ const double* row(i64 entry) const { return a.table + i64(a.index[entry]) * a.K; }

    /// N from responsibilities in proportion to the table; words that no topic has count nothing.
    __device__ void start(int d) {
        at = a.indptr[d], U = int(a.indptr[d + 1] - at), n = a.K;
        for (int k = team.lane; k < a.K; k += kPredictTeam) active[k] = k, P[k] = 1;
        team.sync();
        weigh_words(true);
        for (int k = team.lane; k < a.K; k += kPredictTeam) N[k] = of_topic(k);
        team.sync();
    }

    /// q_u = c_u / sum_k P_k e_uk: a warp has a word. False where a sum is too small.
    __device__ bool weigh_words(bool is_first) {
        bool too_small = false;
        for (int u = team.lane / 32; u < U; u += kPredictTeam / 32) {
            const double* e = row(at + u);
            double s = 0;
            for (int j = team.lane % 32; j < n; j += 32) s += P[active[j]] * e[active[j]];
            s = over_warp(s, Sum());
            if (team.lane % 32 == 0 && is_first && s == 0) a.count[at + u] = 0;
            __syncwarp();
            const double c = a.count[at + u];
            too_small |= c > 0 && s < kTooSmall;
            if (team.lane % 32 == 0) a.q[at + u] = c > 0 ? c / s : 0.0;
        }
        const bool all_well = !team.any(too_small);
        team.sync();
        return all_well || is_first;
    }

    __device__ double of_topic(int k) const {
        double s = 0;
        for (int u = 0; u < U; ++u) s += a.q[at + u] * row(at + u)[k];
        return s;
    }

    /// False where a document needs logarithms.
    __device__ bool solve() {
        for (int it = 0; it < a.max_iter; ++it) {
            for (int j = team.lane; j < n; j += kPredictTeam) {
                const int k = active[j];
                P[k] = exp(digamma(N[k] + a.alpha[k]));
            }
            team.sync();
            if (!weigh_words(false)) return false;
            double change = 0;
            for (int j = team.lane; j < n; j += kPredictTeam) {
                const int k = active[j];
                const double next = P[k] > 0 ? P[k] * of_topic(k) : 0.0;
                change = fmax(change, fabs(next - N[k]));
                N[k] = next;
            }
            if (team.over(change, Max()) < a.tol) break;
            leave_out_zeros();
        }
        return true;
    }

    __device__ void leave_out_zeros() {
        int kept = 0;
        for (int first = 0; first < n; first += kPredictTeam) {
            const int j = first + team.lane, k = j < n ? active[j] : 0;
            const bool stays = j < n && P[k] > 0;
            const int to = team.place(stays, kept);
            team.sync();
            if (stays) active[to] = k;
            team.sync();
        }
        n = kept;
    }

    /// The log probability of the words that are held out.
    __device__ double predicted(int d) {
        double total = 0;
        for (int k = team.lane; k < a.K; k += kPredictTeam) total += N[k] + a.alpha[k];
        total = team.over(total, Sum());
        double sum = 0;
        for (i64 i = a.held_indptr[d] + team.lane / 32; i < a.held_indptr[d + 1]; i += kPredictTeam / 32) {
            const double* e = a.table + i64(a.held_index[i]) * a.K;
            double p = 0;
            for (int k = team.lane % 32; k < a.K; k += 32) p += e[k] * ((N[k] + a.alpha[k]) / total);
            p = over_warp(p, Sum());
            if (team.lane % 32 == 0) sum += a.held_count[i] * log(p);
        }
        return team.over(sum, Sum());
    }
};

extern "C" __global__ void __launch_bounds__(kPredictTeam) predict_documents(PredictArgs a) {
    DYNAMIC_SHARED(double, memory);
    Prediction document(a, memory);
    const Team<kPredictTeam>& team = document.team;
    for (;;) {
        const int taken = team.of_first(team.lane == 0 ? atomicAdd(a.next, 1) : 0);
        if (taken >= a.n_rows) return;
        const int d = a.rows[taken];
        document.start(d);
        const bool is_solved = document.solve();
        const double found = document.predicted(d);
        if (team.lane == 0) a.found[d] = is_solved ? found : double(__uint_as_float(0x7fc00000u));
        team.sync();
    }
}
