#!/usr/bin/env bash
# Instructions of each kernel on fixed generated data, one line per kernel and instruction set.
#
#     cpp/tests/instructions.sh [kernel ...] >counts.txt
#
# Needs valgrind, cmake and ninja on PATH. Valgrind 3.19 knows no AVX-512: that build is not counted.
set -euo pipefail
cd "$(dirname "$0")/../.."

sets=base
[ "$(uname -m)" != x86_64 ] || sets="base;x86-64-v3"
cmake --preset release -DTOPMIX_TEST_ISAS="$sets" >/dev/null
cmake --build --preset release --target instructions -- --quiet -j 2 >&2

for isa in ${sets//;/ }; do
    program=build/release/cpp/tests/instructions_$isa
    for kernel in ${*:-$("$program")}; do
        counted=$(valgrind --tool=callgrind --toggle-collect=measured --callgrind-out-file=/dev/null \
            "$program" "$kernel" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p')
        printf '%-10s %-26s %13s\n' "$isa" "$kernel" "$counted"
    done
done
