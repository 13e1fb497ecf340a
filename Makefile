# Everything that people and CI do here. `make demo` and `make test` set up all they need on a fresh Debian or Ubuntu
# machine (packages, a virtual environment, Bazel's downloads) and are quick when that is done.
#
#   make demo                 see it work, with or without a GPU
#   make test                 everything that CI checks
#   make sanitize             the C++ tests under AddressSanitizer, UBSan and ThreadSanitizer
#   make soak                 for nights: random programs by the ten million, a deeper small world, fuzzing
#   make mutations            breaks the code on purpose, and shows that the tests catch it
#   make test-matrix          the wheel in fresh environments: each Python that is here with the JAX lines that it can run
#   make wheel                dist/*.whl
#   make format               rewrite the sources as `make test` wants them
#   make clean                remove what was made here

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
BAZEL := bazel/run
EXTRA := $(shell tools/jax-extra)
CC_SOURCES := find cc -name '*.cc' -o -name '*.h'

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_RETRIES := 10
export PIP_DEFAULT_TIMEOUT := 60
# One Python for setup.py and for Bazel run by hand, so that neither undoes the other's work.
export GMLAKE_BUILD_PYTHON := $(abspath $(BIN)/python)

.PHONY: all setup build demo test test-cc test-python lint sanitize soak mutations test-matrix wheel format clean
all: build

$(VENV)/.ready-$(EXTRA): pyproject.toml tools/system-packages
	tools/system-packages
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("gmlake_jax needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	tools/again $(BIN)/pip install --quiet --editable '.[$(EXTRA),examples,dev]'
	touch $@

setup: $(VENV)/.ready-$(EXTRA)

build: setup
	$(BIN)/python setup.py --quiet build_ext --inplace

demo: build
	$(BIN)/gmlake demo

test: test-cc test-python lint

test-cc: setup
	$(BAZEL) test //cc/...

test-python: build
	tools/test-browser
	$(BIN)/pytest --quiet

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(CC_SOURCES) | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/mypy

# Each in an output folder of its own, so that none undoes another's work; random programs are shorter here.
SANITIZED := //cc/base/... //cc/core/... //cc/driver/... //cc/emulator/... //cc/pjrt/... //cc/report/... //cc/safety/... \
    //cc/telemetry/... //cc/tsl/... \
    --test_env=GMLAKE_SAFETY_OPERATIONS=5000 --test_env=GMLAKE_SAFETY_DEPTH=5 \
    --test_env=GMLAKE_SAFETY_CHURN_OPERATIONS=1200
sanitize: setup
	$(BAZEL) test --config=asan $(SANITIZED)
	$(BAZEL) test --config=ubsan $(SANITIZED)
	$(BAZEL) test --config=tsan $(SANITIZED)

# Ten million operations of each of five seeds, every program of depth 8, and ten minutes of fuzzing (with clang++).
SOAK_OPERATIONS ?= 10000000
SOAK_FUZZ_SECONDS ?= 600
soak: setup
	$(BAZEL) test //cc/safety:random_programs_test --test_timeout=7200 --test_output=all \
	    --test_env=GMLAKE_SAFETY_OPERATIONS=$(SOAK_OPERATIONS)
	$(BAZEL) test //cc/safety:small_world_test --test_timeout=7200 --test_output=all --test_env=GMLAKE_SAFETY_DEPTH=8
	tools/fuzz $(SOAK_FUZZ_SECONDS)

mutations: setup
	$(BIN)/python tools/mutation_check.py

test-matrix: setup
	$(BIN)/python tools/test_matrix.py

wheel: setup
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .
	@ls dist/*.whl

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(CC_SOURCES) | xargs $(BIN)/clang-format -i

clean:
	rm -rf $(VENV) build dist *.egg-info gmlake_jax/_emulator gmlake_jax/*.so bazel-*
	find . -name __pycache__ -prune -exec rm -rf {} +
