// Topics that travel to the documents: ESVI for LDA (Zhang et al. 2019, Algorithm 5).  docs/math.md, section 3.10.
//
// A block is some words' rows S_v of expected counts; lambda_v = eta_v + S_v. A worker that holds it solves
//
//     phi_dvk ~ exp(psi(gamma_dk) + psi(lambda_vk) - psi(sum_v lambda_vk))        for its own documents d, all k
//
// then puts the new counts in the place of the old: in gamma_d at once, in S_v and the sums over words when it is
// through with the block. Within a visit the words' tables stay as they were when it began, and a document's table as
// it was when its words of the block came up: each step solves some phi exactly while all else is fixed, and then moves
// gamma or lambda to their optimum, so with one worker the bound never falls.
//
// With all K topics kept, phi itself is not stored. What has to be taken out again are sums over it: the counts that a
// document has from the words of a block, and those that a word has from the documents of a worker.
//
// With C < K, every entry keeps its C largest phi and shares the rest of its mass out evenly, see Rest.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "../local/select.hpp"
#include "../math.hpp"
#include "../topic_table.hpp"
#include "../word_stats.hpp"
#include "fleet.hpp"
#include "topic_shard.hpp"
#include "totals.hpp"

namespace topmix::nomad {

/// What each of the topics that an entry does not keep gets: the mean of their phi, which leaves the kept ones as they
/// are (Zhang et al.), or the share that is best for the bound if all of them get the same, exp(mean of log phi)
/// renormalised.
enum class Rest { mean, best };

/// What all workers see. The rows of a block belong to whoever holds it.
struct TopicSea {
    WordBlocks blocks;
    std::vector<double> S;  // [slots, K]
    Totals total;           // [K] sum of S over words
    std::vector<double> alpha, eta_data, eta_total;
    WordPrior eta{};
    size_t K, C;
    Rest rest;
    size_t opening;  // passes of each worker under means instead of exponentiated mean logarithms

    TopicSea(WordBlocks b, size_t topics, size_t keep, Rest r, size_t open)
        : blocks(std::move(b)),
          S(blocks.slots() * topics, 0.0),
          total(topics),
          K(topics),
          C(keep),
          rest(r),
          opening(open) {}
};

/// A worker's statistics at one moment; those of all workers add up to the model's.
struct TopicPost {
    std::vector<double> R;     // [rows, K] counts of its words
    std::vector<double> rise;  // [K] sum_d psi(N_dk + alpha_k) - psi(alpha_k)
    double entropy = 0;        // sum c H[phi]
    double documents = 0;      // sum_dk log Gamma(N_dk + alpha_k) - log Gamma(alpha_k)
};

class TopicWorker {
  public:
    using Post = TopicPost;

    TopicWorker(TopicSea& sea, const Csr<float>& X, size_t first, size_t last)
        : sea_(sea),
          shard_(X, sea.blocks, first, last),
          K_(sea.K),
          stride_((sea.K + kLanes - 1) / kLanes * kLanes),
          R_(shard_.slot.size() * K_, 0.0),
          N_(shard_.docs * K_, 0.0),
          even_(shard_.docs, 0.0),
          entropy_(sea.blocks.size(), 0.0),
          log_w_(stride_, 0.f),
          w_(stride_, 0.f),
          u_(stride_, 0.f),
          gamma_(K_),
          norm_(K_),
          delta_(K_) {
        if (dense()) {
            G_.resize(shard_.doc.size() * K_);
        } else {
            id_.resize(shard_.row.size() * sea.C);
            phi_.resize(id_.size());
            kept_.resize(shard_.row.size());
            chosen_.resize(sea.C);
            near_.resize(stride_);
            near_id_.resize(stride_);
        }
    }

    const TopicShard& shard() const { return shard_; }

    /// Where the documents start: every token of a word has the same shares of topics, in proportion to the counts of
    /// the sea plus the prior; then `settle` passes under the topics of the sea, which stay as they are.
    /// Ends early when `stop` says so.
    template <class Stop>
    void begin(size_t settle, Stop&& stop) {
        for (size_t n = 0; n <= settle; ++n)
            for (size_t b = 0; b < sea_.blocks.size(); ++b) {
                if (stop()) return;
                prepare(b);
                n == 0 ? shares(b) : tables(b);
                for (size_t p = size_t(shard_.pair_starts[b]); p < size_t(shard_.pair_starts[b + 1]); ++p) {
                    if (n == 0) {
                        pair<true>(b, p);
                    } else {
                        document_table(size_t(shard_.doc[p]));
                        pair<false>(b, p);
                    }
                }
                finish(b);
            }
    }

