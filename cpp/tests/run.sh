#!/usr/bin/env bash
# The C++ tests under sanitizers. What the vectors compute, the Python tests compare on every instruction set.
#
#     cpp/tests/run.sh                   asan, on the widest instruction set of this processor
#     cpp/tests/run.sh --all             asan on every instruction set, and tsan
#     cpp/tests/run.sh preset ...        these presets on every instruction set; release is the third
#
# asan is the address and the undefined-behaviour sanitizer together, with -Og: with -O1 it takes a
# third longer. Needs cmake and ninja on PATH.
set -euo pipefail
cd "$(dirname "$0")/../.."

isas=base
runs() { grep -qw "$1" /proc/cpuinfo 2>/dev/null; }
if runs avx2 && runs bmi2 && runs fma; then isas+=";x86-64-v3"; fi
if runs avx512f && runs avx512vl && runs avx512bw && runs avx512dq; then isas+=";x86-64-v4"; fi

# Some kernels place memory where the thread sanitizer does not expect it; without address randomisation it works.
fixed() { if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi; }

works() { # can the compiler build, link and start a program with these flags?
    local dir
    dir=$(mktemp -d)
    echo 'int main() {}' >"$dir/a.cpp"
    local ok=0
    { "${CXX:-c++}" "$@" "$dir/a.cpp" -o "$dir/a" && fixed "$dir/a"; } >/dev/null 2>&1 || ok=1
    rm -r "$dir"
    return $ok
}

widest=${isas##*;}
if [ $# -eq 0 ]; then
    isas=$widest
    set -- asan
    # GCC's search for leaks takes four seconds for any program on aarch64; --all has it there too.
    if [ "$(uname -m)" = aarch64 ]; then export ASAN_OPTIONS=detect_leaks=0; fi
elif [ "$1" = --all ]; then
    set -- asan tsan
fi
for preset in "$@"; do
    sets=$isas
    case $preset in
    asan) flags=-fsanitize=address,undefined ;;
    tsan) flags=-fsanitize=thread sets=$widest ;; # threads meet in the same places whatever the vectors
    *) flags=-O1 ;;
    esac
    if ! works $flags; then
        echo "SKIPPED $preset: ${CXX:-c++} cannot build and run a program with $flags"
        continue
    fi
    echo "$preset on $sets"
    cmake --preset "$preset" -DTOPMIX_TEST_ISAS="$sets" >/dev/null
    cmake --build --preset "$preset" -- --quiet
    fixed ctest --preset "$preset" -j 2 | tail -n 40
done
