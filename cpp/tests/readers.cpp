// Rows from outside, most of them broken on purpose: they are tidied, or refused with invalid_argument, and nothing is
// read or written out of bounds.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "data/localise.hpp"
#include "data/rows.hpp"
#include "tests/check.hpp"

using namespace topmix;

namespace {

/// Memory of exactly this size, so that the address sanitizer sees a read past its end.
template <class T>
struct Exact {
    size_t size;
    std::unique_ptr<T[]> data;
    explicit Exact(size_t n) : size(n), data(new T[n]) {}
    std::span<T> all() { return {data.get(), size}; }
};

/// The message of what fn throws, or nothing. Anything but invalid_argument ends the test.
template <class Fn>
std::string refused(Fn&& fn) {
    try {
        fn();
    } catch (const std::invalid_argument& e) {
        return std::string("refused: ") + e.what();
    }
    return {};
}

struct RowsOfCounts {
    std::vector<int64_t> indptr;
    std::vector<int32_t> index;
    std::vector<float> value;
    Csr<float> view() const { return {indptr, index, value}; }
};

std::string tidied(const RowsOfCounts& x, std::vector<int64_t> remap, int64_t n_words, int threads = 2) {
    Exact<int64_t> indptr(x.indptr.size());
    Exact<int32_t> index(x.index.size());
    Exact<float> value(x.index.size());
    return refused([&] {
        const size_t n = tidy_rows(x.view(), {remap, n_words, 0}, threads, indptr.all(), index.all(), value.all());
        check(n <= x.index.size() && indptr.data[x.indptr.size() - 1] == int64_t(n));
        RowsOfCounts out{{indptr.data.get(), indptr.data.get() + indptr.size},
                         {index.data.get(), index.data.get() + n},
                         {value.data.get(), value.data.get() + n}};
        const RowsReport report = check_rows(out.view(), n_words);
        check(report.problem.empty() && report.n_zeros == 0, "tidy rows are those of a corpus");
    });
}

void rows_are_checked_and_tidied() {
    constexpr int32_t big = std::numeric_limits<int32_t>::max(), low = std::numeric_limits<int32_t>::min();
    constexpr float huge = std::numeric_limits<float>::max(), inf = std::numeric_limits<float>::infinity();
    const RowsOfCounts good{{0, 2, 2, 4}, {0, 3, 1, 2}, {1, 2, 3, 4}};
    check(check_rows(good.view(), 4).problem.empty() && tidied(good, {}, 4).empty());
    check(tidied(good, {3, -1, 0, 0}, 4).empty() && tidied({{0}, {}, {}}, {}, 0).empty());
    check(tidied({{0, 4}, {3, 0, 3, 0}, {1, 0, 2, 5}}, {}, 4).empty(), "unsorted, twice, and a zero");

    for (const auto& indptr : std::vector<std::vector<int64_t>>{
             {0, 3, 2, 4}, {0, 2, 9, 4}, {0, -1, 2, 4}, {-5, 2, 2, 4}, {0, INT64_MAX, 2, 4}, {0, INT64_MIN, 2, 4}}) {
        RowsOfCounts x = good;
        x.indptr = indptr;
        check(!check_rows(x.view(), 4).problem.empty() && !tidied(x, {}, 4).empty());
    }
    for (const int32_t v : {4, big, -1, low}) {
        RowsOfCounts x = good;
        x.index[3] = v;
        check(!check_rows(x.view(), 4).problem.empty() && !tidied(x, {}, 4).empty());
        check(!tidied(x, {0, 1, 2, 3}, 4).empty(), "outside the words that are renamed");
    }
    for (const float c : {-1.f, inf, -inf, std::nanf("")}) {
        RowsOfCounts x = good;
        x.value[2] = c;
        check(!check_rows(x.view(), 4).problem.empty() && !tidied(x, {}, 4).empty());
    }
    for (const int64_t to : {int64_t(4), int64_t(-2), INT64_MAX, INT64_MIN})
        check(!tidied(good, {0, 1, to, 3}, 4).empty());
    check(!tidied({{0, 2}, {1, 1}, {huge, huge}}, {}, 4).empty(), "the sum does not fit");
    check(!check_rows({good.indptr, std::vector<int32_t>{0, 0, 1, 2}, good.value}, 4).problem.empty(), "twice");
}

void shards_without_words() {
    check(localise({}, 0).cols.empty() && localise({}, 5).starts.size() == 1);
    const Localised one = localise(std::vector<int32_t>(1000, 4), 5);
    check(one.cols == std::vector<int32_t>{4} && one.starts == std::vector<int64_t>{0, 1000});
}

}  // namespace

int main() {
    rows_are_checked_and_tidied();
    shards_without_words();
}
