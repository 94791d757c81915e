# lrun: `make` builds build/lrun, `make demo` shows it at work, `make test`
# proves it. Everything that is made goes into build/ (and the example shop's
# two databases into examples/). Needs GNU make; `make deps` installs the rest.

VERSION := 0.1.0

# Where the objects and the binary go; check-sanitize builds a second tree.
OUT := build

PREFIX  ?= /usr/local
DESTDIR ?=

CC       := gcc
CFLAGS   := -O2 -g
SANITIZE :=

# No pkg-config: this file is read before anything is installed.
LUA_CFLAGS ?= -I/usr/include/lua5.4
LUA_LIBS   ?= -llua5.4
PQ_CFLAGS  ?= -I/usr/include/postgresql

ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -DLRUN_VERSION='"$(VERSION)"' \
             -Wall -Wextra -Werror $(CFLAGS) $(SANITIZE) \
             -Iinclude -Iruntime $(LUA_CFLAGS)
# Lazy binding keeps the start short; exported symbols let Lua load C modules.
ALL_LDFLAGS = $(SANITIZE) -Wl,-z,lazy -Wl,--export-dynamic
LIBS = -l:liblua5.4-cjson.a $(LUA_LIBS) -lsqlite3 -l:libmd.a -lm -ldl

# runtime/driver/postgres and runtime/repl_edit become shared objects of their
# own, so that libpq and libedit are loaded only when they are needed.
PG_SRC   := $(sort $(wildcard runtime/driver/postgres/*.c))
EDIT_SRC := $(sort $(wildcard runtime/repl_edit/*.c))
SRC      := $(sort $(shell find runtime -name '*.c' \
              -not -path 'runtime/driver/postgres/*' -not -path 'runtime/repl_edit/*'))
STDLIB   := $(sort $(shell find stdlib -name '*.lua' 2>/dev/null))

OBJ      := $(SRC:%.c=$(OUT)/obj/%.o)
BASE_OBJ := $(filter $(OUT)/obj/runtime/base/%,$(OBJ))
MODULES  := $(if $(PG_SRC),$(OUT)/lrun_pg.so) $(if $(EDIT_SRC),$(OUT)/lrun_edit.so)
SHOP     := examples/source.db examples/warehouse.db

C_TESTS := $(patsubst tests/c/%.c,$(OUT)/tests/%,$(sort $(wildcard tests/c/test_*.c))) \
           $(patsubst tests/fuzz/fuzz_%.c,$(OUT)/tests/replay_%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
BENCH   := $(patsubst tests/bench/%.c,$(OUT)/bench/%,$(sort $(wildcard tests/bench/*.c)))
FUZZ_OBJ := $(filter-out $(OUT)/obj/runtime/main.o,$(OBJ)) $(OUT)/stdlib_data.o $(PG_SRC:%.c=$(OUT)/pic/%.o)
FUZZERS := $(patsubst tests/fuzz/%.c,$(OUT)/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

# Debian's packages, by what they are for.
DEPS_BUILD := gcc libc6-dev liblua5.4-dev lua-cjson-dev libsqlite3-dev libmd-dev \
              sqlite3 tzdata $(if $(EDIT_SRC),libedit-dev) $(if $(PG_SRC),libpq-dev)
DEPS_TEST  := lua5.4 lua-busted lua-cjson procps mount postgresql pgbouncer openssl
DEPS_LINT  := lua5.4 cppcheck lua-check
DEPS_BENCH := lua5.4 postgresql
DEPS_FUZZ  := clang libclang-rt-14-dev
FUZZ_SECONDS ?= 60

JOBS := $(shell nproc 2>/dev/null || echo 2)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all binary deps deps-build deps-test deps-lint deps-fuzz deps-bench deps-mutants demo test test-run \
        check-sanitize fuzz fuzz-run bench mutants lint shop install clean FORCE

all: binary $(SHOP)

binary: $(OUT)/lrun $(MODULES)

# ---- the binary ---------------------------------------------------------

$(OUT)/lrun: $(OBJ) $(OUT)/stdlib_data.o $(OUT)/sources.list
	$(CC) $(ALL_LDFLAGS) -o $@ $(OBJ) $(OUT)/stdlib_data.o $(LIBS)

$(OUT)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(OUT)/lrun_pg.so: $(PG_SRC:%.c=$(OUT)/pic/%.o)
	$(CC) $(SANITIZE) -shared -o $@ $^ -lpq
$(OUT)/lrun_edit.so: $(EDIT_SRC:%.c=$(OUT)/pic/%.o)
	$(CC) $(SANITIZE) -shared -o $@ $^ -ledit
$(OUT)/pic/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(PQ_CFLAGS) -fPIC -MMD -MP -c -o $@ $<

# The lists change only when a file comes or goes, and then what is made from
# them is made again.
$(OUT)/sources.list: FORCE
	@mkdir -p $(@D)
	@echo '$(SRC)' | cmp -s - $@ || echo '$(SRC)' > $@
$(OUT)/stdlib.list: FORCE
	@mkdir -p $(@D)
	@echo '$(STDLIB)' | cmp -s - $@ || echo '$(STDLIB)' > $@

# The Lua part of lrun, built in as source: every file's bytes, and an index
#   struct lr_stdlib_file { const char *name; const char *data; size_t size; };
#   extern const struct lr_stdlib_file lr_stdlib[]; extern const size_t lr_stdlib_count;
$(OUT)/stdlib_data.S: $(OUT)/stdlib.list $(STDLIB) Makefile
	@{ echo '/* Made by the Makefile. */'; n=0; \
	   echo '.section .rodata'; \
	   for f in $(STDLIB); do \
	     printf 'n%d: .asciz "%s"\nd%d: .incbin "%s"\ne%d: .byte 0\n' \
	       $$n "$${f#stdlib/}" $$n "$$f" $$n; n=$$((n+1)); done; \
	   echo '.globl lr_stdlib_count'; echo '.balign 8'; \
	   printf 'lr_stdlib_count: .quad %d\n' $$n; \
	   echo '.section .data.rel.ro,"aw",%progbits'; \
	   echo '.globl lr_stdlib'; echo '.balign 8'; echo 'lr_stdlib:'; i=0; \
	   while [ $$i -lt $$n ]; do \
	     printf '.quad n%d, d%d, e%d - d%d\n' $$i $$i $$i $$i; i=$$((i+1)); done; \
	   echo '.quad 0, 0, 0'; \
	   echo '.section .note.GNU-stack,"",%progbits'; } > $@
$(OUT)/stdlib_data.o: $(OUT)/stdlib_data.S
	$(CC) -c -o $@ $<

# ---- the example shop ---------------------------------------------------

# Made when it is not there; `make shop` makes it anew.
examples/%.db: | examples/%.sql
	@sqlite3 -bail $@.new < examples/$*.sql > /dev/null && mv $@.new $@
shop:
	@rm -f $(SHOP) $(SHOP:=-wal) $(SHOP:=-shm) $(SHOP:=-journal) $(SHOP:=.new)
	@$(MAKE) --no-print-directory $(SHOP)

demo: deps-build
	@$(MAKE) --no-print-directory -s -j$(JOBS) binary
	@$(MAKE) --no-print-directory -s shop
	@LRUN_BIN=$(OUT)/lrun sh examples/demo.sh

# ---- the tests ----------------------------------------------------------

# Two steps, since what is to be compiled may need what deps installs.
test: deps-build deps-test
	@$(MAKE) --no-print-directory -s -j$(JOBS) all $(C_TESTS) $(OUT)/tests/proxy
	@$(MAKE) --no-print-directory -s test-run

test-run: binary $(C_TESTS) $(OUT)/tests/proxy $(OUT)/tests/preload.so
	@LRUN_BIN=$(OUT)/lrun LRUN_PROXY=$(CURDIR)/$(OUT)/tests/proxy \
	  LRUN_TEST_PRELOAD=$(CURDIR)/$(OUT)/tests/preload.so sh tests/support/run_tests.sh $(C_TESTS)

$(OUT)/tests/proxy: tests/support/proxy.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -pthread -o $@ $<

$(OUT)/tests/%: tests/c/%.c $(BASE_OBJ) Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Itests/c -MMD -MP $(SANITIZE) -o $@ $< $(BASE_OBJ) -l:libmd.a -lm -ldl

# Loaded before lrun, it makes one call on a file or a socket the last.
$(OUT)/tests/preload.so: tests/fault/preload.c Makefile
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -fPIC -shared -o $@ $< -ldl

check-sanitize: deps-build deps-test
	@$(MAKE) --no-print-directory -s $(SHOP)
	@$(MAKE) --no-print-directory -s -j$(JOBS) test-run OUT=build/asan CFLAGS='-O1 -g -fno-omit-frame-pointer' \
	  SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=undefined'

fuzz: deps-build deps-fuzz
	@$(MAKE) --no-print-directory -s fuzz-run OUT=build/fuzz CC=clang CFLAGS='-O1 -g' \
	  SANITIZE='-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined'
fuzz-run: $(FUZZERS)
	@[ -n '$(FUZZERS)' ] || echo 'no fuzzers in tests/fuzz'
	@for f in $(FUZZERS); do \
	  name=$$(basename $$f); mkdir -p $(OUT)/corpus/$$name; \
	  seeds=tests/fuzz/corpus/$${name#fuzz_}; [ -d $$seeds ] || seeds=; \
	  echo "$$name, $(FUZZ_SECONDS) s"; \
	  $$f -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -print_final_stats=1 \
	    -artifact_prefix=$(OUT)/ $(OUT)/corpus/$$name $$seeds || exit 1; done
$(OUT)/fuzz/%: tests/fuzz/%.c tests/fuzz/fuzz.h $(FUZZ_OBJ) Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(PQ_CFLAGS) -fsanitize=fuzzer -o $@ $< $(FUZZ_OBJ) $(LIBS) -lpq
# The kept inputs are tests too, without the fuzzer.
$(OUT)/tests/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c tests/fuzz/fuzz.h $(FUZZ_OBJ) Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(PQ_CFLAGS) -Itests/c -o $@ $< tests/fuzz/replay.c $(FUZZ_OBJ) $(LIBS) -lpq

bench: deps-build deps-bench
	@$(MAKE) --no-print-directory -s -j$(JOBS) binary $(BENCH)
	@LRUN_BIN=$(OUT)/lrun BENCH_BIN=$(OUT)/bench lua5.4 tests/bench/run.lua
$(OUT)/bench/floor_pg: BENCH_LIBS := -lpq
$(OUT)/bench/%: tests/bench/%.c tests/bench/bench.h Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(PQ_CFLAGS) -o $@ $< $(LUA_LIBS) -lsqlite3 -lm $(BENCH_LIBS)

# Break each guard once: the tests must notice.
mutants: deps-build deps-test deps-mutants
	@sh tests/fault/mutants/run.sh $(MUTANTS)

lint: deps-build deps-lint
	@sh tests/support/lint.sh

# ---- what has to be installed -------------------------------------------

deps: deps-build deps-test
deps-build:
	@sh tests/support/deps.sh 'to build' $(DEPS_BUILD)
deps-test:
	@sh tests/support/deps.sh 'to test' $(DEPS_TEST)
deps-bench:
	@sh tests/support/deps.sh 'to measure' $(DEPS_BENCH)
deps-lint:
	@sh tests/support/deps.sh 'to lint' $(DEPS_LINT)
deps-mutants:
	@sh tests/support/deps.sh 'to break the guards' patch
deps-fuzz:
	@sh tests/support/deps.sh 'to fuzz' $(DEPS_FUZZ)

# ---- install, clean -----------------------------------------------------

install: binary
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/include/lrun'
	install -m 755 $(OUT)/lrun '$(DESTDIR)$(PREFIX)/bin/lrun'
	install -m 644 $(wildcard include/lrun/*.h) '$(DESTDIR)$(PREFIX)/include/lrun'
	$(if $(strip $(MODULES)),install -d '$(DESTDIR)$(PREFIX)/lib/lrun')
	$(if $(strip $(MODULES)),install -m 755 $(strip $(MODULES)) '$(DESTDIR)$(PREFIX)/lib/lrun')

clean:
	rm -rf build

-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
