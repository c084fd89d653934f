// Made by tools/options.py from src/topmix/models/topics.py; do not edit.
#pragma once

// clang-format off
#define TOPMIX_DOCUMENT_OPTIONS(OPTION) \
    OPTION(float, eps) \
    OPTION(int, max_iter) \
    OPTION(float, tol) \
    OPTION(bool, mean_change) \
    OPTION(bool, select_often) \
    OPTION(bool, exclude) \
    OPTION(int, restarts) \
    OPTION(int, restart_iter) \
    OPTION(float, own_discount)
// clang-format on
