// The documents of one process, which blocks of words visit: a block comes with its rows, and leaves with them. The
// caller moves blocks and says who visits which; docs/math.md, section 3.10.
//
// Nothing here has the size of all words and all topics. What stays is of the documents: their counts, what they have
// from the words of each block, and what words have from them, without zeros.
#pragma once
#include <atomic>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "asynchronous/topic_worker.hpp"
#include "base/parallel.hpp"

namespace topmix::asynchronous {

class NomadicTopics {
  public:
    using Under = TopicWorker::Under;

    /// Documents bounds[w] to bounds[w + 1] are worker w's.
    NomadicTopics(const Csr<float>& X, size_t V, std::span<const int64_t> bounds, WordBlocks blocks, size_t K, size_t C,
                  Tail tail)
        : V_(V), shared_(std::move(blocks), K, C, tail, 0, false), fresh_(shared_.blocks.size()), own_(K) {
        const size_t T = bounds.size() - 1;
        workers_.resize(T);
        bytes_ = std::make_unique<std::atomic<size_t>[]>(T);
        parallel_for(T, 1, int(T), [&](size_t w, size_t, size_t) {
            workers_[w] = std::make_unique<TopicWorker>(shared_, X, size_t(bounds[w]), size_t(bounds[w + 1]), true);
            bytes_[w].store(workers_[w]->bytes());
        });
    }

    size_t workers() const { return workers_.size(); }
    size_t words() const { return V_; }
    SharedTopics& shared() { return shared_; }
    const SharedTopics& shared() const { return shared_; }

    /// The priors, and sums over words as they are now, of all words; what this process adds to these is counted from
    /// here. Nobody visits before.
    void begin(std::span<const double> alpha, std::span<const double> eta, size_t eta_words,
               std::span<const double> total) {
        shared_.priors(V_, alpha, eta, eta_words);
        std::vector<double> change(shared_.K);
        shared_.total.read(change);
        for (size_t k = 0; k < shared_.K; ++k) change[k] = total[k] - change[k];
        shared_.total.add(change);
        own_.read(change);
        for (double& x : change) x = -x;
        own_.add(change);
    }

    /// A block arrives: its rows, and where documents begin also the rows that they fill.
    void put(size_t b, std::span<const double> rows, std::span<const double> fresh) {
        if (!shared_.S[b].empty()) throw std::logic_error("block " + std::to_string(b) + " is here already");
        shared_.S[b].assign(rows.begin(), rows.end());
        fresh_[b].assign(fresh.begin(), fresh.end());
        resident_.fetch_add(rows.size() + fresh.size());
    }

    /// It leaves: what `put` brought, after the visits.
    std::pair<std::vector<double>, std::vector<double>> take(size_t b) {
        require_here(b);
        resident_.fetch_sub(shared_.S[b].size() + fresh_[b].size());
        return {std::exchange(shared_.S[b], {}), std::exchange(fresh_[b], {})};
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

    /// Bytes: of blocks that are here, and what documents need.
    size_t resident() const { return sizeof(double) * resident_.load(); }
    size_t of_documents() const {
        size_t n = 0;
        for (size_t w = 0; w < workers_.size(); ++w) n += bytes_[w].load();
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
    std::unique_ptr<std::atomic<size_t>[]> bytes_;  // [workers] after its last visit
    std::atomic<size_t> resident_{0};               // numbers
};

}  // namespace topmix::asynchronous
