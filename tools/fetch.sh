#!/bin/sh
# Installs packages into an environment: tools/fetch.sh FOLDER_OF_PYTHON ARGUMENTS_OF_PIP_INSTALL...
#
# uv, because pip takes minutes of a processor to agree on versions for the group `test`. pip where uv is not to be had,
# or fails: an index that only pip's configuration names, for instance.
set -eu
bin=$1
shift
if [ ! -x "$bin/uv" ]; then
    "$bin/python" -m pip install --quiet 'uv>=0.7' || true
fi
if [ -x "$bin/uv" ] && "$bin/uv" pip install --quiet --python "$bin/python" "$@"; then
    exit 0
fi
exec "$bin/python" -m pip install --quiet "$@"
