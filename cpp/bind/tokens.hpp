// Documents of whole counts, checked once and then visited token by token.
#pragma once
#include <cmath>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "chains/gibbs.hpp"

namespace topmix {

struct TokenRows {
    Vec<const int64_t> indptr;
    Vec<const int32_t> index;
    Vec<const float> value;
    size_t n_words;
    std::vector<int64_t> first;  // [docs + 1]

    TokenRows(Vec<const int64_t> indptr_, Vec<const int32_t> index_, Vec<const float> value_, size_t n_words_)
        : indptr(std::move(indptr_)), index(std::move(index_)), value(std::move(value_)), n_words(n_words_) {
        const Csr<float> X = csr(indptr, index, value);
        nb::gil_scoped_release nogil;
        first.assign(X.rows() + 1, 0);
        for (size_t d = 0; d < X.rows(); ++d) {
            require(X.indptr[d] <= X.indptr[d + 1], "indptr must not fall");
            first[d + 1] = first[d];
            for (int64_t u = X.indptr[d]; u < X.indptr[d + 1]; ++u) {
                const float c = X.value[size_t(u)];
                require(X.index[size_t(u)] >= 0 && size_t(X.index[size_t(u)]) < n_words, "a word is not below n_words");
                require(c >= 0 && c == std::floor(c) && c < 0x1p31f, "counts must be whole numbers");
                first[d + 1] += int64_t(c);
            }
        }
    }

    Tokens with(Vec<TopicId>& z) const {
        require(int64_t(z.size()) == first.back(), "z must have one topic for each token");
        return {{view(indptr), view(index), view(value)}, first, view(z)};
    }
};

}  // namespace topmix
