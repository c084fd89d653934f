// Strings numbered in the order of first sight.
#pragma once
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace topmix {

/// Mixes eight bytes at a time; the tail is read as overlapping pieces, never past the end.
inline uint32_t hash_bytes(std::string_view s) {
    uint64_t h = 0x9e3779b97f4a7c15u ^ s.size();
    const auto eat = [&h](uint64_t w) {
        h = (h ^ w) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
    };
    const char* p = s.data();
    size_t n = s.size();
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t w;
        std::memcpy(&w, p, 8);
        eat(w);
    }
    if (n >= 4) {
        uint32_t a, b;
        std::memcpy(&a, p, 4);
        std::memcpy(&b, p + n - 4, 4);
        eat(uint64_t(a) << 32 | b);
    } else if (n > 0) {
        eat(uint64_t(uint8_t(p[0])) << 16 | uint64_t(uint8_t(p[n / 2])) << 8 | uint8_t(p[n - 1]));
    }
    return uint32_t(h ^ h >> 29);
}

/// Strings numbered in the order of first sight: an arena of bytes and an open-addressing index, at most half full.
class StringTable {
  public:
    size_t size() const { return begin_.size() - 1; }
    std::string_view operator[](size_t id) const {
        return {bytes_.data() + begin_[id], size_t(begin_[id + 1] - begin_[id])};
    }

    /// The string's id, or -1.
    int32_t find(std::string_view s, uint32_t hash) const { return slots_[probe(s, hash)].id; }

    /// Asks the memory for the slot where a search for this hash will start.
    void prefetch([[maybe_unused]] uint32_t hash) const {
#if defined(__GNUC__)
        __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
#endif
    }

    int32_t find_or_add(std::string_view s, uint32_t hash) {
        size_t i = probe(s, hash);
        if (slots_[i].id >= 0) return slots_[i].id;
        if (size() == size_t(INT32_MAX)) throw std::length_error("more than 2^31 - 1 different terms");
        if (2 * (size() + 1) > slots_.size()) grow(), i = probe(s, hash);
        slots_[i] = {hash, int32_t(size())};
        bytes_.insert(bytes_.end(), s.begin(), s.end());
        begin_.push_back(int64_t(bytes_.size()));
        return slots_[i].id;
    }

  private:
    struct Slot {
        uint32_t hash = 0;
        int32_t id = -1;
    };
    std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of two
    std::vector<char> bytes_;
    std::vector<int64_t> begin_{0};  // [size + 1]

    size_t probe(std::string_view s, uint32_t hash) const {
        const size_t mask = slots_.size() - 1;
        size_t i = hash & mask;
        while (slots_[i].id >= 0 && !(slots_[i].hash == hash && (*this)[size_t(slots_[i].id)] == s)) i = (i + 1) & mask;
        return i;
    }

    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        const size_t mask = slots_.size() - 1;
        for (const Slot& slot : old) {
            if (slot.id < 0) continue;
            size_t i = slot.hash & mask;
            while (slots_[i].id >= 0) i = (i + 1) & mask;
            slots_[i] = slot;
        }
    }
};

}  // namespace topmix
