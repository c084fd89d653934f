// Term ids in the order of their strings.
//
// UTF-8 sorts byte by byte as code points do, which is Python's order of strings. The first eight bytes travel with
// the id, so that most comparisons read no string. Pieces are sorted side by side and merged two by two.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "data/string_table.hpp"

namespace topmix {

inline void sort_terms(const StringTable& table, int threads, std::span<int32_t> ids) {
    constexpr size_t kPiece = 1 << 13;
    struct Key {
        uint64_t head;  // big-endian: compares as the bytes do
        int32_t id;
    };
    const auto before = [&](const Key& a, const Key& b) {
        return a.head != b.head ? a.head < b.head : table[size_t(a.id)] < table[size_t(b.id)];
    };
    std::vector<Key> keys(ids.size()), merged(ids.size());
    parallel_for(keys.size(), kPiece, threads, [&](size_t begin, size_t end, size_t) {
        for (size_t i = begin; i < end; ++i) {
            const std::string_view s = table[size_t(ids[i])];
            uint64_t head = 0;
            for (size_t j = 0; j < 8; ++j) head = head << 8 | (j < s.size() ? uint8_t(s[j]) : 0);
            keys[i] = {head, ids[i]};
        }
        std::sort(keys.begin() + ptrdiff_t(begin), keys.begin() + ptrdiff_t(end), before);
    });
    for (size_t width = kPiece; width < keys.size(); width *= 2) {
        parallel_for(keys.size(), 2 * width, threads, [&](size_t begin, size_t end, size_t) {
            const size_t middle = std::min(begin + width, end);
            std::merge(keys.begin() + ptrdiff_t(begin), keys.begin() + ptrdiff_t(middle),
                       keys.begin() + ptrdiff_t(middle), keys.begin() + ptrdiff_t(end),
                       merged.begin() + ptrdiff_t(begin), before);
        });
        keys.swap(merged);
    }
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = keys[i].id;
}

}  // namespace topmix
