# SPDX-License-Identifier: Apache-2.0
# `make help` lists what there is. Each target sets up what it needs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.ONESHELL:

JOBS ?= $(shell nproc)
RELEASE := build/release
# Of the demo: STORE=directory|s3, DB=sqlite|postgres.
export STORE DB

.PHONY: help setup setup-demo build demo test test-fast bench bench-control bench-store fuzz soak lint format clean
help:
	@sed -n 's/^## //p' Makefile

## make setup      install the Debian packages (as root, or with sudo)
setup:
	@scripts/setup.sh all

setup-demo:
	@scripts/setup.sh $(if $(STORE)$(DB),all)

## make build      build/release/apps/loam/loam
build: setup-demo
	@cmake --preset release >/dev/null
	cmake --build --preset release -j $(JOBS) --target loam

## make demo       a training run that loses its machine, for real; nothing to configure
##                 (STORE=s3 and DB=postgres: over real services, two servers)
demo: setup-demo
	@begin=$$SECONDS
	$(MAKE) --no-print-directory build
	built=$$((SECONDS - begin))
	/usr/bin/python3 scripts/demo.py
	echo "build: $$built s, demo: $$((SECONDS - begin - built)) s"

## make test       everything that CI runs
test: setup
	@scripts/test.sh all

## make test-fast  unit and property tests, simulator seeds, tidy; under two minutes once built
test-fast: setup
	@scripts/test.sh fast

## make bench      every benchmark; figures in build/bench/*.json
bench: bench-control bench-store

## make bench-control  10,000 nodes and jobs against a server on a real disk (DB=postgres: on that too)
bench-control: setup
	@cmake --preset release >/dev/null
	cmake --build --preset release -j $(JOBS) --target loam control_bench
	bench/control.sh $(if $(filter postgres,$(DB)),--postgres)

## make bench-store  `loam store` beside s3cmd, rclone and boto3 on a real S3 service
bench-store: setup
	@cmake --preset release >/dev/null
	cmake --build --preset release -j $(JOBS) --target loam
	env -u AWS_CA_BUNDLE /usr/bin/python3 bench/store.py

## make fuzz       every fuzzer for 30 s, two at a time; inputs that fail are left in build/fuzz/found
fuzz: setup
	@scripts/fuzz.sh

## make soak       20 GB (SIZE=) over a real S3 service by every way; fails past the memory that docs/STORES.md names
soak: setup
	@cmake --preset release >/dev/null
	cmake --build --preset release -j $(JOBS) --target loam
	env -u AWS_CA_BUNDLE /usr/bin/python3 e2e/soak.py $(SIZE)

## make lint       clang-format and clang-tidy
lint: setup
	@scripts/lint.sh

## make format     let clang-format rewrite the sources
format:
	@git ls-files '*.cc' '*.h' | xargs clang-format-14 -i

clean:
	rm -rf build demo-run
