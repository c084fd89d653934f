#!/usr/bin/env bash
# Instructions of each kernel on fixed generated data, one line per kernel and instruction set.
#
#     [ISAS="base;x86-64-v3"] cpp/tests/instructions.sh [kernel ...] >counts.txt
#
# tools/guard.py compares them with a baseline, for the widest instruction set that valgrind knows.
# Needs valgrind, cmake and ninja on PATH. Valgrind 3.19 knows no AVX-512: that build is not counted.
set -euo pipefail
cd "$(dirname "$0")/../.."

sets=${ISAS:-base}
[ "$(uname -m)" != x86_64 ] || sets=${ISAS:-"base;x86-64-v3"}
cmake --preset release -DTOPMIX_TEST_ISAS="$sets" >/dev/null
cmake --build --preset release --target instructions -- --quiet -j 2 >&2

count() {  # program, instruction set, kernel
    counted=$(valgrind --tool=callgrind --toggle-collect=measured --callgrind-out-file=/dev/null "$1" "$3" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p')
    printf '%-10s %-26s %13s\n' "$2" "$3" "$counted"
}
export -f count

for isa in ${sets//;/ }; do
    program=build/release/cpp/tests/instructions_$isa
    printf '%s\n' ${*:-$("$program")} | xargs -P "$(nproc)" -I{} bash -c "count $program $isa {}" | sort
done
