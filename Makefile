# make demo   build everything into .venv and answer five questions with pictures
# make test   the quick part of the tests, minutes
# make test-all  everything CI runs
# make golden every table, bound, verdict and plan that is published, compared (minutes)
# make fabric tables of real fabrics judged by OpenSM and ibdmchk
# make build  the environment and the extension only
# make booksim BOOKSIM=PATH  BookSim2 and flitloom on 100 drawn configurations (minutes)
# make dist   wheel, source archive, and the crates to build it without a network
# make dist-aarch64  a wheel for 64-bit ARM, built here with Zig as its linker
# make installed  the wheel in a fresh environment: size, start, the walks of the site
# make model  how threads wait for each other, in every order of their steps
# make wasm   the engine of live pages (flitloom view --live)
# make docs   the site, as static files in target/site
# make recording  the moving picture of the README, from the live page (needs Chromium and its driver)
# make lock   refresh the pinned requirements (needs uv)
# make mutants  plant faults in a sample of the core and see whether the tests notice (needs cargo-mutants; long)
# make pictures  every picture of the papers, looked at by machine (minutes)
# make docs-commands  every command of README and docs, the long ones too
# make fuzz  100,000 cases of the fuzzers of all readers
# make clean  remove everything that was built

VENV := .venv
BIN := $(VENV)/bin
# The first interpreter that is new enough.
PYTHON ?= $(shell for candidate in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$candidate && break; done)
CORE_SOURCES := $(shell find core/src bindings -name '*.rs') Cargo.toml Cargo.lock core/Cargo.toml bindings/Cargo.toml pyproject.toml
# Cargo and maturin build against the same interpreter.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# Where tests draw, from which seed: make test SEED=7 draws other cases, and the same ones again.
SEED ?= 1
export PROPTEST_RNG_SEED := $(SEED)
# Of long lists and loops test runs a sample; make test SAMPLE= runs all of them.
SAMPLE ?= quick
# Compiling every module of every package takes twice as long as unpacking them; Python compiles what it imports.
PIP := --quiet --disable-pip-version-check --no-compile
# Tests wait for each other, for processes and for files: with a process more than there are cores, none is idle. Each
# has neighbouring tests, which share what they prepare, and takes of others' when its own are done.
PYTEST := $(BIN)/pytest --hypothesis-seed=$(SEED) -n $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1))) --dist worksteal
# The tests start many short processes, which would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE
# CHECKED=1 builds the extension, and the core of the tests with it, with checks of overflow and of assertions.
ifdef CHECKED
export CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS := true
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS := true
endif

.DEFAULT_GOAL := build
.PHONY: build recording demo test test-all test-rust test-python golden booksim fabric lint lock mutants clean docs-commands fuzz dist dist-aarch64 wasm model docs pictures installed lint-quick test-linted test-integration all-read all-rust all-python always

# The extension needs one package to be built: the others are unpacked beside it.
build: $(VENV)/builder.stamp
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j2) $(VENV)/extension.stamp $(VENV)/requirements.stamp

