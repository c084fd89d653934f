// The names that Python has for the quadratic part of a row.
#pragma once
#include <map>
#include <string>

#include "bind/arrays.hpp"
#include "likelihoods/gaussian.hpp"

namespace topmix {

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
