// Counts that words have from the documents of one worker, in the memory of floats and with the sums of doubles:
// (x_rk + even_r) scale_r, where the scale makes a row add up to what it must.
//
// Rows have what is not zero, unless most is: then a worker has no array of all its words and all topics, and what it
// keeps falls with the number of its documents.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace topmix::asynchronous {

class WordCounts {
  public:
    static constexpr float kTrifle = 1e-9f;  // tokens; a row has no place for less

    WordCounts() = default;
    WordCounts(size_t rows, size_t K) : K_(K), row_(rows), even_(rows, 0.0), scale_(rows, 0.0) {}

    /// Calls fn(k, count) for all topics. `scratch` [K] is where a row is laid out.
    template <class Fn>
    void each(size_t r, std::vector<float>& scratch, Fn&& fn) const {
        const float* from = laid_out(row_[r], scratch);
        const double more = even_[r], times = scale_[r];
#pragma omp simd
        for (size_t k = 0; k < K_; ++k) fn(k, (double(from[k]) + more) * times);
    }

    /// The new row, in which what is less than a trifle must be zero.
    void set(size_t r, const float* now, double even, double scale) {
        even_[r] = even, scale_[r] = scale;
        const size_t n = K_ - size_t(std::count(now, now + K_, 0.f));
        numbers_ -= row_[r].capacity();
        if (2 * n >= K_) {
            row_[r].assign(now, now + K_);
        } else {
            std::vector<float> pairs;  // of its own size: what a row had more before is given back
            pairs.reserve(2 * n);
            for (size_t k = 0; k < K_; ++k)
                if (now[k] != 0) pairs.push_back(std::bit_cast<float>(uint32_t(k))), pairs.push_back(now[k]);
            row_[r] = std::move(pairs);
        }
        numbers_ += row_[r].capacity();
    }

    size_t bytes() const { return numbers_ * sizeof(float) + row_.size() * (2 * sizeof(double) + sizeof(row_[0])); }

  private:
    const float* laid_out(const std::vector<float>& row, std::vector<float>& scratch) const {
        if (row.size() == K_) return row.data();
        scratch.assign(K_, 0.f);
        for (size_t i = 0; i < row.size(); i += 2) scratch[std::bit_cast<uint32_t>(row[i])] = row[i + 1];
        return scratch.data();
    }

    size_t K_ = 0, numbers_ = 0;           // of all rows
    std::vector<std::vector<float>> row_;  // [rows]: K numbers, or pairs of a topic's bits and its number
    std::vector<double> even_, scale_;     // [rows]
};

}  // namespace topmix::asynchronous
