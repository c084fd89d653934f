// Blocks of words that move between workers, and the documents that stay.  docs/math.md, section 3.10.
//
// The documents of one process are visited by blocks of words: a block comes with its rows, and leaves with them
// (NomadicTopics). Where it comes from is the caller's business, who says who visits which. Or all blocks are here, and
// move between threads by themselves (AsynchronousTopics).
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "asynchronous/topic_worker.hpp"
#include "asynchronous/worker_pool.hpp"
#include "base/parallel.hpp"

namespace topmix::asynchronous {

/// Nothing here has the size of all words and all topics, but what is in blocks. What stays is of the documents: their
/// counts, what they have from the words of each block, and what words have from them, without zeros.
class NomadicTopics {
  public:
    using Under = TopicWorker::Under;

    /// Documents bounds[w] to bounds[w + 1] are worker w's.
    NomadicTopics(const Csr<float>& X, size_t V, std::span<const int64_t> bounds, WordBlocks blocks,
                  const TopicSettings& how)
        : V_(V),
          shared_(std::move(blocks), how),
          fresh_(shared_.blocks.size()),
          own_(how.K),
          workers_(bounds.size() - 1),
          bytes_(workers_.size()) {
        const size_t T = workers_.size();
        parallel_for(T, 1, int(T), [&](size_t w, size_t, size_t) {
            workers_[w] = std::make_unique<TopicWorker>(shared_, X, size_t(bounds[w]), size_t(bounds[w + 1]));
            bytes_[w].store(workers_[w]->bytes());
        });
    }

    NomadicTopics(const NomadicTopics&) = delete;

    const std::vector<std::unique_ptr<TopicWorker>>& workers() const { return workers_; }
    size_t words() const { return V_; }
    const SharedTopics& shared() const { return shared_; }

    /// The priors, and sums over words as they are now, of all words; what this process adds to these is counted from
    /// here. Nobody visits before.
    void begin(std::span<const double> alpha, std::span<const double> eta, size_t eta_words,
               std::span<const double> total) {
        priors(alpha, eta, eta_words);
        shared_.total.set(total);
        own_.set(std::vector<double>(shared_.K, 0.0));
    }

    /// eta [V or 1, K or 1]. Call it while no worker runs.
    void priors(std::span<const double> alpha, std::span<const double> eta, size_t eta_words) {
        shared_.priors(V_, alpha, eta, eta_words);
    }

    /// A block arrives: its rows, and where documents begin also the rows that they fill.
    void put(size_t b, std::span<const double> rows, std::span<const double> fresh) {
        if (!shared_.S[b].empty()) throw std::logic_error("block " + std::to_string(b) + " is here already");
        shared_.S[b].assign(rows.begin(), rows.end());
        fresh_[b].assign(fresh.begin(), fresh.end());
    }

    /// It leaves: what `put` brought, after the visits.
    std::pair<std::vector<double>, std::vector<double>> take(size_t b) {
        require_here(b);
        return {std::exchange(shared_.S[b], {}), std::exchange(fresh_[b], {})};
    }

    /// The rows that all documents fill take the place of those that they began with. Returns them.
    const std::vector<double>& begun(size_t b) {
        for (const auto& worker : workers_) worker->contribute(b, fresh_[b].data());
        return shared_.S[b] = std::exchange(fresh_[b], {});
    }

    /// Worker w has the block: its documents and the block's rows follow each other.
    void visit(size_t w, size_t b, Under under) {
        require_begun();
        require_here(b);
        workers_[w]->visit(b, under);
        own_.add(workers_[w]->delta());
        bytes_[w].store(workers_[w]->bytes());
    }

    /// Worker w has the block, whose rows stay as they are: documents begin, or settle. At the end they put what they
    /// give to its words into the fresh rows.
    void begin_visit(size_t w, size_t b, Under under, bool contribute) {
        require_begun();
        require_here(b);
        if (contribute && fresh_[b].empty()) throw std::logic_error("there are no rows to contribute to");
        workers_[w]->begin(b, under);
        if (contribute) workers_[w]->contribute(b, fresh_[b].data());
        bytes_[w].store(workers_[w]->bytes());
    }

    TopicPost summary(size_t w) const {
        require_begun();
        return workers_[w]->summary();
    }

    /// Changes of the sums over words by other processes.
    void apply_total(std::span<const double> delta) { shared_.total.add(delta); }

    /// Changes by this one, since `begin`.
    void own(std::span<double> out) const { own_.read(out); }

    /// Bytes that documents need.
    size_t of_documents() const {
        size_t n = 0;
        for (const auto& bytes : bytes_) n += bytes.load();
        return n;
    }

  private:
    void require_begun() const {
        if (shared_.alpha.empty()) throw std::logic_error("there are no priors before begin()");
    }
    void require_here(size_t b) const {
        if (shared_.S[b].empty()) throw std::logic_error("block " + std::to_string(b) + " is not here");
    }

