// The topics of many documents and how many of its tokens each has, eight on a line: a document that has settled is one
// line of 32 bytes, whatever K is.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/word_stats.hpp"
#include "simd/topic_line.hpp"

namespace topmix {

/// The lines of documents, which are added one after another. A document never has more topics than it had room for.
template <class Count>
class DocumentTopics {
  public:
    using Line = TopicLine<Count>;

    explicit DocumentTopics(size_t K) : place_(K, kNoTopic) {}

    void clear() { lines_.clear(), documents_.clear(); }

    /// A document whose tokens have these topics.
    void append(std::span<const TopicId> z) {
        open(std::min(z.size(), place_.size()));  // topics that it can have, now or later
        Line* lines = &lines_[documents_.back().first];
        size_t n = 0;
        for (const TopicId k : z) {
            if (place_[k] == kNoTopic) place_[k] = n, lines[n / kLine].id[n % kLine] = k, ++n;
            ++lines[place_[k] / kLine].count[place_[k] % kLine];
        }
        for (size_t i = 0; i < n; ++i) place_[lines[i / kLine].id[i % kLine]] = kNoTopic;
        documents_.back().used = uint32_t(std::max<size_t>((n + kLine - 1) / kLine, 1));
    }

    /// A document with these topics in these proportions.
    void append(std::span<const TopicId> topic, std::span<const float> count) {
        open(topic.size());
        Line* lines = &lines_[documents_.back().first];
        for (size_t i = 0; i < topic.size(); ++i)
            lines[i / kLine].id[i % kLine] = topic[i], lines[i / kLine].count[i % kLine] = Count(count[i]);
        documents_.back().used = uint32_t(std::max<size_t>((topic.size() + kLine - 1) / kLine, 1));
    }

    /// At least one.
    std::span<Line> operator[](size_t d) { return {&lines_[documents_[d].first], documents_[d].used}; }

    /// Tokens of topic k.
    float count(size_t d, size_t k) {
        for (const Line& line : (*this)[d])
            if (const uint32_t found = places_of(line, k)) return float(line.count[std::countr_zero(found)]);
        return 0;
    }

    /// One more token of topic k.
    void add(size_t d, size_t k) {
        const std::span<Line> lines = (*this)[d];
        for (Line& line : lines)
            if (const uint32_t found = places_of(line, k)) return void(++line.count[std::countr_zero(found)]);
        for (Line& line : lines)
            if (const uint32_t found = free_places(line)) return put(line, size_t(std::countr_zero(found)), k);
        put(lines_[documents_[d].first + documents_[d].used++], 0, k);
    }

    void prefetch(size_t d) const {
#if defined(__GNUC__)
        __builtin_prefetch(&lines_[documents_[d].first], 1);
#endif
    }

  private:
    struct Document {
        uint32_t first, used;  // lines
    };

    std::vector<Line> lines_;
    std::vector<Document> documents_;
    std::vector<size_t> place_;  // [K] of each topic in the document that is being added

    void open(size_t places) {
        documents_.push_back({uint32_t(lines_.size()), 1});
        lines_.resize(lines_.size() + std::max<size_t>((places + kLine - 1) / kLine, 1));
    }

    static void put(Line& line, size_t lane, size_t k) { line.id[lane] = TopicId(k), line.count[lane] = Count(1); }
};

}  // namespace topmix
