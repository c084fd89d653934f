#!/usr/bin/env bash
# The C++ tests for aarch64 on another machine, without sanitizers: cross-compiled, and run under qemu.
#
#     cpp/tests/run_aarch64.sh
#
# Needs Debian's g++-aarch64-linux-gnu and qemu-user-static (or qemu-user), and cmake and ninja on PATH.
set -euo pipefail
cd "$(dirname "$0")/../.."
compiler=${CXX:-$(command -v aarch64-linux-gnu-g++ || ls /usr/bin/aarch64-linux-gnu-g++-* | tail -n 1)}
emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64)
cmake -S . -B build/aarch64 -G Ninja -DTOPMIX_NATIVE_TESTS=ON -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CROSSCOMPILING_EMULATOR="$emulator;-L;/usr/aarch64-linux-gnu" >/dev/null
cmake --build build/aarch64 -- --quiet
ctest --test-dir build/aarch64 --output-on-failure -j 2
