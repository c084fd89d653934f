#!/bin/sh
# The same without Python code: topics of a folder of texts, new texts, a page, and how many topics to take.
#
#     sh examples/command_line.sh FOLDER
set -eu
topmix="${TOPMIX:-topmix}"
docs="$1"
work="$(mktemp -d)"
trap 'rm -r "$work"' EXIT

$topmix fit "$docs" -k 6 -o "$work/model" --seed 1
$topmix topics "$work/model" -n 5
$topmix infer "$work/model" "$docs" -o "$work/theta.csv"
head -n 2 "$work/theta.csv"
$topmix eval "$work/model" "$docs"
$topmix report "$work/model" --corpus "$docs" -o "$work/report.html"
$topmix sweep "$docs" -k 3,6 --seeds 2
