// The documents of one worker, laid out for visits of blocks of words: block by block, document by document.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/views.hpp"

namespace topmix::asynchronous {

/// Which words form a block: block b holds the words word[starts[b] .. starts[b + 1]), its slots.
struct WordBlocks {
    std::vector<int64_t> starts;  // [B + 1]
    std::vector<int32_t> word;    // [slots], every word at most once
    size_t size() const { return starts.size() - 1; }
    size_t slots() const { return word.size(); }
};

constexpr size_t kMostSlots = std::numeric_limits<uint16_t>::max();  // in a block: entries name their row in two bytes

/// Rows [first, last) of a corpus. The entries of a document in a block are together: a pair, (document, block). The
/// words of a block that these documents use are the shard's rows in that block; others it does not need to see.
struct TopicShard {
    size_t docs = 0;
    std::vector<int64_t> pair_starts;   // [B + 1]
    std::vector<int32_t> doc;           // [pairs], ascending within a block
    std::vector<int64_t> entry_starts;  // [pairs + 1]
    std::vector<uint16_t> row;          // [entries], row within the block
    std::vector<float> count;           // [entries]
    std::vector<int64_t> row_starts;    // [B + 1]
    std::vector<int32_t> slot;          // [rows], of all blocks' slots
    std::vector<double> tokens;         // [rows], in this shard

    TopicShard(const Csr<float>& X, const WordBlocks& blocks, size_t first, size_t last) : docs(last - first) {
        const size_t B = blocks.size();
        int32_t words = 0;
        for (const int32_t v : blocks.word) words = std::max(words, v + 1);
        std::vector<int32_t> slot_of(size_t(words), -1), block_of(size_t(words), -1);
        for (size_t b = 0; b < B; ++b)
            for (int64_t s = blocks.starts[b]; s < blocks.starts[b + 1]; ++s) {
                slot_of[size_t(blocks.word[size_t(s)])] = int32_t(s);
                block_of[size_t(blocks.word[size_t(s)])] = int32_t(b);
            }

        std::vector<int64_t> entries(B, 0), pairs(B, 0);
        std::vector<int32_t> last_doc(B, -1), row_of(blocks.slots(), -1);
        std::vector<double> here(blocks.slots(), 0.0);
        auto each_entry = [&](auto&& fn) {
            for (size_t d = first; d < last; ++d)
                for (int64_t i = X.indptr[d]; i < X.indptr[d + 1]; ++i) {
                    const float c = X.value[size_t(i)];
                    const size_t v = size_t(X.index[size_t(i)]);
                    if (c > 0 && v < block_of.size() && block_of[v] >= 0)
                        fn(int32_t(d - first), size_t(block_of[v]), size_t(slot_of[v]), c);
                }
        };
        each_entry([&](int32_t d, size_t b, size_t s, float c) {
            ++entries[b];
            if (last_doc[b] != d) ++pairs[b], last_doc[b] = d;
            here[s] += double(c);
        });

        row_starts.assign(1, 0);
        for (size_t b = 0; b < B; ++b) {
            for (int64_t s = blocks.starts[b]; s < blocks.starts[b + 1]; ++s)
                if (here[size_t(s)] > 0) {
                    row_of[size_t(s)] = int32_t(int64_t(slot.size()) - row_starts[b]);
                    slot.push_back(int32_t(s));
                    tokens.push_back(here[size_t(s)]);
                }
            row_starts.push_back(int64_t(slot.size()));
        }

        std::vector<int64_t> next_entry(B), next_pair(B);
        pair_starts.assign(1, 0);
        int64_t at = 0;
        for (size_t b = 0; b < B; ++b) {
            next_entry[b] = at, next_pair[b] = pair_starts.back();
            at += entries[b];
            pair_starts.push_back(pair_starts.back() + pairs[b]);
        }
        doc.resize(size_t(pair_starts.back()));
        entry_starts.assign(doc.size() + 1, at);
        row.resize(size_t(at));
        count.resize(size_t(at));
        std::fill(last_doc.begin(), last_doc.end(), -1);
        each_entry([&](int32_t d, size_t b, size_t s, float c) {
            if (last_doc[b] != d) {
                last_doc[b] = d;
                doc[size_t(next_pair[b])] = d;
                entry_starts[size_t(next_pair[b]++)] = next_entry[b];
            }
            const size_t i = size_t(next_entry[b]++);
            row[i] = uint16_t(row_of[s]);
            count[i] = c;
        });
    }

    size_t rows_in(size_t b) const { return size_t(row_starts[b + 1] - row_starts[b]); }
};

}  // namespace topmix::asynchronous
