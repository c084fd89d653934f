// Strings numbered in the order of first sight.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace topmix {

/// A string to search for: its hash, and its first 16 bytes in registers, which are nearly always all of it.
struct StringKey {
    static constexpr size_t kHead = 16;

    uint64_t head[2];  // zeros behind the end
    const char* data;
    uint32_t size, hash;

    std::string_view view() const { return {data, size}; }

    /// Any string.
    static StringKey of(std::string_view s) {
        uint64_t head[2] = {0, 0};
        if (!s.empty()) std::memcpy(head, s.data(), std::min(s.size(), kHead));
        return StringKey(s, head);
    }

    /// A string with at least 16 readable bytes from its start on: no loop and no branch for a short one.
    static StringKey of_padded(std::string_view s) {
        if constexpr (std::endian::native != std::endian::little) return of(s);
        uint64_t head[2];
        std::memcpy(head, s.data(), kHead);
        head[0] &= low_bytes(s.size());
        head[1] &= low_bytes(s.size() < 8 ? 0 : s.size() - 8);
        return StringKey(s, head);
    }

    bool operator==(const StringKey& other) const {
        return hash == other.hash && size == other.size && head[0] == other.head[0] && head[1] == other.head[1] &&
               (size <= kHead || std::memcmp(data + kHead, other.data + kHead, size - kHead) == 0);
    }

  private:
    StringKey(std::string_view s, const uint64_t (&h)[2]) : head{h[0], h[1]}, data(s.data()) {
        if (s.size() > size_t(INT32_MAX)) throw std::length_error("a term of more than 2^31 bytes");
        size = uint32_t(s.size());
        uint64_t x = 0x9e3779b97f4a7c15u ^ size;
        const auto eat = [&x](uint64_t w) {
            x = (x ^ w) * 0xd6e8feb86659fd93u;
            x ^= x >> 32;
        };
        eat(head[0]);
        eat(head[1]);
        for (size_t i = kHead; i < s.size(); i += 8) {
            uint64_t w = 0;  // the last eight bytes overlap those before them
            std::memcpy(&w, s.data() + std::min(i, s.size() - 8), 8);
            eat(w);
        }
        hash = uint32_t(x ^ x >> 29);
    }

    static uint64_t low_bytes(size_t n) { return n < 8 ? ~(~uint64_t(0) << 8 * n) : ~uint64_t(0); }
};

/// Strings numbered in the order of first sight: an arena of bytes and an open-addressing index, at most half full.
class StringTable {
  public:
    size_t size() const { return strings_.size(); }
    std::string_view operator[](size_t id) const { return {bytes_.data() + strings_[id].begin, strings_[id].size}; }

    /// The string's id, or -1.
    int32_t find(const StringKey& key) const { return slots_[probe(key)].id; }

    /// Asks the memory for what a search for this hash will read: first the slot, some searches later the string.
    void prefetch_slot([[maybe_unused]] uint32_t hash) const {
#if defined(__GNUC__)
        __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
#endif
    }
    void prefetch_string([[maybe_unused]] uint32_t hash) const {
#if defined(__GNUC__)
        const Slot& slot = slots_[hash & (slots_.size() - 1)];
        __builtin_prefetch(strings_.data() + std::max(slot.id, 0));
#endif
    }

    int32_t find_or_add(const StringKey& key) {
        size_t i = probe(key);
        if (slots_[i].id >= 0) return slots_[i].id;
        if (size() == size_t(INT32_MAX)) throw std::length_error("more than 2^31 - 1 different terms");
        if (2 * (size() + 1) > slots_.size()) grow(), i = probe(key);
        slots_[i] = {key.hash, int32_t(size())};
        strings_.push_back({{key.head[0], key.head[1]}, int64_t(bytes_.size()), key.size});
        bytes_.insert(bytes_.end(), key.data, key.data + key.size);
        return slots_[i].id;
    }

  private:
    struct Slot {
        uint32_t hash = 0;
        int32_t id = -1;
    };
    struct String {
        uint64_t head[2];
        int64_t begin;
        uint32_t size;
    };
    std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of two
    std::vector<char> bytes_;
    std::vector<String> strings_;

    bool is(const String& s, const StringKey& key) const {
        return s.head[0] == key.head[0] && s.head[1] == key.head[1] && s.size == key.size &&
               (s.size <= StringKey::kHead || std::memcmp(bytes_.data() + s.begin + StringKey::kHead,
                                                          key.data + StringKey::kHead, s.size - StringKey::kHead) == 0);
    }

    size_t probe(const StringKey& key) const {
        const size_t mask = slots_.size() - 1;
        size_t i = key.hash & mask;
        while (slots_[i].id >= 0 && !(slots_[i].hash == key.hash && is(strings_[size_t(slots_[i].id)], key)))
            i = (i + 1) & mask;
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
