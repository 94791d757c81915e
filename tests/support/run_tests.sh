#!/bin/sh
# run_tests.sh C_TEST... - run the C tests given and every spec in tests/spec,
# and end with one line "N passed, N failed". LRUN_BIN is the binary to test.
#
# A C test counts as one, however many checks it makes. Specs run in one process
# more than there are processors (they often wait), each file in one of its own;
# SPEC=pattern takes only files whose name has it. They get a PostgreSQL server
# of their own, which is gone at the end; LRUN_TEST_PG_URL takes another one,
# where the role may make databases.
set -u
here=$(dirname "$0")
: "${LRUN_BIN:=build/lrun}"
case $LRUN_BIN in /*) ;; *) LRUN_BIN=$PWD/$LRUN_BIN ;; esac
export LRUN_BIN
# A sanitizer's report must not look like one of lrun's own exit statuses.
export ASAN_OPTIONS="exitcode=99:allocator_may_return_null=1:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="exitcode=99:print_stacktrace=1:${UBSAN_OPTIONS:-}"

out=$(mktemp -d) || exit 1
cluster=
specs=
finish() {
    trap '' INT TERM HUP
    [ -z "$specs" ] || kill -TERM "-$specs" 2>/dev/null
    [ -z "$cluster" ] || sh "$here/cluster.sh" stop "$cluster"
    chmod -R u+w "$out"
    rm -rf "$out"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

PATH=$(sh "$here/cluster.sh" bin):$PATH || exit 1
if [ -z "${LRUN_TEST_PG_URL:-}" ]; then
    cluster=$(sh "$here/cluster.sh" start $$) || exit 1
    LRUN_TEST_PG_DIR=$cluster
    LRUN_TEST_PG_URL="postgresql://postgres@/postgres?host=$cluster"
    export LRUN_TEST_PG_DIR LRUN_TEST_PG_URL
fi
TMPDIR=$out
export TMPDIR

passed=0
failed=0
count() { passed=$((passed + $1)); failed=$((failed + $2)); }

for t in "$@"; do
    if "$t" >"$out/log" 2>&1 </dev/null; then
        p=1 f=0
    else
        p=0 f=1
        cat "$out/log"
    fi
    printf '%-32s %4d passed, %d failed (%s)\n' "${t##*/}" $p $f "$(tail -n 1 "$out/log")"
    count $p $f
done

# One spec file: its log and its count.
cat >"$out/one.sh" <<'ONE'
name=$(basename "$2" .lua)
began=$(date +%s)
busted --lua=lua5.4 --output=plainTerminal --lpath='tests/support/?.lua' "$2" >"$1/$name.log" 2>&1 </dev/null
rc=$?
awk -v rc=$rc '
    / success(es)? \/ [0-9]+ failures? \/ [0-9]+ errors? \/ [0-9]+ pending/ { p = $1; f = $4 + $7 + $10; seen = 1 }
    END { if (!seen || (rc != 0 && f == 0)) f++; print p + 0, f + 0 }' "$1/$name.log" >"$1/$name.count"
read -r p f <"$1/$name.count"
[ "$f" -eq 0 ] || cat "$1/$name.log"
printf '%-32s %4d passed, %d failed (%d s)\n' "$name" "$p" "$f" $(($(date +%s) - began))
ONE
# In a group of processes of their own, so that a signal can end all of it; the
# largest first, so that none is left alone at the end.
# shellcheck disable=SC2012
ls -S tests/spec/*"${SPEC:-}"*_spec.lua tests/fault/*"${SPEC:-}"*_spec.lua 2>/dev/null >"$out/specs"
setsid xargs -r -n 1 -P "$(($(nproc) + 1))" sh "$out/one.sh" "$out" <"$out/specs" &
specs=$!
wait "$specs"
specs=
for c in "$out"/*.count; do
    [ -e "$c" ] || continue
    read -r p f <"$c"
    count "$p" "$f"
done

if [ $((passed + failed)) -eq 0 ]; then
    echo 'no test was run' >&2
    failed=1
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
