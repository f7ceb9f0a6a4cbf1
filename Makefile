# SPDX-License-Identifier: Apache-2.0
# Thin over the CMake presets. `make help` lists the targets.
.DEFAULT_GOAL := build
PRESET ?= dev
PREFIX ?= /usr/local
SHELL := /bin/bash
SPACE := $(subst ,, )
HOOK_TESTS := unit_hooks unit_bridge unit_native unit_workers unit_host unit_isolation unit_worker unit_reload
SESSION_TESTS := unit_base unit_store unit_agent unit_workplace simulator sessions_stress sessions_kill
.PHONY: help deps build test demo install package release asan tsan \
  clang check asan-hooks tsan-hooks asan-sessions tsan-sessions fuzz torture soak lint bench bench-acp bench-keep bench-once bench-macro bench-mcp bench-net bench-cage bench-search bench-serve bench-sessions bench-store bench-tokens interop tables ci clean

help:       ## this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 16

deps:       ## installs missing Debian packages (asks sudo unless root)
	@bash cmake/deps.sh

build: deps ## builds the dev preset (PRESET=release for another)
	@cmake --preset $(PRESET) > build-$(PRESET).log 2>&1 || { cat build-$(PRESET).log; exit 1; }; rm -f build-$(PRESET).log
	@cmake --build --preset $(PRESET)

test: build ## builds and passes the tests
	@ctest --preset $(PRESET)

demo: deps  ## builds and runs the main job: a native hook compacts a real conversation
	@cmake --preset $(PRESET) > build-$(PRESET).log 2>&1 || { cat build-$(PRESET).log; exit 1; }; rm -f build-$(PRESET).log
	@cmake --build --preset $(PRESET) --target product
	@bash docs/demo/run.sh build/$(PRESET)

build/install: deps
	@cmake --preset release -DAGENTD_TESTS=OFF -DAGENTD_BENCH=OFF -B build/install > build-install.log 2>&1 || \
	  { cat build-install.log; exit 1; }; rm -f build-install.log
	@cmake --build build/install
.PHONY: build/install

install: build/install ## installs program, hooks, headers and documentation below PREFIX (/usr/local; DESTDIR holds)
	@cmake --install build/install --strip --prefix $(PREFIX) > /dev/null
	@echo "installed: $(PREFIX)/bin/agentd; 'agentd doctor' checks the installation"

