// The names that Python has for the quadratic part of a row, and what it costs to find the best clusters of one.
#pragma once
#include <map>
#include <string>

#include "bind/arrays.hpp"
#include "models/gaussian.hpp"
#include "steps/mixture.hpp"

namespace topmix {

constexpr size_t kSelection = 16;  // operations for each score of a row, about, besides those that make it

inline Quadratic quadratic(const std::string& name) {
    static const std::map<std::string, Quadratic> kinds{{"none", Quadratic::none},
                                                        {"norm", Quadratic::norm},
                                                        {"squares", Quadratic::squares},
                                                        {"products", Quadratic::products}};
    const auto found = kinds.find(name);
    require(found != kinds.end(), "quadratic must be none, norm, squares or products");
    return found->second;
}

/// What a row is assigned goes into cluster and r [rows, L], entropy and likelihood [rows].
template <class T>
Assigned<T> assigned(size_t n, size_t most, Mat<int32_t>& cluster, Mat<T>& r, Vec<double>& entropy,
                     Vec<double>& likelihood) {
    const size_t L = cluster.shape(1);
    require(1 <= L && L <= most, "need 1 <= L <= K");
    require(cluster.shape(0) == n && r.shape(0) == n && r.shape(1) == L, "cluster and r must be [rows, L]");
    require(entropy.size() == n && likelihood.size() == n, "entropy and likelihood must be [rows]");
    return {view(cluster), view(r), view(entropy), view(likelihood)};
}

}  // namespace topmix
