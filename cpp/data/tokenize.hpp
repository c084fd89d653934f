// Documents in, sparse rows of counts out, with a vocabulary that grows as words are seen.
//
// Threads cut blocks of documents and look terms up in a vocabulary that nobody changes meanwhile. A block numbers the
// terms that it does not find there by itself; after the round, they enter the vocabulary block by block, in the order
// of the documents. So ids are in order of first sight, whatever the blocks, the rounds and the number of threads.
// A round holds as much text as all before it together: most of its words are known then, and little is left to merge.
//
// Memory is the vocabulary plus the rows that the caller takes away. Twin: tests/twins/tokenize.py.
#pragma once
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "data/distinct.hpp"
#include "data/string_table.hpp"
#include "data/terms.hpp"

namespace topmix {

/// ASCII text, or the tokens that somebody else made of a text.
struct TextDocument {
    std::string_view text;
    std::span<const std::string_view> tokens;
    bool is_text = true;

    size_t size() const { return text.size() + 8 * tokens.size(); }  // about how much work it is
};

/// Rows of counts: row d holds (index[i], value[i]) for indptr[d] <= i < indptr[d + 1], in order of first sight.
struct CountedRows {
    size_t n_rows = 0, n_entries = 0;
    std::unique_ptr<int64_t[]> indptr;  // [rows + 1]
    std::unique_ptr<int32_t[]> index;   // [entries], as value; not filled with zeros first
    std::unique_ptr<float[]> value;
};

class TermCounter {
  public:
    /// A closed vocabulary starts with `terms` and drops what it does not hold.
    TermCounter(TermCutter cutter, std::span<const std::string> terms, bool closed)
        : cutter_(std::move(cutter)), closed_(closed) {
        for (const std::string& s : terms)
            if (size_t(terms_.find_or_add(StringKey::of(s))) != stats_.size())
                throw std::invalid_argument("the vocabulary holds '" + s + "' twice");
            else
                stats_.emplace_back();
    }

    /// One more row for each document. After an exception the counter is of no more use.
    CountedRows count(std::span<const TextDocument> documents, int threads) {
        std::vector<Block> blocks;
        for (size_t begin = 0; begin < documents.size();) {
            const size_t first = blocks.size();
            size_t end = begin;
            for (size_t size = 0; end < documents.size() && (closed_ || size < std::max(seen_, kFirstRound));) {
                Block& block = blocks.emplace_back();
                for (block.begin = end; end < documents.size() && block.size < kBlock; ++end)
                    block.size += documents[end].size() + 1;
                block.end = end;
                size += block.size;
            }
            round(documents, std::span(blocks).subspan(first), threads);
            begin = end;
        }
        rows_ += int64_t(documents.size());
        return joined(blocks, documents.size(), threads);
    }

    const StringTable& terms() const { return terms_; }
    int64_t rows() const { return rows_; }
    int64_t unknown() const { return unknown_; }  // terms that a closed vocabulary dropped
    int64_t document_frequency(size_t id) const { return stats_[id].documents; }
    int64_t term_frequency(size_t id) const { return stats_[id].total; }

  private:
    static constexpr size_t kBlock = 1 << 16;  // bytes of text: under a millisecond of work
    static constexpr size_t kFirstRound = 1 << 18;

    struct Entry {
        int32_t id;  // of the vocabulary, or -1 - (number of a new term of the block)
        int32_t count;
    };
    struct Block {
        size_t begin = 0, end = 0;  // documents
        size_t size = 0;
        std::vector<int64_t> row_ends;
        std::vector<Entry> entries;
        StringTable news;           // terms that the vocabulary did not hold when the round began
        std::vector<int32_t> name;  // [news] their ids after the round
        int64_t unknown = 0;
    };
    struct Stat {
        int64_t documents = 0, total = 0;
    };
    struct Scratch {
        DocumentTerms terms;
        DistinctTerms distinct;
    };

