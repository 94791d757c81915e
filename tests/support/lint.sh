#!/bin/sh
# lint.sh - everything that reads the code without running it.
set -u
bad=0
lua5.4 tests/support/layers.lua || bad=1
# shellcheck disable=SC2046
cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr -j "$(nproc)" \
    --enable=warning,performance,portability --suppress=missingIncludeSystem \
    -Iinclude -Iruntime -D_GNU_SOURCE -DLRUN_VERSION='""' \
    runtime $(ls -d tests/c tests/bench tests/fuzz 2>/dev/null) || bad=1
# Jobs see the primitives as globals; specs see busted's.
luacheck -q --std lua54 --max-line-length 140 stdlib tests/support \
    --read-globals core || bad=1
luacheck -q --std lua54 --max-line-length 140 tests/bench/*.lua || bad=1
luacheck -q --std lua54+busted --max-line-length 220 tests/spec tests/fault \
    --exclude-files 'tests/spec/data/**' || bad=1
luacheck -q --std lua54 --max-line-length 120 jobs tests/bench/jobs --read-globals \
    job extract merge overwrite_partition insert_new full_load scd2_merge delete_missing apply_changes swap reconcile partitions lateness scd2_join group \
    query execute window watermark param logical_date run_start \
    days hours minutes weeks months date instant null blob || bad=1
[ $bad -eq 0 ] && echo 'lint: nothing found'
exit $bad
