// A bounded queue without locks, for any number of producers and consumers.
//
// Each cell carries a turn: 2 r while it waits for the push of round r, 2 r + 1 while it holds what that push left.
// The thread that wins the ticket of a cell owns the cell until it passes the turn on. A push releases the turn and a
// pop acquires it, so that the consumer also sees everything that the producer wrote before.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace topmix::asynchronous {

template <class T>
class Queue {
  public:
    explicit Queue(size_t capacity)
        : mask_(std::bit_ceil(capacity < 2 ? size_t(2) : capacity) - 1), cell_(new Cell[mask_ + 1]) {}

    size_t capacity() const { return mask_ + 1; }

    /// False if it is full.
    bool push(T value) {
        for (uint64_t ticket = tail_.load(std::memory_order_relaxed);;) {
            Cell& cell = cell_[ticket & mask_];
            const int64_t ahead = int64_t(cell.turn.load(std::memory_order_acquire) - 2 * round(ticket));
            if (ahead == 0) {
                if (!tail_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) continue;
                cell.value = value;
                cell.turn.store(2 * round(ticket) + 1, std::memory_order_release);
                return true;
            }
            if (ahead < 0) return false;
            ticket = tail_.load(std::memory_order_relaxed);
        }
    }

    /// False if it is empty.
    bool pop(T& value) {
        for (uint64_t ticket = head_.load(std::memory_order_relaxed);;) {
            Cell& cell = cell_[ticket & mask_];
            const int64_t ahead = int64_t(cell.turn.load(std::memory_order_acquire) - (2 * round(ticket) + 1));
            if (ahead == 0) {
                if (!head_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed)) continue;
                value = cell.value;
                cell.turn.store(2 * round(ticket) + 2, std::memory_order_release);
                return true;
            }
            if (ahead < 0) return false;
            ticket = head_.load(std::memory_order_relaxed);
        }
    }

  private:
    struct Cell {
        std::atomic<uint64_t> turn{0};
        T value{};
    };
    uint64_t round(uint64_t ticket) const { return ticket / (mask_ + 1); }

    const uint64_t mask_;
    const std::unique_ptr<Cell[]> cell_;
    alignas(64) std::atomic<uint64_t> tail_{0};  // on cache lines of their own, against false sharing
    alignas(64) std::atomic<uint64_t> head_{0};
};

}  // namespace topmix::asynchronous
