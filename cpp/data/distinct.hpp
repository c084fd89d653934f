// The different terms of one document, in order of first sight, with their counts.
//
// A document has few different terms, so this table stays in the first-level cache, and the vocabulary, which does
// not, is asked once for each of them.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "data/terms.hpp"

namespace topmix {

class DistinctTerms {
  public:
    struct Entry {
        StringKey term;
        int32_t count;
    };
    /// Valid as long as the document's terms are.
    const std::vector<Entry>& entries() const { return entries_; }

    void count(const DocumentTerms& terms) {
        entries_.clear();
        // Sized for this document alone, so that one long document does not make all later ones slow.
        resize(std::bit_ceil(2 * std::clamp<size_t>(terms.size(), 32, 1024)));
        for (size_t i = 0; i < terms.size(); ++i) {
            const StringKey term = terms[i];
            size_t at = term.hash & mask_;
            while (slots_[at] >= 0 && !(entries_[size_t(slots_[at])].term == term)) at = (at + 1) & mask_;
            if (slots_[at] >= 0) {
                ++entries_[size_t(slots_[at])].count;
                continue;
            }
            slots_[at] = int32_t(entries_.size());
            entries_.push_back({term, 1});
            if (2 * entries_.size() > mask_) grow();
        }
    }

  private:
    std::vector<Entry> entries_;
    std::vector<int32_t> slots_;  // -1, or which entry
    size_t mask_ = 0;

    void resize(size_t n) {
        slots_.assign(n, -1);
        mask_ = n - 1;
    }

    void grow() {
        resize(4 * (mask_ + 1));
        for (size_t e = 0; e < entries_.size(); ++e) {
            size_t at = entries_[e].term.hash & mask_;
            while (slots_[at] >= 0) at = (at + 1) & mask_;
            slots_[at] = int32_t(e);
        }
    }
};

}  // namespace topmix
