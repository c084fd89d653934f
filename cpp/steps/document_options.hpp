// How documents are solved. Options are declared, with their defaults, in src/topmix/models/topics.py.
#pragma once
#include <cstddef>

#include "models/posterior.hpp"
#include "steps/document_option_list.hpp"

namespace topmix {

struct DocumentOptions {
    Posterior posterior;
    size_t L;  // topics kept per word
#define TOPMIX_FIELD(type, name) type name;
    TOPMIX_DOCUMENT_OPTIONS(TOPMIX_FIELD)
#undef TOPMIX_FIELD
};

}  // namespace topmix