    /// Adds what it holds to the sea. For the beginning, when nobody works.
    void contribute() {
        std::fill(delta_.begin(), delta_.end(), 0.0);
        for (size_t r = 0; r < shard_.slot.size(); ++r)
            for (size_t k = 0; k < K_; ++k) {
                sea_.S[size_t(shard_.slot[r]) * K_ + k] += R_[r * K_ + k];
                delta_[k] += R_[r * K_ + k];
            }
        sea_.total.add(delta_);
    }

    void visit(std::span<const Block> held) {
        for (const Block b : held) {
            means_ = visits_++ < sea_.opening * sea_.blocks.size();
            visit(size_t(b));
        }
    }

    Post post() const {
        Post out{R_, std::vector<double>(K_, 0.0), 0, 0};
        for (const double h : entropy_) out.entropy += h;
        std::vector<double> a(K_), psi_a(K_), terms(K_, 0.0);
        double at_prior = 0;
        for (size_t k = 0; k < K_; ++k) {
            psi_a[k] = math::digamma(sea_.alpha[k]);
            at_prior += math::lgamma(sea_.alpha[k]);
        }
        for (size_t d = 0; d < shard_.docs; ++d) {
            const double *N = &N_[d * K_], even = even_[d], *alpha = sea_.alpha.data(), *psi = psi_a.data();
            double *rise = out.rise.data(), *x = a.data(), sum = 0;
#pragma omp simd
            for (size_t k = 0; k < K_; ++k) x[k] = alpha[k] + std::max(N[k] + even, 0.0);
#pragma omp simd
            for (size_t k = 0; k < K_; ++k) rise[k] += math::digamma(x[k]) - psi[k];
#pragma omp simd reduction(+ : sum)
            for (size_t k = 0; k < K_; ++k) sum += math::lgamma(x[k]);
            out.documents += sum - at_prior;
        }
        return out;
    }

  private:
    static constexpr size_t kLanes = 16;
    static constexpr float kNothing = 1e-9f;  // of an entry: a topic with less is as good as none
    static constexpr float kSafe = 1e-6f;     // a row of weights all below this is made again, relative to its largest

    bool dense() const { return sea_.C >= K_; }

    void visit(size_t b) {
        if (shard_.rows_in(b) == 0) return;
        prepare(b);
        tables(b);
        for (size_t p = size_t(shard_.pair_starts[b]); p < size_t(shard_.pair_starts[b + 1]); ++p) {
            document_table(size_t(shard_.doc[p]));
            pair<false>(b, p);
        }
        finish(b);
        const size_t first = size_t(shard_.row_starts[b]);
        for (size_t r = 0; r < shard_.rows_in(b); ++r) {
            double* S = &sea_.S[size_t(shard_.slot[first + r]) * K_];
            for (size_t k = 0; k < K_; ++k) S[k] += change_[r * K_ + k];
        }
        sea_.total.add(delta_);
    }

    void prepare(size_t b) {
        const size_t rows = shard_.rows_in(b), from = size_t(shard_.entry_starts[size_t(shard_.pair_starts[b])]);
        const size_t entries = size_t(shard_.entry_starts[size_t(shard_.pair_starts[b + 1])]) - from;
        e_.assign(rows * stride_, 0.f);
        sum_.resize(entries);
        if (dense()) {
            back_.assign(rows * stride_, 0.f);
        } else {
            counts_.assign(rows * K_, 0.0);
            spread_.assign(rows, 0.0);
        }
        change_.resize(rows * K_);
    }

