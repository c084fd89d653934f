#!/usr/bin/env bash
# The C++ tests for the other processor, without sanitizers: cross-compiled, and run under qemu. That is aarch64 on an
# x86-64 machine; on aarch64 it is x86-64 without vectors, or with those of the instruction sets that are named.
#
#     cpp/tests/run_other.sh [x86-64-v3]
#
# Needs Debian's g++-aarch64-linux-gnu (or g++-x86-64-linux-gnu), qemu-user-static (or qemu-user), cmake and ninja.
set -euo pipefail
cd "$(dirname "$0")/../.."
case $(uname -m) in
x86_64) arch=aarch64 ;;
*) arch=x86_64 ;;
esac
isas=base
for isa in "$@"; do isas+=";$isa"; done
compiler=${CXX:-$(command -v $arch-linux-gnu-g++ || ls /usr/bin/$arch-linux-gnu-g++-* 2>/dev/null | tail -n 1)} || true
emulator=$(command -v qemu-$arch-static || command -v qemu-$arch) || true
if [ -z "$compiler" ] || [ -z "$emulator" ]; then
    echo "SKIPPED the other processor: it needs ${arch/_/-}'s g++ and qemu-user"
    exit
fi
cmake -S . -B build/other -G Ninja -DTOPMIX_NATIVE_TESTS=ON -DTOPMIX_TEST_ISAS="$isas" -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$arch -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CROSSCOMPILING_EMULATOR="$emulator;-L;/usr/$arch-linux-gnu" >/dev/null
cmake --build build/other -- --quiet
ctest --test-dir build/other --output-on-failure -j 2
