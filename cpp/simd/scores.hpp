// Scores of rows with few features, constant + f W', and the best of each row, on every instruction set.
//
// For tens of features: a tile of rows times a strip of clusters is summed in registers. BLAS prepares its operands for
// longer sums, and takes longer for that than for these.
#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace topmix {

template <class T>
class PackedScores {
  public:
    static constexpr size_t kStrip = 64 / sizeof(T);  // clusters side by side

    /// W is [K, F].
    PackedScores(std::span<const T> W, std::span<const T> constant)
        : F_(constant.empty() ? 0 : W.size() / constant.size()),
          strips_((constant.size() + kStrip - 1) / kStrip),
          lines_(strips_ * (F_ + 1)) {
        const size_t K = constant.size();
        for (size_t k = 0; k < strips_ * kStrip; ++k) {
            Line* strip = &lines_[k / kStrip * (F_ + 1)];
            strip[0].x[k % kStrip] = k < K ? constant[k] : -std::numeric_limits<T>::infinity();
            for (size_t i = 0; i < F_; ++i) strip[i + 1].x[k % kStrip] = k < K ? W[k * F_ + i] : T(0);
        }
    }

    size_t stride() const { return strips_ * kStrip; }  // of a row of scores; those after K are -inf

    /// Scores s [rows, stride] of f [rows, F], and the largest of each row, -inf where all are NaN.
    void operator()(const T* f, size_t rows, T* s, T* best) const {
        size_t n = 0;
        for (; n + kRows <= rows; n += kRows) tile<kRows>(f + n * F_, s + n * stride(), best + n);
        for (; n < rows; ++n) tile<1>(f + n * F_, s + n * stride(), best + n);
    }

  private:
#if defined(__AVX512F__)
    static constexpr size_t kWide = 64, kRows = 8;  // bytes of a register; rows of a tile
#elif defined(__AVX__)
    static constexpr size_t kWide = 32, kRows = 4;
#else
    static constexpr size_t kWide = 16, kRows = 4;
#endif
    typedef T Wide __attribute__((vector_size(kWide)));
    static constexpr size_t kLanes = kWide / sizeof(T), kParts = kStrip / kLanes;
    struct alignas(64) Line {
        T x[kStrip];
    };

    template <size_t R>
    void tile(const T* f, T* s, T* best) const {
        constexpr T ninf = -std::numeric_limits<T>::infinity();
        Wide high[R];
        for (size_t r = 0; r < R; ++r) high[r] = ninf - Wide{};
        for (size_t j = 0; j < strips_; ++j) {
            const Wide* w = reinterpret_cast<const Wide*>(&lines_[j * (F_ + 1)]);
            Wide sum[R][kParts];
            for (size_t r = 0; r < R; ++r)
                for (size_t p = 0; p < kParts; ++p) sum[r][p] = w[p];
            for (size_t i = 0; i < F_; ++i) {
                w += kParts;
                for (size_t r = 0; r < R; ++r)
                    for (size_t p = 0; p < kParts; ++p) sum[r][p] += w[p] * f[r * F_ + i];
            }
            for (size_t r = 0; r < R; ++r)
                for (size_t p = 0; p < kParts; ++p) {
                    __builtin_memcpy(s + r * stride() + j * kStrip + p * kLanes, &sum[r][p], kWide);
                    high[r] = sum[r][p] > high[r] ? sum[r][p] : high[r];
                }
        }
        for (size_t r = 0; r < R; ++r) {
            T most = ninf;
            for (size_t l = 0; l < kLanes; ++l) most = high[r][l] > most ? high[r][l] : most;
            best[r] = most;
        }
    }

    size_t F_, strips_;
    std::vector<Line> lines_;  // [strips, F + 1]: constants, then the coefficients of each feature
};

}  // namespace topmix
