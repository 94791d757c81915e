#!/bin/sh
# run.sh [NAME...] - prove the tests: break one guard at a time in a copy of the
# sources, build it, and run the specs named in the patch. A mutant that passes
# them is a hole in the tests. Takes minutes, and is no part of `make test`.
set -u
root=$(cd "$(dirname "$0")/../../.." && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
caught=0 missed=0
[ $# -gt 0 ] || set -- "$root"/tests/fault/mutants/*.patch
for given in "$@"; do
    name=$(basename "$given" .patch)
    patch=$root/tests/fault/mutants/$name.patch
    specs=$(sed -n 's/^# specs: //p' "$patch")
    if [ ! -d "$work/tree" ]; then
        mkdir "$work/tree"
        (cd "$root" && cp -R runtime stdlib include jobs examples tests Makefile "$work/tree") || exit 1
        make -C "$work/tree" -s -j"$(nproc)" all >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    fi
    cd "$work/tree" || exit 1
    patch -s -p1 <"$patch" || { echo "$name: the patch does not apply"; exit 1; }
    make -s -j"$(nproc)" all >"$work/log" 2>&1 || { cat "$work/log"; echo "$name: does not build"; exit 1; }
    found=
    for spec in $specs; do
        make -s test-run SPEC="$spec" >"$work/log" 2>&1 || { found=$spec; break; }
    done
    if [ -n "$found" ]; then
        caught=$((caught + 1))
        echo "$name: caught by $found ($(sed -n 's/^# //p' "$patch" | head -n 1))"
        grep -m 1 -A 1 -E '^(Failure|Error) ->' "$work/log" | sed 's/^/  /'
    else
        missed=$((missed + 1))
        echo "$name: NOT CAUGHT by $specs ($(sed -n 's/^# //p' "$patch" | head -n 1))"
    fi
    patch -s -R -p1 <"$patch" || exit 1
done
echo "$caught caught, $missed missed"
[ "$missed" -eq 0 ]
