// The textbook collapsed Gibbs sampler (Griffiths & Steyvers 2004), as plainly as it is written down: every token is
// taken out, K weights are summed up one after another, and the first running sum above a random height is its topic.
#include <cstdint>
#include <random>
#include <vector>

extern "C" void textbook_sweep(int64_t tokens, const int32_t* doc, const int32_t* word, int32_t* z, int32_t K, double V,
                               double alpha, double eta, int32_t* doc_topic, int32_t* word_topic, int32_t* total,
                               uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform;
    std::vector<double> sum(static_cast<size_t>(K));
    for (int64_t i = 0; i < tokens; ++i) {
        int32_t* n_d = doc_topic + int64_t(doc[i]) * K;
        int32_t* n_v = word_topic + int64_t(word[i]) * K;
        --n_d[z[i]], --n_v[z[i]], --total[z[i]];
        double running = 0;
        for (int32_t k = 0; k < K; ++k)
            sum[size_t(k)] = running += (n_d[k] + alpha) * (n_v[k] + eta) / (total[k] + V * eta);
        const double height = uniform(random) * running;
        int32_t k = 0;
        while (k + 1 < K && sum[size_t(k)] <= height) ++k;
        z[i] = k;
        ++n_d[k], ++n_v[k], ++total[k];
    }
}
