// One worker of asynchronous learning of topics: ESVI for LDA (Zhang et al. 2019, Algorithm 5).  docs/math.md,
// section 3.10.
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
// Where updates go by token, a block is one word, and lambda_v and its sum follow each token at once, as in the paper.
//
// phi itself is not stored. What has to be taken out again are sums over it: the counts that a document has from the
// words of a block, and those that a word has from the documents of a worker.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "asynchronous/pair_counts.hpp"
#include "asynchronous/routes.hpp"
#include "asynchronous/topic_solver.hpp"

namespace topmix::asynchronous {

class TopicWorker {
  public:
    using Post = TopicPost;

    /// What stands for exp psi(x): shares of topics in each word alone, x itself, or what it says.
    enum class Under { shares, means, logarithms };

    TopicWorker(SharedTopics& shared, const Csr<float>& X, size_t first, size_t last)
        : shared_(shared),
          shard_(X, shared.blocks, first, last),
          K_(shared.K),
          solver_(shared),
          pairs_(shard_, shared.K, shared.C),
          R_(shard_.slot.size(), K_),
          N_(shard_.docs * K_, 0.0),
          even_(shard_.docs, 0.0),
          entropy_(shared.blocks.size(), 0.0),
          delta_(K_) {}

    const TopicShard& shard() const { return shard_; }

    /// Documents are solved for a block whose rows stay as they are.
    void begin(size_t b, Under under) {
        solve(b, under);
        replace(b, false);
    }

    /// Adds what it holds of block b to these rows [slots of the block, K].
    void contribute(size_t b, double* rows) {
        for (size_t r = size_t(shard_.row_starts[b]); r < size_t(shard_.row_starts[b + 1]); ++r) {
            double* S = rows + (shard_.slot[r] - shared_.blocks.starts[b]) * std::ptrdiff_t(K_);
            R_.each(r, row_, [S](size_t k, double x) { S[k] += x; });
        }
    }

    /// [K] what the last visit changed in the sums over words.
    std::span<const double> delta() const { return delta_; }

    void visit(std::span<const BlockId> held) {
        for (const BlockId b : held) {
            const bool opens = visits_++ < shared_.warm_up * shared_.blocks.size();
            visit(b, opens ? Under::means : Under::logarithms);
        }
    }

    void visit(size_t b, Under under) {
        if (shard_.rows_in(b) == 0) {
            std::ranges::fill(delta_, 0.0);
        } else if (shared_.by_token) {
            solve_by_token(b, under);
            replace(b, true);
            for (size_t k = 0; k < K_; ++k) delta_[k] -= moved_[k];
            shared_.total.add(delta_);
            for (size_t k = 0; k < K_; ++k) delta_[k] += moved_[k];
        } else {
            solve(b, under);
            replace(b, true);
            shared_.total.add(delta_);
        }
    }

    Post post() const {
        Post out = summary();
        out.R = R_;
        return out;
    }

    /// The post without the counts of words.
    Post summary() const {
        Post out{{}, std::vector<double>(K_, 0.0), 0, 0};
        for (const double h : entropy_) out.entropy += h;
        std::vector<double> a(K_), psi_a(K_);
        double at_prior = 0;
        for (size_t k = 0; k < K_; ++k) {
            psi_a[k] = math::digamma(shared_.alpha[k]);
            at_prior += math::lgamma(shared_.alpha[k]);
        }
        for (size_t d = 0; d < shard_.docs; ++d) {
            const double *N = &N_[d * K_], even = even_[d], *alpha = shared_.alpha.data(), *psi = psi_a.data();
            double *rise = out.rise.data(), *x = a.data(), sum = 0;
#pragma omp simd
            for (size_t k = 0; k < K_; ++k) x[k] = alpha[k] + (N[k] + even > 0.0 ? N[k] + even : 0.0);
#pragma omp simd
            for (size_t k = 0; k < K_; ++k) rise[k] += math::digamma(x[k]) - psi[k];
#pragma omp simd reduction(+ : sum)
            for (size_t k = 0; k < K_; ++k) sum += math::lgamma(x[k]);
            out.documents += sum - at_prior;
        }
        return out;
    }

    size_t bytes() const {
        return pairs_.bytes() + R_.bytes() + sizeof(double) * (N_.size() + even_.size()) +
               sizeof(float) * shard_.count.size() + sizeof(uint16_t) * shard_.row.size() +
               (sizeof(int32_t) + sizeof(int64_t)) * shard_.doc.size();
    }

  private:
    std::span<const int32_t> slots(size_t b) const {
        return std::span(shard_.slot).subspan(size_t(shard_.row_starts[b]), shard_.rows_in(b));
    }

