// Top-L against a stable sort. The address sanitizer does not see masked vector stores, so guards stand behind the
// output.
#include "simd/top_l.hpp"

#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "base/parallel.hpp"
#include "base/rng.hpp"
#include "tests/check.hpp"

using namespace topmix;

namespace {

template <class T>
std::vector<T> row(int kind, size_t K, Rng& rng) {
    constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    const T odd[] = {0, T(-0.0), nan, inf, -inf, std::numeric_limits<T>::denorm_min(), 1};
    std::vector<T> s(K);
    for (T& x : s) {
        const T u = T(rng.uniform());
        if (kind == 0) x = u - T(0.5);
        if (kind == 1) x = std::floor(4 * u);
        if (kind == 2) x = u < T(0.95) ? -inf : u;
        if (kind == 3) x = std::exp(160 * (u - T(0.5)));
        if (kind == 4) x = odd[rng.below(7)];
        if (kind == 5) x = 1;
    }
    return s;
}

template <class T>
void selection_is_a_stable_sort() {
    constexpr size_t guards = 32;
    Rng rng(1, 2, 3);
    for (size_t K : {1, 2, 15, 16, 17, 33, 50, 129, 200, 513, 2003})
        for (size_t L : {1, 2, 6, 7, 16, 17, 64, 65, 300})
            for (int kind = 0; kind < 6; ++kind) {
                const size_t m = std::min(L, K);
                const auto drawn = row<T>(kind, K, rng);
                const std::unique_ptr<T[]> s(new T[K]), val(new T[m + guards]);
                const std::unique_ptr<int32_t[]> idx(new int32_t[m + guards]);
                std::fill_n(val.get(), m + guards, T(-99));
                std::fill_n(idx.get(), m + guards, -99);
                std::ranges::copy(drawn, s.get());
                check(select_top_l(std::span<const T>(s.get(), K), L, idx.get(), val.get()) == m);

                std::vector<int32_t> order(K);
                std::iota(order.begin(), order.end(), 0);
                auto score = [&](int32_t k) { return std::isnan(s[size_t(k)]) ? PlainLanes<T>::ninf : s[size_t(k)]; };
                std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return score(a) > score(b); });
                std::sort(order.begin(), order.begin() + ptrdiff_t(m));
                for (size_t l = 0; l < m; ++l) check(idx[l] == order[l] && val[l] == score(order[l]));

                const double H = softmax_top_l(std::span<const T>(s.get(), K), L, idx.get(), val.get());
                const double sum = std::accumulate(val.get(), val.get() + m, 0.0);
                for (size_t l = m; l < m + guards; ++l) check(idx[l] == -99 && val[l] == T(-99), "wrote past the row");
                check(std::abs(sum - 1) < 1e-5 && H > -1e-5 && H < std::log(double(m)) + 1e-5);
            }
}

/// Each loop of this instruction set against the plain one.
void lanes_are_plain_lanes() {
    using Fast = Lanes<float>;
    using Plain = PlainLanes<float>;
    constexpr size_t room = 1024;
    Rng rng(7, 8, 9);
    auto same = [](auto a, auto b) { return std::memcmp(&a, &b, sizeof a) == 0; };
    for (size_t K : {1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 17, 31, 32, 33, 63, 64, 65, 200, 1003, 2003})
        for (int kind = 0; kind < 6; ++kind) {
            const std::unique_ptr<float[]> s(new float[K]);  // of exactly this size, for the address sanitizer
            std::ranges::copy(row<float>(kind, K, rng), s.get());
            const auto range = Fast::range(s.get(), K), plain = Plain::range(s.get(), K);
            check(range.low == plain.low && range.high == plain.high, "range");
            std::vector<float> M(128), other(128);
            Fast::maxima<128>(s.get(), K, M.data()), Plain::maxima<128>(s.get(), K, other.data());
            for (size_t j = 0; j < M.size(); ++j) check(M[j] == other[j], "maxima");
            for (size_t i = 0; i < K; i += 1 + K / 9) {
                const float t = s[i] > Plain::ninf ? s[i] : 0.25f;
                check(Fast::count_ge(s.get(), K, t) == Plain::count_ge(s.get(), K, t), "count_ge");
                check(Fast::find(s.get(), K, t) == Plain::find(s.get(), K, t), "find");
                std::vector<float> val(room), val_plain(room);
                std::vector<int32_t> idx(room), idx_plain(room);
                const size_t n = Fast::filter_ge(s.get(), K, t, val.data(), idx.data(), room);
                const size_t n_plain = Plain::filter_ge(s.get(), K, t, val_plain.data(), idx_plain.data(), room);
                if (n > room || n_plain > room) continue;  // where a row ends too early depends on the width
                check(n == n_plain && std::equal(idx.begin(), idx.begin() + ptrdiff_t(n), idx_plain.begin()));
                for (size_t l = 0; l < n; ++l) check(same(val[l], val_plain[l]), "filter_ge");
            }
        }
}

void threads_give_the_same_bits() {
    constexpr size_t N = 1'003, K = 53, L = 7;
    Rng rng(4, 5, 6);
    const auto s = row<float>(3, N * K, rng);
    std::vector<std::vector<float>> results;
    for (int threads : {1, 2, 7}) {
        std::vector<float> r(N * L);
        std::vector<int32_t> idx(N * L);
        parallel_for(N, 16, threads, [&](size_t begin, size_t end, size_t) {
            for (size_t n = begin; n < end; ++n)
                normalise_top_l(std::span<const float>(s).subspan(n * K, K), L, &idx[n * L], &r[n * L]);
        });
        results.push_back(r);
    }
    for (const auto& r : results) check(std::memcmp(r.data(), results[0].data(), r.size() * sizeof(float)) == 0);
}

}  // namespace

int main() {
    lanes_are_plain_lanes();
    selection_is_a_stable_sort<float>();
    selection_is_a_stable_sort<double>();
    threads_give_the_same_bits();
}