    size_t V_;
    SharedTopics shared_;
    std::vector<std::vector<double>> fresh_;  // [B], as S
    Totals own_;
    std::vector<std::unique_ptr<TopicWorker>> workers_;
    std::vector<std::atomic<size_t>> bytes_;  // [workers] after its last visit
};

/// Statistics of all documents at one moment: the sum of the workers' posts.
struct TopicSnapshot {
    std::vector<double> S;     // [V, K]
    std::vector<double> rise;  // as in TopicPost, and the rest too
    double entropy = 0, documents = 0;
};

/// The topics to start from, and the priors.
struct TopicsToStart {
    Rows<const double> counts;      // [V, K]
    std::span<const double> alpha;  // [K]
    std::span<const double> eta;    // [V or 1, K or 1]
    size_t eta_words;               // V or 1
};

class AsynchronousTopics {
  public:
    /// Documents first make `settle` passes under the topics that they start from, before those move. `seed` is of the
    /// order in which blocks travel: the same in all rounds, or a new one if by token.
    AsynchronousTopics(const Csr<float>& X, std::span<const int64_t> bounds, WordBlocks blocks,
                       const TopicsToStart& start, const TopicSettings& how, size_t settle, uint64_t seed)
        : topics_(X, start.counts.rows(), bounds, std::move(blocks), how),
          workers_(shared().blocks.size(), topics_.workers(), seed,
                   how.by_token ? Routes::drawn_each_round : Routes::fixed) {
        const size_t V = topics_.words(), K = how.K;
        std::vector<double> total(K, 0.0);
        for (size_t v = 0; v < V; ++v)  // words that no document has count here, as they do in a model
            for (size_t k = 0; k < K; ++k) total[k] += start.counts[v][k];
        topics_.begin(start.alpha, start.eta, start.eta_words, total);
        const WordBlocks& travel = shared().blocks;
        for (size_t b = 0; b < travel.size(); ++b) {
            std::vector<double> rows;
            for (int64_t s = travel.starts[b]; s < travel.starts[b + 1]; ++s) {
                const auto row = start.counts[size_t(travel.word[size_t(s)])];
                rows.insert(rows.end(), row.begin(), row.end());
            }
            topics_.put(b, rows, std::vector<double>(rows.size(), 0.0));
        }
        settle_documents(settle);
        std::ranges::fill(total, 0.0);
        for (size_t b = 0; b < travel.size(); ++b) {
            const std::vector<double>& rows = topics_.begun(b);  // none, where no document has a word
            for (size_t i = 0; i < rows.size(); ++i) total[i % K] += rows[i];
        }
        topics_.begin(start.alpha, start.eta, start.eta_words, total);
    }

    void priors(std::span<const double> alpha, std::span<const double> eta, size_t eta_words) {
        topics_.priors(alpha, eta, eta_words);
    }

    WorkerPool<TopicWorker>& workers() { return workers_; }
    const SharedTopics& shared() const { return topics_.shared(); }
    size_t words() const { return topics_.words(); }

    TopicSnapshot add_up(const std::vector<TopicPost>& posts) const {
        const size_t K = shared().K;
        TopicSnapshot out{std::vector<double>(words() * K, 0.0), std::vector<double>(K, 0.0), 0, 0};
        std::vector<float> row;
        for (size_t w = 0; w < posts.size(); ++w) {
            const TopicShard& shard = topics_.workers()[w]->shard();
            for (size_t r = 0; r < shard.slot.size(); ++r) {
                double* S = &out.S[size_t(shared().blocks.word[size_t(shard.slot[r])]) * K];
                posts[w].R.each(r, row, [S](size_t k, double x) { S[k] += x; });
            }
            for (size_t k = 0; k < K; ++k) out.rise[k] += posts[w].rise[k];
            out.entropy += posts[w].entropy;
            out.documents += posts[w].documents;
        }
        return out;
    }

    /// Throws logic_error unless every block is there once and equals the workers' sums. Call it while no worker runs.
    void audit() {
        workers_.routes().audit();
        const TopicSnapshot now = add_up(workers_.now());
        const WordBlocks& blocks = shared().blocks;
        const size_t K = shared().K;
        std::vector<double> total(K), sum(K, 0.0);
        shared().total.read(total);
        double all = 0;
        for (const double x : now.S) all += x;
        const double tolerance = 1e-9 * (1.0 + all);
        for (size_t b = 0; b < blocks.size(); ++b)
            for (size_t i = 0; i < shared().S[b].size(); ++i) {
                const double x = shared().S[b][i];
                const size_t v = size_t(blocks.word[size_t(blocks.starts[b]) + i / K]);
                if (!(std::abs(x - now.S[v * K + i % K]) <= tolerance))
                    throw std::logic_error("a row lost or doubled a visit");
                sum[i % K] += x;
            }
        for (size_t k = 0; k < K; ++k)
            if (!(std::abs(sum[k] - total[k]) <= tolerance)) throw std::logic_error("the sums over words lost a delta");
    }

  private:
    /// Where documents start: every token of a word has the same shares of topics, in proportion to the shared counts
    /// plus the prior. Then passes under the shared topics, which stay as they are. Interrupts end it early.
    void settle_documents(size_t passes) {
        const size_t T = topics_.workers().size();
        std::atomic<bool> stop{false};
        parallel_for(T, 1, int(T), [&](size_t w, size_t, size_t t) {
            auto asked = std::chrono::steady_clock::now();
            for (size_t n = 0; n <= passes; ++n)
                for (size_t b = 0; b < shared().blocks.size(); ++b) {
                    const auto now = std::chrono::steady_clock::now();
                    if (t == 0 && check_interrupt && now - asked >= std::chrono::milliseconds(100)) {
                        asked = now;
                        stop.store(true);  // for the other threads, if this throws
                        check_interrupt();
                        stop.store(false);
                    }
                    if (t != 0 && stop.load()) return;
                    topics_.workers()[w]->begin(b,
                                                n == 0 ? TopicWorker::Under::shares : TopicWorker::Under::logarithms);
                }
        });
    }

    NomadicTopics topics_;
    WorkerPool<TopicWorker> workers_;  // last: its threads use the documents
};

}  // namespace topmix::asynchronous
