// What the bindings share: NumPy arrays as spans, and shape checks that raise ValueError.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/views.hpp"
#include "models/word_stats.hpp"

namespace topmix {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using Vec = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Mat = nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class A>
auto view(const A& a) {
    return std::span(a.data(), a.size());
}

/// Hands a vector over to NumPy without a copy.
template <class T>
Vec<T> give(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Vec<T>(owned->data(), {owned->size()}, owner);
}

/// The same for an array whose values were never set to zero first.
template <class T>
Vec<T> give(std::unique_ptr<T[]>&& values, size_t size) {
    T* data = values.get();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    values.release();  // only now: making the capsule may throw
    return Vec<T>(data, {size}, owner);
}

template <class T>
Mat<T> give(std::vector<T>&& values, size_t rows, size_t cols) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Mat<T>(owned->data(), {rows, cols}, owner);
}

/// What `work` returns, while other threads of Python go on.
template <class Work>
auto unlocked(Work&& work) {
    nb::gil_scoped_release nogil;
    return work();
}

inline void require(bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(what);
}

/// A topic is named by a TopicId.
inline void check_topic_count(size_t K) { require(1 <= K && K <= kMaxTopics, "K must be from 1 to MAX_TOPICS"); }

/// How many threads a kernel may use. Some make scratch for each of them, so that a number that nobody has would be
/// paid for in memory; bits depend on no number.
struct Threads {
    static constexpr int kMost = 1024;  // as in base/threads.py
    int n = 1;
    operator int() const { return n; }
};

/// Whether no number is negative, infinite or NaN. One pass without a branch, as are the next two.
template <class T>
bool are_counts(std::span<const T> x) {
    bool wrong = false;
    for (const T c : x) wrong |= !((c >= T(0)) & (c <= std::numeric_limits<T>::max()));
    return !wrong;
}

template <class T>
bool are_positive(std::span<const T> x) {
    bool wrong = false;
    for (const T c : x) wrong |= !((c > T(0)) & (c <= std::numeric_limits<T>::max()));
    return !wrong;
}

template <class T>
bool are_finite(std::span<const T> x) {
    bool wrong = false;
    for (const T c : x) wrong |= !((c >= std::numeric_limits<T>::lowest()) & (c <= std::numeric_limits<T>::max()));
    return !wrong;
}

/// Whether offsets rise from 0 to `last`.
inline bool rises(std::span<const int64_t> offsets, size_t last) {
    if (offsets.empty() || offsets.front() != 0 || offsets.back() != int64_t(last)) return false;
    bool falls = false;
    for (size_t n = 1; n < offsets.size(); ++n) falls |= offsets[n] < offsets[n - 1];
    return !falls;
}

/// Whether all ids are from 0 to n - 1.
template <class Id>
bool all_below(std::span<const Id> ids, size_t n) {
    std::make_unsigned_t<Id> largest = 0;  // a negative id is a large one
    for (const Id id : ids) largest = std::max(largest, std::make_unsigned_t<Id>(id));
    return ids.empty() || size_t(largest) < n;
}

/// Sparse rows whose offsets and ids nobody has looked at: for the functions that say what is wrong with them.
template <class T>
Csr<T> unchecked_csr(const Vec<const int64_t>& indptr, const Vec<const int32_t>& index, const Vec<const T>& value) {
    require(indptr.size() >= 1 && index.size() == value.size(), "indptr, index and value do not make sparse rows");
    require(indptr.data()[0] == 0 && indptr.data()[indptr.size() - 1] == int64_t(index.size()),
            "indptr must start at 0 and end at len(index)");
    return {view(indptr), view(index), view(value)};
}

/// Sparse rows for a kernel: nothing that it reads or writes by them lies outside of the arrays. Data is checked where
/// it comes in (corpus/corpus.py, corpus/rows.py), with better messages; here nothing gets past, whoever calls.
template <class T>
Csr<T> csr(const Vec<const int64_t>& indptr, const Vec<const int32_t>& index, const Vec<const T>& value,
           size_t n_words) {
    const Csr<T> X = unchecked_csr(indptr, index, value);
    require(rises(X.indptr, X.index.size()), "indptr must not fall");
    require(all_below(X.index, n_words), "a word lies outside the vocabulary");
    return X;
}

/// The entries of a shard, word by word, as `localise` gives them.
inline void check_words(const Vec<const int64_t>& starts, const Vec<const int32_t>& order, size_t words,
                        size_t entries) {
    require(starts.size() == words + 1 && order.size() == entries && rises(view(starts), entries) &&
                all_below(view(order), entries),
            "starts and order do not fit this shard");
}

/// Topics of each of n rows, with a count each.
template <class Id, class T>
void check_topics(const Vec<const int64_t>& indptr, const Vec<const Id>& topic, const Vec<const T>& count, size_t n,
                  size_t K, const char* what) {
    require(indptr.size() == n + 1 && topic.size() == count.size() && rises(view(indptr), topic.size()) &&
                all_below(view(topic), K),
            what);
}

}  // namespace topmix

template <>
struct nanobind::detail::type_caster<topmix::Threads> {
    NB_TYPE_CASTER(topmix::Threads, const_name("int"))
    bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
        make_caster<int> number;
        if (!number.from_python(src, flags, cleanup)) return false;
        value.n = std::clamp(number.value, 1, topmix::Threads::kMost);
        return true;
    }
};
