#!/usr/bin/env bash
# The wheel of the other processor, under qemu: aarch64 on an x86-64 machine, and the reverse. Debian's Python for it and
# the wheels of topmix's dependencies go to build/wheels/other. Fits are compared with those here (tools/wheels/smoke.py).
#
#     tools/wheels/check_other.sh PYTHON       a Python with topmix installed; needs apt and qemu-user-static
set -euo pipefail
here=$(realpath "${1:-build/wheels/check/bin/python}" -s)
cd "$(dirname "$0")/../.."
case $(uname -m) in
x86_64) arch=aarch64 debian=arm64 ;;
aarch64) arch=x86_64 debian=amd64 ;;
*) echo "wheels are for x86_64 and aarch64, and this is $(uname -m)" >&2 && exit 1 ;;
esac
folder=$PWD/build/wheels/other
mkdir -p "$folder"/{apt/lists/partial,apt/cache/archives/partial,root,wheels,site}
touch "$folder/apt/status"
options=(-o "APT::Architecture=$debian" -o "APT::Architectures::=$debian" -o "Dir::State=$folder/apt" -o "Dir::State::lists=$folder/apt/lists"
    -o "Dir::State::status=$folder/apt/status" -o "Dir::Cache=$folder/apt/cache" -o Debug::NoLocking=1)
if ! ls "$folder"/root/usr/bin/python3.?? >/dev/null 2>&1; then
    apt-get "${options[@]}" -qq update
    apt-get "${options[@]}" -qq -y --no-install-recommends --download-only install python3 libstdc++6
    for package in "$folder"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
    if [ -h "$folder/root/lib64/ld-linux-x86-64.so.2" ]; then # it points to the root of the system, which is another here
        ln -sf ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$folder/root/lib64/"
    fi
fi
python=$(ls "$folder"/root/usr/bin/python3.?? | head -1)
version=$(basename "$python" | tr -d 'python.')
wheel=$(ls dist/topmix-*_$arch.whl)
platforms=(--platform "manylinux2014_$arch")
for minor in 26 27 28; do platforms+=(--platform "manylinux_2_${minor}_$arch"); done
"$here" -m pip download -q -d "$folder/wheels" --only-binary :all: "${platforms[@]}" --python-version "$version" --implementation cp \
    --abi "cp$version" --abi abi3 --abi none "$wheel"
rm -rf "$folder/site"
for file in "$folder"/wheels/*.whl; do "$here" -m zipfile -e "$file" "$folder/site"; done
other() { "qemu-$arch-static" -L "$folder/root" -E PYTHONPATH="$folder/site" "$@" "$python" -B tools/wheels/smoke.py --compare "$folder/here.json"; }
(cd / && TOPMIX_ISA=base "$here" "$OLDPWD/tools/wheels/smoke.py" >"$folder/here.json")
for isa in $(cd "$folder/site/topmix" && ls _core_*.so | sed 's/_core_\([a-z0-9]*\).*/\1/'); do
    [ "$isa" = avx512 ] || other -E TOPMIX_ISA="$isa" # which qemu does not know
done