    /// e_rk = exp(psi(lambda_rk) - psi(sum lambda_k)), times what it takes to stay within a float.
    void tables(size_t b) {
        sea_.total.read(norm_);
        double least = std::numeric_limits<double>::infinity();
        for (size_t k = 0; k < K_; ++k) {
            norm_[k] += sea_.eta_total[k];
            norm_[k] = means_ ? math::log(norm_[k]) : math::digamma(norm_[k]);
        }
        for (size_t k = 0; k < K_; ++k) least = std::min(least, norm_[k]);
        for (size_t k = 0; k < K_; ++k) w_[k] = float(math::exp(least - norm_[k]));
        const size_t first = size_t(shard_.row_starts[b]);
        for (size_t r = 0; r < shard_.rows_in(b); ++r) {
            const size_t slot = size_t(shard_.slot[first + r]), v = size_t(sea_.blocks.word[slot]);
            const double* S = &sea_.S[slot * K_];
            for (size_t k = 0; k < K_; ++k) gamma_[k] = std::max(S[k], 0.0) + sea_.eta(v, k);
            float* e = &e_[r * stride_];
            weights(gamma_.data(), w_.data(), e);
            float most = 0;
            for (size_t k = 0; k < K_; ++k) most = std::max(most, e[k]);
            for (size_t k = 0; k < K_; ++k) e[k] = std::max(e[k], most * kLeast);
        }
        log_sums();
    }

    /// In the place of tables: the shares of topics in each word, and no opinion of the document.
    void shares(size_t b) {
        const size_t first = size_t(shard_.row_starts[b]);
        for (size_t r = 0; r < shard_.rows_in(b); ++r) {
            const size_t slot = size_t(shard_.slot[first + r]), v = size_t(sea_.blocks.word[slot]);
            double sum = 0;
            for (size_t k = 0; k < K_; ++k) sum += gamma_[k] = std::max(sea_.S[slot * K_ + k], 0.0) + sea_.eta(v, k);
            for (size_t k = 0; k < K_; ++k) e_[r * stride_ + k] = float(gamma_[k] / sum);
        }
        std::fill_n(w_.begin(), K_, 1.f);
        std::fill(log_w_.begin(), log_w_.end(), 0.f);
        log_sums();
    }

    /// For Rest::best: sum over topics of log e, row by row.
    void log_sums() {
        if (dense() || sea_.rest != Rest::best) return;
        log_e_.resize(e_.size() / stride_);
        for (size_t r = 0; r < log_e_.size(); ++r) {
            double sum = 0;
            const float* e = &e_[r * stride_];
#pragma omp simd reduction(+ : sum)
            for (size_t k = 0; k < K_; ++k) sum += double(math::log(std::max(e[k], kTiny)));
            log_e_[r] = sum;
        }
    }

    /// w_k = exp(psi(gamma_dk)), as the document is now.
    void document_table(size_t d) {
        const double *N = &N_[d * K_], *alpha = sea_.alpha.data(), even = even_[d];
        double* gamma = gamma_.data();
#pragma omp simd
        for (size_t k = 0; k < K_; ++k) gamma[k] = alpha[k] + std::max(N[k] + even, 0.0);
        weights(gamma, nullptr, w_.data());
        const float* w = w_.data();
        float* log_w = log_w_.data();
#pragma omp simd
        for (size_t k = 0; k < K_; ++k) log_w[k] = math::log(std::max(w[k], kTiny));
    }

    /// out = exp(psi(x)), in the opening x, times `scale` if there is one; or a multiple of that where it would all
    /// vanish in a float.
    void weights(const double* x, const float* scale, float* out) const {
        float largest = 0;
        if (means_) {
#pragma omp simd
            for (size_t k = 0; k < K_; ++k) out[k] = float(x[k]);
        } else {
#pragma omp simd reduction(max : largest)
            for (size_t k = 0; k < K_; ++k) {
                out[k] = math::exp_digamma(float(x[k]));
                largest = std::max(largest, out[k]);
            }
            if (largest < kSafe) {
                double most = -std::numeric_limits<double>::infinity();
                for (size_t k = 0; k < K_; ++k) most = std::max(most, math::digamma(x[k]));
                for (size_t k = 0; k < K_; ++k) out[k] = float(math::exp(math::digamma(x[k]) - most));
            }
        }
        if (!scale) return;
#pragma omp simd
        for (size_t k = 0; k < K_; ++k) out[k] *= scale[k];
    }

    /// The words of one document in this block, under the tables e_ and w_.
    template <bool First>
    void pair(size_t b, size_t p) {
        if (dense()) {
            all_topics<First>(b, p);
        } else {
            kept_topics<First>(p);
        }
    }

    size_t place(size_t b, size_t i) const { return i - size_t(shard_.entry_starts[size_t(shard_.pair_starts[b])]); }