    /// All pairs of a block: documents change at once, words when the visit is over.
    void solve(size_t b, Under under) {
        const size_t first = size_t(shard_.pair_starts[b]), last = size_t(shard_.pair_starts[b + 1]);
        const size_t from = size_t(shard_.entry_starts[first]), to = size_t(shard_.entry_starts[last]);
        const bool means = under == Under::means;
        solver_.open(shard_.rows_in(b), to - from, means);
        const bool others = solver_.is_best();
        if (under == Under::shares) {
            solver_.tables.shares(b, slots(b), others);
        } else {
            solver_.tables.words(b, slots(b), means, others);
        }
        for (size_t p = first; p < last; ++p) {
            const size_t d = size_t(shard_.doc[p]), i = size_t(shard_.entry_starts[p]);
            const size_t n = size_t(shard_.entry_starts[p + 1]) - i;
            if (under != Under::shares) solver_.tables.document(&N_[d * K_], even_[d], others);
            solver_.pair(std::span(shard_.row).subspan(i, n), std::span(shard_.count).subspan(i, n));
            pairs_.replace(p, numbers(solver_.doc), solver_.doc_even, &N_[d * K_], even_[d]);
        }
        solver_.close(std::span(shard_.count).subspan(from, to - from));
        entropy_[b] = solver_.entropy;
    }

    /// Algorithm 5 as it is written: the block is one word, and its row and the sums over words follow every token. At
    /// the end the row is what it was: `replace` puts the new counts there from sums in which nothing was rounded away.
    /// moved_ is what the sums over words have already.
    void solve_by_token(size_t b, Under under) {
        const size_t J = solver_.tables.vectors;
        const bool means = under == Under::means;
        double *S = shared_.row(b, size_t(slots(b)[0])), entropy = 0, spread = 0;
        const std::vector<double> row(S, S + K_);
        std::vector<Vector> word(J, Vector{});
        moved_.assign(K_, 0.0);
        before_.resize(K_);
        for (size_t p = size_t(shard_.pair_starts[b]); p < size_t(shard_.pair_starts[b + 1]); ++p) {
            const size_t d = size_t(shard_.doc[p]), i = size_t(shard_.entry_starts[p]);
            double *N = &N_[d * K_], even = even_[d];
            solver_.open(1, 1, means);
            const bool others = solver_.is_best();
            solver_.tables.words(b, slots(b), means, others);
            solver_.tables.document(N, even, others);
            solver_.pair(std::span(shard_.row).subspan(i, 1), std::span(shard_.count).subspan(i, 1));
            for (size_t k = 0; k < K_; ++k) before_[k] = N[k] + even;
            pairs_.replace(p, numbers(solver_.doc), solver_.doc_even, N, even_[d]);
            solver_.close(std::span(shard_.count).subspan(i, 1));
            for (size_t k = 0; k < K_; ++k) {
                delta_[k] = N[k] + even_[d] - before_[k];
                S[k] += delta_[k];
                moved_[k] += delta_[k];
            }
            shared_.total.add(delta_);
            for (size_t j = 0; j < J; ++j) word[j] += solver_.word[j];
            spread += solver_.spread[0];
            entropy += solver_.entropy;
        }
        std::ranges::copy(row, S);
        solver_.word = std::move(word);
        solver_.spread.assign(1, spread);
        entropy_[b] = entropy;
    }

    /// Puts the new counts of the block's words into R_, made to add up to the words' tokens. What changed goes into
    /// the words' rows of S, if these are to follow, and its sum over words into delta_.
    void replace(size_t b, bool follow) {
        std::ranges::fill(delta_, 0.0);
        double* delta = delta_.data();
        for (size_t r = size_t(shard_.row_starts[b]); r < size_t(shard_.row_starts[b + 1]); ++r) {
            const size_t here = r - size_t(shard_.row_starts[b]);
            float* now = numbers(solver_.word) + here * solver_.stride();
            for (size_t k = 0; k < K_; ++k) now[k] = now[k] < WordCounts::kTrifle ? 0.f : now[k];
            const double even = solver_.spread[here];
            double all = even * double(K_);
#pragma omp simd reduction(+ : all)
            for (size_t k = 0; k < K_; ++k) all += double(now[k]);
            const double scale = shard_.tokens[r] / all;
            if (follow) {
                double* row = shared_.row(b, size_t(shard_.slot[r]));
                R_.each(r, row_, [=](size_t k, double before) {
                    const double more = (double(now[k]) + even) * scale - before;
                    row[k] += more;
                    delta[k] += more;
                });
            }
            R_.set(r, now, even, scale);
        }
    }

    SharedTopics& shared_;
    TopicShard shard_;
    const size_t K_;
    TopicSolver solver_;
    PairCounts pairs_;
    WordCounts R_;                 // what the words have from these documents
    std::vector<double> N_;        // [docs, K] gamma - alpha, less what is even
    std::vector<double> even_;     // [docs] what every topic has from entries that do not keep it; topics that are kept
                                   // have it too, and N makes up for it
    std::vector<double> entropy_;  // [B]
    std::vector<double> delta_;    // [K]
    std::vector<float> row_;       // [K], laid out
    std::vector<double> moved_, before_;  // [K], for updates by token
    size_t visits_ = 0;
};

}  // namespace topmix::asynchronous
