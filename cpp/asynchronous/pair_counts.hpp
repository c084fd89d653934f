// What each document has from the words of each block, sum_{v in block} c_dv phi_dvk: all that has to be taken out when
// the block comes again. No phi is stored.
//
// Where entries keep C of K topics, a pair of m entries has at most min(K, m C) that are not the same for all. Only
// what is not zero is kept, with its topic.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "asynchronous/topic_tables.hpp"
#include "models/word_stats.hpp"
#include "simd/lanes.hpp"

namespace topmix::asynchronous {

class PairCounts {
  public:
    PairCounts(const TopicShard& shard, size_t K, size_t C) : K_(K), near_(K + 2 * kWidth), near_topic_(near_.size()) {
        const size_t pairs = shard.doc.size();
        for (size_t p = 0; p < pairs; ++p) {
            const auto entries = size_t(shard.entry_starts[p + 1] - shard.entry_starts[p]);
            starts_.push_back(starts_.back() + std::min(K, entries * std::min(C, K)));
        }
        topic_ = std::make_unique_for_overwrite<TopicId[]>(starts_.back());
        value_ = std::make_unique_for_overwrite<float[]>(starts_.back());
        used_.assign(pairs, 0);
        even_.assign(C < K ? pairs : 0, 0.f);
    }

    /// Puts the pair's new counts [K], none negative, and what all topics have besides, in the place of the old: in N
    /// and even of its document.
    void replace(size_t p, const float* now, float even_now, double* N, double& even) {
        if (!even_.empty()) {
            even += double(even_now) - double(even_[p]);
            even_[p] = even_now;
        }
        TopicId* topic = &topic_[starts_[p]];
        float* value = &value_[starts_[p]];
        for (size_t j = 0; j < used_[p]; ++j) N[topic[j]] -= double(value[j]);
        const size_t found = Lanes<float>::filter_ge(now, K_, kTrifle, near_.data(), near_topic_.data(), near_.size());
        const size_t n = std::min(found, starts_[p + 1] - starts_[p]);
        for (size_t j = 0; j < n; ++j) {
            topic[j] = TopicId(near_topic_[j]);
            value[j] = near_[j];
            N[topic[j]] += double(value[j]);
        }
        used_[p] = uint32_t(n);
    }

    size_t bytes() const {
        return starts_.back() * (sizeof(float) + sizeof(TopicId)) + starts_.size() * sizeof(size_t) +
               sizeof(float) * even_.size();
    }

  private:
    static constexpr float kTrifle = 1e-12f;  // tokens; less is not worth a place
    const size_t K_;
    std::vector<size_t> starts_{0};  // [pairs + 1]
    std::vector<uint32_t> used_;
    std::unique_ptr<TopicId[]> topic_;
    std::unique_ptr<float[]> value_;
    std::vector<float> even_;  // [pairs] of every topic, kept or not
    std::vector<float> near_;
    std::vector<int32_t> near_topic_;
};

}  // namespace topmix::asynchronous