    /// phi = e w / s for every word: the document gets w sum (c / s) e, the word e sum (c / s) w.
    template <bool First>
    void all_topics(size_t b, size_t p) {
        float* A = u_.data();
        const float *w = w_.data(), *log_w = log_w_.data();
        std::fill_n(A, stride_, 0.f);
        for (size_t i = size_t(shard_.entry_starts[p]); i < size_t(shard_.entry_starts[p + 1]); ++i) {
            const float* e = &e_[shard_.row[i] * stride_];
            float* back = &back_[shard_.row[i] * stride_];
            float s = 0;
#pragma omp simd reduction(+ : s)
            for (size_t k = 0; k < stride_; ++k) s += e[k] * w[k];
            s = std::max(s, kTiny);
            sum_[place(b, i)] = s;
            const float a = shard_.count[i] / s;
#pragma omp simd
            for (size_t k = 0; k < stride_; ++k) {
                A[k] += a * e[k];
                back[k] += a * w[k];
            }
        }
        double *N = &N_[size_t(shard_.doc[p]) * K_], cross = 0;
        float* G = &G_[p * K_];
#pragma omp simd reduction(+ : cross)
        for (size_t k = 0; k < K_; ++k) {
            const float now = A[k] * w[k];
            N[k] += First ? double(now) : double(now) - double(G[k]);
            G[k] = now;
            cross += double(now) * double(log_w[k]);
        }
        entropy_now_ -= cross;
    }

    /// The C largest of e w, and the rest of the mass shared out evenly.
    template <bool First>
    void kept_topics(size_t p) {
        const size_t C = sea_.C, d = size_t(shard_.doc[p]);
        const double others = double(K_ - C);
        const float *w = w_.data(), *log_w = log_w_.data();
        double *N = &N_[d * K_], log_all = 0;
        float* u = u_.data();
        if (sea_.rest == Rest::best) {
#pragma omp simd reduction(+ : log_all)
            for (size_t k = 0; k < K_; ++k) log_all += double(log_w[k]);
        }
        for (size_t i = size_t(shard_.entry_starts[p]); i < size_t(shard_.entry_starts[p + 1]); ++i) {
            const size_t r = shard_.row[i];
            const double c = shard_.count[i];
            const float* e = &e_[r * stride_];
            TopicId* id = &id_[i * C];
            float *phi = &phi_[i * C], s = 0, top = 0;
            if (!First) {
                const double even = share_of_others(phi, kept_[i]);
                for (size_t j = 0; j < kept_[i]; ++j) N[id[j]] -= c * (double(phi[j]) - even);
                even_[d] -= c * even;
            }
#pragma omp simd reduction(+ : s)
            for (size_t k = 0; k < K_; ++k) s += u[k] = e[k] * w[k];
            const size_t m = kept_[i] = TopicId(select(std::max(s * kNothing, kTiny), id, phi));
            for (size_t j = 0; j < m; ++j) top += phi[j];
            if (sea_.rest == Rest::best) {
                double logs = log_e_[r] + log_all;
#pragma omp simd reduction(+ : logs)
                for (size_t j = 0; j < m; ++j) logs -= double(math::log(phi[j]));
                s = m == C ? top + float(others * math::exp(logs / others)) : top;
            } else if (m < C) {
                s = top;
            }
            const float scale = 1.f / std::max(s, kTiny);
            for (size_t j = 0; j < m; ++j) phi[j] *= scale;
            const double even = share_of_others(phi, m);
            add_entry(r, c, m, even, id, phi);
            for (size_t j = 0; j < m; ++j) N[id[j]] += c * (double(phi[j]) - even);
            even_[d] += c * even;
        }
    }

    /// Counts an entry among its word's tokens, and its entropy.
    void add_entry(size_t r, double c, size_t m, double even, const TopicId* id, const float* phi) {
        const size_t lanes = (m + kLanes - 1) / kLanes * kLanes;
        double *S = &counts_[r * K_], H = 0;
        float* x = near_.data();
        std::copy(phi, phi + m, x);
        std::fill(x + m, x + lanes, 1.f);
#pragma omp simd reduction(+ : H)
        for (size_t j = 0; j < lanes; ++j) H -= double(x[j] * math::log(std::max(x[j], kTiny)));
        if (even > 0) H -= double(K_ - sea_.C) * even * std::log(even);
        entropy_now_ += c * H;
        for (size_t j = 0; j < m; ++j) S[id[j]] += c * (double(phi[j]) - even);
        spread_[r] += c * even;
    }

