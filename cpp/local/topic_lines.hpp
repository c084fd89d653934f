// The topics of many documents and how many of its tokens each has, eight on a line: a document that has settled is one
// line of 32 bytes, whatever K is.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "global/word_stats.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace topmix {

constexpr size_t kLine = 8;
constexpr size_t kNoTopic = size_t(-1);

/// Eight places for topics. One with a count of 0 is free, and its id still names a topic.
template <class Count>
struct alignas(kLine * sizeof(uint32_t)) TopicLine {
    TopicId id[kLine] = {};
    Count count[kLine] = {};
};

#if defined(__AVX2__)

using LineWeights = __m256;

template <class Count>
__m256i line_ids(const TopicLine<Count>& line) {
    return _mm256_cvtepu16_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(line.id)));
}
inline __m256 line_counts(const TopicLine<uint16_t>& line) {
    const auto* counts = reinterpret_cast<const __m128i*>(line.count);
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_load_si128(counts)));
}
inline __m256 line_counts(const TopicLine<float>& line) { return _mm256_loadu_ps(line.count); }

inline uint32_t bits(__m256 x) { return uint32_t(_mm256_movemask_ps(x)); }

/// count_i row[id_i], but 0 for topic `but`.
template <class Count>
LineWeights line_weights(const TopicLine<Count>& line, const float* row, size_t but) {
    const __m256i id = line_ids(line);
    const __m256 out = _mm256_castsi256_ps(_mm256_cmpeq_epi32(id, _mm256_set1_epi32(int(but))));
    return _mm256_andnot_ps(out, _mm256_mul_ps(_mm256_i32gather_ps(row, id, 4), line_counts(line)));
}

inline float sum(LineWeights w) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(w), _mm256_extractf128_ps(w, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/// A bit for each place that has tokens of topic k.
template <class Count>
uint32_t places_of(const TopicLine<Count>& line, size_t k) {
    const __m256 same = _mm256_castsi256_ps(_mm256_cmpeq_epi32(line_ids(line), _mm256_set1_epi32(int(k))));
    return bits(_mm256_and_ps(same, _mm256_cmp_ps(line_counts(line), _mm256_setzero_ps(), _CMP_GT_OQ)));
}

template <class Count>
uint32_t free_places(const TopicLine<Count>& line) {
    return bits(_mm256_cmp_ps(line_counts(line), _mm256_setzero_ps(), _CMP_LE_OQ));
}

/// The first place with a weight at which the running sum is above x, or 8. Sums in log2(8) steps, each adding what
/// lies 1, 2, 4 places before.
inline size_t first_above(LineWeights w, float x) {
    auto shifted = [](__m256 y, auto by) {  // within halves of four
        return _mm256_castsi256_ps(_mm256_slli_si256(_mm256_castps_si256(y), by.value));
    };
    __m256 s = _mm256_add_ps(w, shifted(w, std::integral_constant<int, 4>{}));
    s = _mm256_add_ps(s, shifted(s, std::integral_constant<int, 8>{}));
    const __m256 fourth = _mm256_permute_ps(_mm256_permute2f128_ps(s, s, 0x08), 0xFF);  // 0, and the first half's sum
    s = _mm256_add_ps(s, fourth);
    const __m256 above = _mm256_cmp_ps(s, _mm256_set1_ps(x), _CMP_GT_OQ);
    const uint32_t found = bits(_mm256_and_ps(above, _mm256_cmp_ps(w, _mm256_setzero_ps(), _CMP_GT_OQ)));
    return found ? size_t(std::countr_zero(found)) : kLine;
}

#else

struct LineWeights {
    float x[kLine] = {};
};

inline LineWeights operator+(LineWeights a, const LineWeights& b) {
    for (size_t i = 0; i < kLine; ++i) a.x[i] += b.x[i];
    return a;
}

template <class Count>
LineWeights line_weights(const TopicLine<Count>& line, const float* row, size_t but) {
    LineWeights w;
    for (size_t i = 0; i < kLine; ++i) w.x[i] = line.id[i] == but ? 0.f : float(line.count[i]) * row[line.id[i]];
    return w;
}

inline float sum(const LineWeights& w) {
    return ((w.x[0] + w.x[4]) + (w.x[2] + w.x[6])) + ((w.x[1] + w.x[5]) + (w.x[3] + w.x[7]));
}

template <class Count>
uint32_t places_of(const TopicLine<Count>& line, size_t k) {
    uint32_t found = 0;
    for (size_t i = 0; i < kLine; ++i) found |= uint32_t(line.id[i] == k && line.count[i] > 0) << i;
    return found;
}

template <class Count>
uint32_t free_places(const TopicLine<Count>& line) {
    uint32_t found = 0;
    for (size_t i = 0; i < kLine; ++i) found |= uint32_t(!(line.count[i] > 0)) << i;
    return found;
}

inline size_t first_above(const LineWeights& w, float x) {
    float s = 0;
    for (size_t i = 0; i < kLine; ++i) {
        s += w.x[i];
        if (s > x && w.x[i] > 0) return i;
    }
    return kLine;
}

#endif

/// The lines of documents, which are added one after another. A document never has more topics than it had room for.
template <class Count>
class DocumentTopics {
  public:
    using Line = TopicLine<Count>;

    explicit DocumentTopics(size_t K) : place_(K, kNoTopic) {}

    void clear() { lines_.clear(), documents_.clear(); }

    /// A document whose tokens have these topics.
    void append(std::span<const TopicId> z) {
        open(z.size());
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

    void open(size_t most) {
        documents_.push_back({uint32_t(lines_.size()), 1});
        lines_.resize(lines_.size() + std::max<size_t>((std::min(most, place_.size()) + kLine - 1) / kLine, 1));
    }

    static void put(Line& line, size_t lane, size_t k) { line.id[lane] = TopicId(k), line.count[lane] = Count(1); }
};

}  // namespace topmix