package: build/install ## a .deb and a tarball in build/install, with the oldest glibc that they run on
	@cd build/install && cpack > build-package.log 2>&1 || { cat build-package.log; exit 1; }
	@bash cmake/glibc.sh build/install/core/app/agentd build/install/core/app/agentd-hook-worker build/install/core/app/agentd-cage build/install/hooks/*.so
	@ls build/install/agentd*.deb build/install/agentd*.tar.gz

release: deps ## builds the release preset
	@$(MAKE) --no-print-directory build PRESET=release

asan tsan clang: deps ## the tests under that preset
	@$(MAKE) --no-print-directory test PRESET=$@

asan-hooks tsan-hooks: deps ## the same for what runs plugins alone: dispatcher, loader, worker
	@$(MAKE) --no-print-directory some PRESET=$(@:-hooks=) SOME="$(HOOK_TESTS)"

asan-sessions tsan-sessions: deps ## the same for sessions side by side: agent, store, simulator
	@$(MAKE) --no-print-directory some PRESET=$(@:-sessions=) SOME="$(SESSION_TESTS)"

some:
	@cmake --preset $(PRESET) > build-some.log 2>&1 || { cat build-some.log; exit 1; }; rm -f build-some.log
	@cmake --build --preset $(PRESET) --target $(SOME)
	@ctest --preset $(PRESET) -R '^($(subst $(SPACE),|,$(SOME)))$$'
.PHONY: some

check: deps ## every source by clang's warnings, without a build; FOLDERS="core plugins": those of these folders
	@cmake --preset clang > build-check.log 2>&1 || { cat build-check.log; exit 1; }; rm -f build-check.log
	@bash cmake/check.sh build/clang $(FOLDERS)

fuzz: deps  ## every fuzz target for FUZZ_SECONDS (10), with clang's libFuzzer
	@$(MAKE) --no-print-directory build PRESET=fuzz
	@bash tests/fuzz/run.sh build/fuzz

torture: build ## the engine under 10,000 seeds (SEEDS=N), which replay exactly; 50 times kill -9 of 200 sessions (KILLS=N)
	@half=$$(( ($${SEEDS:-10000} + 1) / 2 )); \
	AGENTD_FIRST_SEED=1 AGENTD_SEEDS=$$half build/$(PRESET)/tests/simulator/simulator --gtest_filter='Simulator.No*' & first=$$!; \
	AGENTD_FIRST_SEED=$$((half + 1)) AGENTD_SEEDS=$$half build/$(PRESET)/tests/simulator/simulator --gtest_filter='Simulator.No*' & \
	wait $$first && wait $$!
	@AGENTD_KILL_ROUNDS=$${KILLS:-50} build/$(PRESET)/tests/sessions/sessions_kill

soak: build ## the daemon under load in rounds for SOAK_SECONDS (1800): memory, descriptors and threads as at first
	@AGENTD_SOAK_SECONDS=$${SOAK_SECONDS:-1800} build/$(PRESET)/tests/e2e/e2e_serve_load --gtest_filter='*Soak*'

lint: deps  ## clang-tidy over all sources; SINCE=COMMIT: those that differ from it; SINCE=2/4: the second of four parts
	@cmake --preset clang > build-lint.log 2>&1 || { cat build-lint.log; exit 1; }; rm -f build-lint.log
	@bash cmake/lint.sh build/clang $(SINCE)

bench: release ## micro benchmarks and tool calls, each next to its limit, and what moved against bench/ratios.md
	@build/release/bench/micro/bench_micro --ratios=bench/ratios.md
	@build/release/bench/macro/bench_macro --only tool --ratios=bench/ratios.md

bench-keep: release ## the same, and writes the ratios of this run to bench/ratios.md
	@build/release/bench/micro/bench_micro --ratios=bench/ratios.md --keep
	@build/release/bench/macro/bench_macro --only tool --ratios=bench/ratios.md --keep

bench-once: build ## every benchmark whole, with one round: whether they run, which 'make test' tests, too
	@ctest --preset $(PRESET) -L '^bench$$'

bench-macro: release ## whole processes: a turn next to curl and to the floor program
	@build/release/bench/macro/bench_macro

bench-net: release ## a thousand event streams in one process, next to a loop that only receives them
	@build/release/bench/net/bench_net

bench-store: release ## durable appends of many sessions, next to a bare sync; lists of many conversations
	@build/release/bench/store/bench_store

bench-acp: release ## a prompt of an editor next to the same message by 'agentd run'
	@build/release/bench/acp/bench_acp

bench-mcp: release ## calls of MCP tools next to the official SDK and server-everything (needs npm)
	@bash bench/mcp/run.sh build/release

bench-cage: release ## a command in each layer of the sandbox next to a bare one; parallel reads next to serial ones
	@build/release/bench/cage/bench_cage

bench-search: release ## searches among 100,000 messages, and what their index takes
	@build/release/bench/search/bench_search

bench-serve: release ## thousands of sessions in the daemon, with active streams, next to the same ones without it
	@build/release/bench/serve/bench_serve

bench-sessions: release ## thousands of sessions in one process: idle, parked, active, and next to as many processes
	@build/release/bench/sessions/bench_sessions

bench-tokens: release ## the exact token counter next to npm's tokenizers (needs npm)
	@bash bench/tokens/run.sh build/release

interop: build ## official SDKs and other tools themselves, side by side with agentd, and one round of bench-mcp and bench-tokens (needs npm)
	@bash tests/interop/run.sh build/$(PRESET)
	@bash bench/once.sh bash bench/mcp/run.sh build/$(PRESET) --once
	@bash bench/once.sh bash bench/tokens/run.sh build/$(PRESET) --once

tables: build ## what hooks of every kind do in every behaviour, and beside the tools that they were written for (needs npm)
	@build/$(PRESET)/tests/matrix/hook_matrix --gtest_brief=1 | grep -E '^matrix: |FAILED'
	@bash tests/interop/run.sh build/$(PRESET) tables

ci: ## what .ci/run does
	@bash .ci/run

clean: ## removes the build trees
	@rm -rf build build-*.log
