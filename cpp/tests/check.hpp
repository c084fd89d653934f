// An assert that stays on in every build and says where.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <source_location>

inline void check(bool ok, const char* what = "", std::source_location at = std::source_location::current()) {
    if (ok) return;
    std::fprintf(stderr, "%s:%u: check failed %s\n", at.file_name(), unsigned(at.line()), what);
    std::exit(1);
}
