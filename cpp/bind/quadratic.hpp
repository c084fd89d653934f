// The names that Python has for the quadratic part of a row, and what it costs to find the best clusters of one.
#pragma once
#include <map>
#include <string>

#include "bind/arrays.hpp"
#include "likelihoods/gaussian.hpp"

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

}  // namespace topmix