$(VENV)/builder.stamp: requirements/build.lock
	@test -n "$(PYTHON)" || { echo "error: no Python >= 3.11 found; install one or say which: make PYTHON=/path/to/python"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install $(PIP) --require-hashes --only-binary :all: -r $<
	touch $@

$(VENV)/requirements.stamp: requirements/dev.lock $(VENV)/builder.stamp
	$(BIN)/pip install $(PIP) --require-hashes --only-binary :all: -r $<
	touch $@

# What the extension was built with; with something else it is built again.
$(VENV)/checked: always $(VENV)/builder.stamp
	@echo "$(CHECKED)" | cmp -s - $@ || echo "$(CHECKED)" > $@

$(VENV)/extension.stamp: $(VENV)/builder.stamp $(VENV)/checked $(CORE_SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pip install $(PIP) --no-deps --no-build-isolation --editable .
	touch $@

# The engine of live pages (flitloom view --live).
ENGINE := python/flitloom/view/page/engine.wasm
WASM := wasm32-unknown-unknown
wasm: $(ENGINE)

$(ENGINE): $(CORE_SOURCES) $(shell find wasm -name '*.rs' -o -name '*.toml')
	rustup target add $(WASM)
	cargo build --locked --quiet --manifest-path wasm/Cargo.toml --target-dir target --target $(WASM) --profile wasm
	cp target/$(WASM)/wasm/flitloom_wasm.wasm $@

recording: build wasm
	$(BIN)/python tools/record_live.py docs/images/live.webp

model:
	cargo test --locked --quiet --manifest-path model/Cargo.toml --target-dir target

demo: build
	$(BIN)/flitloom demo --out demo-output

lint: lint-quick
	cargo clippy --locked --workspace --all-targets --no-default-features --quiet -- -D warnings

lint-quick: build
	cargo fmt --all --check
	cargo fmt --manifest-path wasm/Cargo.toml --check
	cargo fmt --manifest-path model/Cargo.toml --check
	$(BIN)/ruff format --check --quiet python tests docs tools
	$(BIN)/ruff check --quiet python tests docs tools
	$(BIN)/mypy

# The integration tests run on the core that the extension was built from, which saves a build of it: both packages
# are named because features of what they share are chosen for all packages together. For the tests inside the core
# all of it is built once more, at the lowest level of optimization and without any between its units: the build takes
# longer than the tests.
BUILT := --release -p flitloom-core -p flitloom-bindings --no-default-features \
	--features flitloom-core/vectors,flitloom-bindings/vectors
INSIDE := --release --config profile.release.package.flitloom-core.opt-level=1 --config 'profile.release.lto="off"' -p flitloom-core --no-default-features --lib
# TIMES=1 prints the time of every test of the core, which test programs do with their unstable options only.
report = $(if $(1),--config 'target."cfg(all())".runner=["env"$(comma)"RUSTC_BOOTSTRAP=1"]' -- -Z unstable-options --report-time,--quiet)
comma := ,
REPORT = $(call report,$(TIMES))
test-rust test-integration: export FLITLOOM_TESTS := $(SAMPLE)
test-rust: test-integration
	CARGO_INCREMENTAL=0 cargo test --locked $(INSIDE) $(REPORT)

test-integration: build
	cargo test --locked $(BUILT) --test integration $(REPORT)

test-python: build
	FLITLOOM_TESTS=$(SAMPLE) $(PYTEST) -m "not long"

docs-commands: build
	FLITLOOM_DOCS=all $(PYTEST) tests/docs/test_docs_commands.py

# Warnings, links that lead nowhere among them, are errors.
docs: build
	rm -rf docs/_made target/site
	@$(MAKE) --no-print-directory wasm || echo "the engine of live pages is not built: the site has no live page"
	$(BIN)/python -m sphinx -q -E -W --keep-going -b html docs target/site
	@echo "open target/site/index.html"

# Every picture of the papers, looked at by machine at two sizes; test draws those of the docs and some of these.
pictures: build
	FLITLOOM_PICTURES=all $(PYTEST) tests/papers/test_papers_congestion.py tests/papers/test_papers.py tests/plots/test_pictures.py \
		-k "picture or figure"

fuzz: build
	$(BIN)/python tests/fuzz.py --cases 100000 --save
	$(BIN)/python tests/fuzz_formats.py --cases 30000 --save

# Rust and Python side by side: each alone leaves a core idle now and then. The tests inside the core take ten times as
# long to build as to run: test-rust and CI run them.
test: build
	@$(MAKE) --no-print-directory -j2 test-integration test-linted

test-linted: lint-quick
	@$(MAKE) --no-print-directory test-python

golden: build
	$(BIN)/python tests/golden/compare.py

# BookSim2's own program, and which configurations are drawn.
BOOKSIM ?= booksim2/src/booksim
CONFIGS ?= 100
DRAWN ?= 0
booksim: build
	$(BIN)/flitloom validate booksim --binary $(BOOKSIM) --configs $(CONFIGS) --seed $(DRAWN)

# Rust and Python side by side, as in test, both with checks of overflow, and beside them what needs no extension. Where
# Rust lacks the target, the tests of live pages are left out and say so.
test-all:
	@$(MAKE) --no-print-directory CHECKED=1 -j3 all-read all-rust all-python

# Documents and lints of the core have a profile of their own, so that no build waits for another.
all-read: $(VENV)/builder.stamp
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings

# All cases, and the examples in the documents of the core.
all-rust: build
	@$(MAKE) --no-print-directory test-rust SAMPLE= TIMES=1
	FLITLOOM_TESTS=quick cargo test --locked $(BUILT) --doc --quiet
	$(MAKE) --no-print-directory model

all-python: lint-quick
	if rustup target list --installed 2>/dev/null | grep -q $(WASM); then $(MAKE) --no-print-directory wasm; fi
	$(PYTEST) --durations=20

# Judges from outside: OpenSM on ibsim loads our tables, ibdmchk looks for loops. As root on Debian the packages are
# installed; elsewhere the tests say what is missing.
FABRIC_PACKAGES := opensm ibsim-utils libumad2sim0 ibutils infiniband-diags
fabric: build
	@command -v ibdmchk >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(FABRIC_PACKAGES); } || true
	FLITLOOM_FABRIC=full $(PYTEST) -n 0 -rs tests/fabric/test_opensm.py tests/fabric/test_events.py

# What the wheel runs on; the extension needs nothing newer than what that standard names.
WHEEL ?= manylinux_2_28
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
define CRATES_FROM_HERE
[source.crates-io]
replace-with = "vendored"

[source.vendored]
directory = "vendor"
endef
export CRATES_FROM_HERE
# Zig, from PyPI, brings the C library of that standard, for this machine and for others.
WHEELS := $(VENV)-wheels
MATURIN := PATH="$(CURDIR)/$(WHEELS)/bin:$$PATH" $(WHEELS)/bin/maturin build --locked --release --zig --compatibility $(WHEEL)
$(WHEELS)/requirements.stamp: requirements/wheels.lock
	$(PYTHON) -m venv $(WHEELS)
	$(WHEELS)/bin/pip install $(PIP) --require-hashes --only-binary :all: -r $<
	touch $@

dist: $(VENV)/requirements.stamp $(WHEELS)/requirements.stamp wasm
	rm -rf dist target/crates
	$(MATURIN) --sdist --target x86_64-unknown-linux-gnu --out dist
	mkdir -p target/crates/.cargo
	cargo vendor --quiet --locked --versioned-dirs target/crates/vendor > /dev/null
	echo "$$CRATES_FROM_HERE" > target/crates/.cargo/config.toml
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C target/crates \
		-czf dist/flitloom-$(VERSION)-crates.tar.gz .cargo vendor

ARM := aarch64-unknown-linux-gnu
dist-aarch64: $(VENV)/requirements.stamp $(WHEELS)/requirements.stamp wasm
	rustup target add $(ARM)
	$(MATURIN) --target $(ARM) --out dist

installed: dist
	$(BIN)/python tests/installed.py dist/*_x86_64.whl

lock:
	uv pip compile pyproject.toml --group dev --all-extras --universal --python-version 3.11 --generate-hashes \
		--no-annotate --no-header --quiet --upgrade -o requirements/dev.lock
	uv pip compile requirements/wheels.in --universal --python-version 3.11 --generate-hashes \
		--no-annotate --no-header --quiet --upgrade -o requirements/wheels.lock
	uv pip compile requirements/build.in --constraint requirements/dev.lock --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header --quiet -o requirements/build.lock
	cargo update
	cargo update --manifest-path wasm/Cargo.toml
	cargo update --manifest-path model/Cargo.toml

# Which sample: part K of N of all places, as SHARD=3/400.
SHARD ?= 0/400
mutants: $(VENV)/requirements.stamp
	@cargo mutants --version >/dev/null 2>&1 || { echo "error: cargo-mutants is missing; cargo install cargo-mutants --locked"; exit 2; }
	FLITLOOM_TESTS=quick cargo mutants --package flitloom-core --no-default-features --no-shuffle --shard $(SHARD) --output target \
		--file 'core/src/engine/**' --file 'core/src/schedule/**' --file 'core/src/genetic/**' --file 'core/src/routes/**' --file 'core/src/routing/**' \
		-- --lib --tests

clean:
	rm -rf $(VENV) $(WHEELS) target demo-output dist docs/_made
