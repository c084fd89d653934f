// The topics of one document and how many of its tokens each has, for sampling: weights are gathered from a word's row
// and kept as running sums, so that a draw is a count of the sums it has passed.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace topmix {

constexpr size_t kLanes = 16;  // weights that are summed side by side

/// Numbers in whole vectors, each on a cache line of its own.
template <class T>
class Lines {
  public:
    explicit Lines(size_t n) : lines_((n + kLanes - 1) / kLanes + 1) {}
    T* data() { return lines_[0].x; }
    const T* data() const { return lines_[0].x; }
    T& operator[](size_t i) { return data()[i]; }
    const T& operator[](size_t i) const { return data()[i]; }

  private:
    struct alignas(64) Line {
        T x[kLanes] = {};
    };
    std::vector<Line> lines_;
};

/// sums[i] = sum_{j <= i, j != but} count[j] row[id[j]] for i < n, and the last of them up to the end of its vector.
/// Returns that. Behind n, id and count must be 0.
inline float running_sums(const float* row, const int32_t* id, const float* count, size_t n, size_t but, float* sums) {
#if defined(__AVX512F__)
    // A vector is summed in log2(16) steps, each adding what lies 1, 2, 4, 8 lanes before.
    const __m512i none = _mm512_setzero_si512(), last = _mm512_set1_epi32(kLanes - 1);
    auto before = [&](__m512 x, auto... lanes) {
        ((x = _mm512_add_ps(
              x, _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(x), none, int(kLanes) - lanes.value)))),
         ...);
        return x;
    };
    __m512 carry = _mm512_setzero_ps();
    for (size_t at = 0; at < n; at += kLanes) {
        const __mmask16 others = __mmask16(~(but - at < kLanes ? 1u << (but - at) : 0u));
        const __m512 e = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), others, _mm512_load_si512(id + at), row, 4);
        const __m512 w = before(_mm512_mul_ps(e, _mm512_load_ps(count + at)), std::integral_constant<int, 1>{},
                                std::integral_constant<int, 2>{}, std::integral_constant<int, 4>{},
                                std::integral_constant<int, 8>{});
        const __m512 s = _mm512_add_ps(w, carry);
        _mm512_store_ps(sums + at, s);
        carry = _mm512_permutexvar_ps(last, s);
    }
    return _mm512_cvtss_f32(carry);
#else
    float s = 0;
    for (size_t i = 0; i < n; ++i) sums[i] = s += i == but ? 0.f : count[i] * row[id[i]];
    for (size_t i = n; i % kLanes; ++i) sums[i] = s;
    return s;
#endif
}

/// The topics of one document, in order of arrival; one that leaves gives its place to the last.
class TopicList {
  public:
    explicit TopicList(size_t K) : id_(K), count_(K), sums_(K), place_(K, -1) {}

    size_t size() const { return n_; }
    size_t id(size_t i) const { return size_t(id_[i]); }
    float count(size_t i) const { return count_[i]; }
    int32_t place(size_t k) const { return place_[k]; }

    void clear() {
        for (size_t i = 0; i < n_; ++i) place_[size_t(id_[i])] = -1, id_[i] = 0, count_[i] = 0;
        n_ = 0;
    }

    void add(size_t k, float by = 1) {
        if (place_[k] < 0) place_[k] = int32_t(n_), id_[n_] = int32_t(k), count_[n_] = 0, ++n_;
        count_[size_t(place_[k])] += by;
    }

    void remove(size_t k) {
        const size_t i = size_t(place_[k]);
        if ((count_[i] -= 1) > 0) return;
        --n_;
        place_[size_t(id_[n_])] = int32_t(i), id_[i] = id_[n_], count_[i] = count_[n_];
        place_[k] = -1, id_[n_] = 0, count_[n_] = 0;
    }

    /// sum_i count_i row[id_i], the topic at place `but` aside.
    float weigh(const float* row, size_t but) {
        return running_sums(row, id_.data(), count_.data(), n_, but, sums_.data());
    }

    /// The topic in whose part x of that sum lies; x must be less than it.
    size_t pick(float x) const {
        const float* s = sums_.data();
        size_t passed = 0;
        for (size_t at = 0; at < n_; at += kLanes) {
            int32_t here = 0;
#pragma omp simd reduction(+ : here)
            for (size_t l = 0; l < kLanes; ++l) here += s[at + l] <= x;
            passed += size_t(here);
            if (here < int32_t(kLanes)) break;
        }
        return size_t(id_[passed]);
    }

    /// Asks for what `weigh` will read of a row, before it is needed.
    void prefetch(const float* row) const {
#if defined(__GNUC__)
        for (size_t i = 0; i < std::min(n_, kLanes); ++i) __builtin_prefetch(row + id_[i]);
#endif
    }

  private:
    Lines<int32_t> id_;           // [K]
    Lines<float> count_;          // [K]
    Lines<float> sums_;           // [K] as weighed last
    std::vector<int32_t> place_;  // [K] where a topic is in the list, or -1
    size_t n_ = 0;
};

}  // namespace topmix