    TermCutter cutter_;
    bool closed_;
    StringTable terms_;
    std::vector<Stat> stats_;  // [terms]
    int64_t rows_ = 0, unknown_ = 0;
    size_t seen_ = 0;  // sizes of all documents so far

    void round(std::span<const TextDocument> documents, std::span<Block> blocks, int threads) {
        std::vector<Scratch> scratch(size_t(std::max(threads, 1)));
        parallel_for(blocks.size(), 1, threads, [&](size_t b, size_t, size_t t) {
            Block& block = blocks[b];
            block.entries.reserve(block.size / 8);
            for (size_t d = block.begin; d < block.end; ++d) count_document(documents[d], scratch[t], block);
        });
        for (Block& block : blocks) {
            block.name.resize(block.news.size());
            for (size_t j = 0; j < block.name.size(); ++j) {
                terms_.prefetch_slot(StringKey::of(block.news[std::min(j + 8, block.name.size() - 1)]).hash);
                block.name[j] = terms_.find_or_add(StringKey::of(block.news[j]));
            }
            block.news = StringTable();
            unknown_ += block.unknown;
            seen_ += block.size;
        }
        stats_.resize(terms_.size());
    }

    void count_document(const TextDocument& document, Scratch& scratch, Block& block) const {
        if (document.is_text)
            cutter_.cut_text(document.text, scratch.terms);
        else
            cutter_.cut_tokens(document.tokens, scratch.terms);
        scratch.distinct.count(scratch.terms);
        const auto& distinct = scratch.distinct.entries();
        const auto hash = [&](size_t i) { return distinct[std::min(i, distinct.size() - 1)].term.hash; };
        for (size_t i = 0; i < distinct.size(); ++i) {
            terms_.prefetch_slot(hash(i + 16));
            terms_.prefetch_string(hash(i + 8));
            const auto& [term, count] = distinct[i];
            int32_t id = terms_.find(term);
            if (id < 0) {
                if (closed_) {
                    block.unknown += count;
                    continue;
                }
                id = -1 - block.news.find_or_add(term);
            }
            block.entries.push_back({id, count});
        }
        block.row_ends.push_back(int64_t(block.entries.size()));
    }

    /// The blocks as one array. One thread counts the documents of each term meanwhile.
    CountedRows joined(std::span<const Block> blocks, size_t n_rows, int threads) {
        std::vector<size_t> first(blocks.size() + 1, 0);  // entry
        for (size_t b = 0; b < blocks.size(); ++b) first[b + 1] = first[b] + blocks[b].entries.size();
        CountedRows out{n_rows, first.back(), std::make_unique_for_overwrite<int64_t[]>(n_rows + 1),
                        std::make_unique_for_overwrite<int32_t[]>(first.back()),
                        std::make_unique_for_overwrite<float[]>(first.back())};
        out.indptr[0] = 0;
        parallel_for(blocks.size() + 1, 1, threads, [&](size_t b, size_t, size_t) {
            if (b == 0) return add_statistics(blocks);
            const Block& block = blocks[--b];
            for (size_t d = block.begin; d < block.end; ++d)
                out.indptr[d + 1] = int64_t(first[b]) + block.row_ends[d - block.begin];
            for (size_t i = 0; i < block.entries.size(); ++i) {
                out.index[first[b] + i] = id_of(block.entries[i], block);
                out.value[first[b] + i] = float(block.entries[i].count);
            }
        });
        return out;
    }

    void add_statistics(std::span<const Block> blocks) {
        for (const Block& block : blocks)
            for (const Entry& entry : block.entries) {
                Stat& stat = stats_[size_t(id_of(entry, block))];
                ++stat.documents;
                stat.total += entry.count;
            }
    }

    static int32_t id_of(const Entry& entry, const Block& block) {
        return entry.id < 0 ? block.name[size_t(-1 - entry.id)] : entry.id;
    }
};

}  // namespace topmix