    /// The C largest of u_ and their topics, ascending; fewer where fewer are over `least`. Returns how many.
    size_t select(float least, TopicId* id, float* value) {
        const size_t C = sea_.C;
        const size_t n = Lanes<float>::filter_ge(u_.data(), K_, least, near_.data(), near_id_.data(), near_.size());
        if (n <= C) {
            for (size_t j = 0; j < n; ++j) id[j] = TopicId(near_id_[j]), value[j] = near_[j];
            return n;
        }
        select_top_l(std::span<const float>(near_.data(), n), C, chosen_.data(), value);
        for (size_t j = 0; j < C; ++j) id[j] = TopicId(near_id_[size_t(chosen_[j])]);
        return C;
    }

    /// What each topic that an entry does not keep has of it: nothing if there was nothing left to keep.
    double share_of_others(const float* phi, size_t m) const {
        if (m < sea_.C) return 0;
        double sum = 0;
        for (size_t j = 0; j < m; ++j) sum += double(phi[j]);
        return std::max(1.0 - sum, 0.0) / double(K_ - sea_.C);
    }

    /// Puts the new counts of the block's words into R_; what changed goes to change_, and its sum over words to
    /// delta_.
    void finish(size_t b) {
        const size_t first = size_t(shard_.row_starts[b]);
        std::fill(delta_.begin(), delta_.end(), 0.0);
        double H = entropy_now_;
        entropy_now_ = 0;
        for (size_t r = 0; r < shard_.rows_in(b); ++r) {
            double *R = &R_[(first + r) * K_], *change = &change_[r * K_], *delta = delta_.data();
            // Float sums, made to add up to the word's tokens.
            if (dense()) {
                const float *e = &e_[r * stride_], *back = &back_[r * stride_];
                double cross = 0;
#pragma omp simd reduction(+ : cross)
                for (size_t k = 0; k < K_; ++k) {
                    change[k] = double(e[k]) * double(back[k]);
                    cross += change[k] * double(math::log(std::max(e[k], kTiny)));
                }
                H -= cross;
            } else {
                const double *now = &counts_[r * K_], even = spread_[r];
#pragma omp simd
                for (size_t k = 0; k < K_; ++k) change[k] = std::max(now[k] + even, 0.0);
            }
            double all = 0;
#pragma omp simd reduction(+ : all)
            for (size_t k = 0; k < K_; ++k) all += change[k];
            const double scale = shard_.tokens[first + r] / all;
#pragma omp simd
            for (size_t k = 0; k < K_; ++k) {
                const double now = change[k] * scale;
                change[k] = now - R[k];
                delta[k] += change[k];
                R[k] = now;
            }
        }
        if (dense()) {
            const size_t from = size_t(shard_.entry_starts[size_t(shard_.pair_starts[b])]);
            const float *s = sum_.data(), *c = shard_.count.data() + from;
            double logs = 0;
#pragma omp simd reduction(+ : logs)
            for (size_t i = 0; i < sum_.size(); ++i) logs += double(c[i]) * double(math::log(s[i]));
            H += logs;
        }
        entropy_[b] = H;
    }

    TopicSea& sea_;
    TopicShard shard_;
    size_t K_, stride_;
    std::vector<double> R_;        // [rows, K] what the words have from these documents
    std::vector<double> N_;        // [docs, K] gamma - alpha, less what is even
    std::vector<double> even_;     // [docs] what every topic has from entries that do not keep it; topics that are kept
                                   // have it too, and N makes up for it
    std::vector<double> entropy_;  // [B]
    double entropy_now_ = 0;       // of the visit under way
    size_t visits_ = 0;
    std::vector<float> G_;       // [pairs, K] what a document has from the words of a block; all topics kept
    std::vector<TopicId> id_;    // [entries, C] topics kept
    std::vector<float> phi_;     // [entries, C]
    std::vector<TopicId> kept_;  // [entries] how many of the C are in use

    // Of one visit.
    bool means_ = false;
    std::vector<float> e_, back_, log_w_, w_, u_, sum_, near_;
    std::vector<double> gamma_, norm_, delta_, change_, counts_, spread_, log_e_;
    std::vector<int32_t> chosen_, near_id_;
};

}  // namespace topmix::nomad
