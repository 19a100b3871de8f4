# SPDX-License-Identifier: Apache-2.0
# Short on purpose: CMake and Ninja build, the scripts do the rest. `make help` lists it.
.DEFAULT_GOAL := build
.PHONY: run demo test quick test-setup test-program test-configure test-compile test-suite build dist gpu-check image bench lint \
    format docs fuzz soak clean help
SECONDS ?= 30
MINUTES ?= 5
REHEARSALS ?= 1000
MEASUREMENTS ?= 200
LISTEN ?= 127.0.0.1:8732

# One build folder per compiler; tests are added to build/ by the first `make test`.
configure = cmake -G Ninja -S . -B $(1) $(2) >build/cmake.log || { cat build/cmake.log >&2; exit 1; }

run: build ## set up, build, and run bare fare: the main job
	@build/fare

demo: build ## serve the published results and this machine's on LISTEN=127.0.0.1:8732
	@scripts/demo --listen $(LISTEN)

build: ## set up, and build build/fare
	@scripts/setup build
	@mkdir -p build
	@test -f build/build.ninja || { $(call configure,build,-DCMAKE_C_COMPILER=gcc -DFARE_TESTS=OFF); }
	@test -f build/fare || echo "fare: building" >&2
	@ninja -C build --quiet fare launch

# Adds the tests to build/.
with_tests = grep -qs '^FARE_TESTS:BOOL=ON' build/CMakeCache.txt && test -f build/build.ninja || \
	{ $(call configure,build,-DCMAKE_C_COMPILER=gcc -DFARE_TESTS=ON); }

test: ## set up, build with both compilers, and run every test
	@for stage in setup program configure compile suite; do \
	    began=$$(date +%s); $(MAKE) --no-print-directory test-$$stage || exit 1; \
	    echo "$$stage: $$(($$(date +%s) - began)) s"; done

quick: ## build, and run the quick tests: about a minute
	@scripts/setup build test
	@mkdir -p build
	@$(with_tests)
	@ninja -C build --quiet
	@/usr/bin/python3 tests/run.py --build build --quick

# The stages of `make test`, in order. While the program is built, what only the tests need is fetched.
test-setup:
	@scripts/setup build

test-program:
	@mkdir -p build
	@test -f build/build.ninja || { $(call configure,build,-DCMAKE_C_COMPILER=gcc -DFARE_TESTS=OFF); }
	@scripts/setup test & fetched=$$!; ninja -C build --quiet fare launch; built=$$?; wait $$fetched && exit $$built

# The sanitized build uses the kernels of the other, so it is compiled second.
test-configure:
	@mkdir -p build
	@$(with_tests)
	@test -f build/sanitize/build.ninja || \
	    { $(call configure,build/sanitize,-DCMAKE_C_COMPILER=clang -DFARE_TESTS=ON -DFARE_SANITIZE=ON \
	        -DFARE_PTX=$(CURDIR)/build/generated/ptx); }

test-compile:
	@ninja -C build --quiet
	@ninja -C build/sanitize --quiet

test-suite:
	@/usr/bin/python3 tests/run.py --build build --sanitize build/sanitize

dist: build ## write the bundle: dist/fare-VERSION-linux-x86_64.tar.gz, and dist/SHA256SUMS
	@scripts/setup pack
	@scripts/pack-kernels build
	@scripts/dist build dist

gpu-check: dist ## write the bundle and its check for a machine with a GPU: dist/fare-VERSION-gpu-check.tar.gz
	@scripts/setup build test
	@$(with_tests)
	@ninja -C build --quiet train_engine_test_cuda train_engine_test_cuda_ranks bench_cuda
	@scripts/dist-gpu-check build dist

image: dist ## write the container image: dist/fare-VERSION-oci.tar, and dist/SHA256SUMS
	@scripts/image build dist

bench: build ## measure fare itself
	@scripts/setup test
	@bench/run

lint: ## the checks of the source
	@scripts/setup build test
	@scripts/lint

format: ## format the source with clang-format
	@scripts/setup test
	@find src tests bench -regex '.*\.\(c\|h\|cu\|cuh\)' -exec clang-format -i {} +

docs: build ## write the manual page, completions and docs/json.md from the tables
	@scripts/docs

fuzz: ## fuzz every parser for SECONDS=30 each
	@scripts/setup build test
	@scripts/fuzz $(SECONDS)

soak: build ## hostile use of the server, the ledger and the command line, and hostile stores, nodes, records and hosts, for MINUTES=5, then REHEARSALS=1000 of lost machines and MEASUREMENTS=200 over hosts that fail; SEED replays
	@/usr/bin/python3 tests/soak/soak.py build/fare $(MINUTES) $(SEED)
	@/usr/bin/python3 tests/save/rehearsal.py build/fare --count $(REHEARSALS)
	@/usr/bin/python3 tests/fleet/rehearsal.py build/fare --count $(MEASUREMENTS)
	@/usr/bin/python3 tests/fleet/test_slurm.py --count $(MEASUREMENTS)
	@test ! -f build/sanitize/build.ninja || { ninja -C build/sanitize --quiet fare oom_fare && \
	    /usr/bin/python3 tests/oom/test_oom.py --whole; }

clean: ## remove build/ and dist/
	@rm -rf build dist

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1@\2/p' Makefile | tr @ '\t' | expand -t 20
