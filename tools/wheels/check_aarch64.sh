#!/usr/bin/env bash
# The aarch64 wheel on an x86-64 machine, under qemu: Debian's Python for arm64 and the aarch64 wheels of its
# dependencies, in build/wheels/arm64. Fits are compared with those of the wheel here (tools/wheels/smoke.py).
#
#     tools/wheels/check_aarch64.sh PYTHON       a Python with topmix installed; needs apt and qemu-user-static
set -euo pipefail
here=$(realpath "${1:-build/wheels/check/bin/python}" -s)
cd "$(dirname "$0")/../.."
folder=$PWD/build/wheels/arm64
mkdir -p "$folder"/{apt/lists/partial,apt/cache/archives/partial,root,wheels,site}
touch "$folder/apt/status"
options=(-o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "Dir::State=$folder/apt" -o "Dir::State::lists=$folder/apt/lists"
    -o "Dir::State::status=$folder/apt/status" -o "Dir::Cache=$folder/apt/cache" -o Debug::NoLocking=1)
if ! ls "$folder"/root/usr/bin/python3.?? >/dev/null 2>&1; then
    apt-get "${options[@]}" -qq update
    apt-get "${options[@]}" -qq -y --no-install-recommends --download-only install python3 libstdc++6
    for package in "$folder"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
fi
python=$(ls "$folder"/root/usr/bin/python3.?? | head -1)
version=$(basename "$python" | tr -d 'python.')
wheel=$(ls dist/topmix-*_aarch64.whl)
platforms=(--platform manylinux2014_aarch64)
for minor in 26 27 28; do platforms+=(--platform "manylinux_2_${minor}_aarch64"); done
"$here" -m pip download -q -d "$folder/wheels" --only-binary :all: "${platforms[@]}" --python-version "$version" --implementation cp \
    --abi "cp$version" --abi abi3 --abi none "$wheel"
rm -rf "$folder/site"
for file in "$folder"/wheels/*.whl "$wheel"; do "$here" -m zipfile -e "$file" "$folder/site"; done
arm() { qemu-aarch64-static -L "$folder/root" -E PYTHONPATH="$folder/site" "$python" -B "$@"; }
(cd / && TOPMIX_ISA=base "$here" "$OLDPWD/tools/wheels/smoke.py" >"$folder/here.json")
arm tools/wheels/smoke.py --compare "$folder/here.json"
