// Sums over all blocks that every worker reads and none owns, such as sum_v lambda_v: kept fresh by deltas.
//
// A worker that has changed a block adds the difference; one that begins a visit reads the sums as they are. No lock,
// and nothing is lost: the sum is that of all deltas, in double, in whatever order they came.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

namespace topmix::asynchronous {

class Totals {
  public:
    explicit Totals(size_t n) : n_(n), sum_(new std::atomic<double>[n]) {
        for (size_t k = 0; k < n; ++k) sum_[k].store(0.0, std::memory_order_relaxed);
    }
    size_t size() const { return n_; }
    void add(std::span<const double> delta) {
        for (size_t k = 0; k < n_; ++k) {
            double before = sum_[k].load(std::memory_order_relaxed);
            while (!sum_[k].compare_exchange_weak(before, before + delta[k], std::memory_order_relaxed)) {
            }
        }
    }
    void read(std::span<double> out) const {
        for (size_t k = 0; k < n_; ++k) out[k] = sum_[k].load(std::memory_order_relaxed);
    }

  private:
    size_t n_;
    std::unique_ptr<std::atomic<double>[]> sum_;
};

}  // namespace topmix::asynchronous
