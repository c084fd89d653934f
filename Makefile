# Two commands for a new user: `make demo` and `make test`. Both need Python >= 3.11 and a C++20 compiler, nothing else.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
CPP    := $(shell git ls-files 'cpp/*.hpp' 'cpp/*.cpp' 'src/*.hpp' 'src/*.cu' 'tests/*.hpp' 2>/dev/null)
NATIVE := pyproject.toml CMakeLists.txt $(shell find cpp -name '*.[ch]pp' -not -path 'cpp/tests/*' 2>/dev/null)
# Whatever is installed: code, kernels, pages. A copy that is older than one of them is not tested.
SOURCES := $(NATIVE) $(shell find src -name '*.hpp' -o -name '*.cu' -o -name '*.py' -o -name '*.pyi' -o -name '*.js' -o -name '*.css' -o -name '*.html' 2>/dev/null)
PIP    := tools/fetch.sh $(BIN)
REBUILD = make --no-print-directory develop  # not $(MAKE), whose lines run even under `make -n`
GROUPS := --group test --group lint
# One thread of BLAS in each process: more wait busily for cores that other tests have.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadgroup --max-worker-restart 0
# Where a shell keeps Python from writing bytecode, each of the hundreds of processes of a run compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all develop lint native native-all guard guard-accept docs docs-publish wheel wheels wheel-check sdist sdist-check release-check lowest audit review fuzz clean

demo: $(VENV)/installed
	$(BIN)/topmix demo

# What a contributor runs before a commit, and continuous integration: linters, C++ tests under sanitizers, and all
# Python tests but those that are marked slow. The kernels have one thread where a test does not ask for more: there is a
# process for each core already, and threads would wait for those of other tests.
test: $(VENV)/native-tools
	@$(MAKE) --no-print-directory -j 2 native lint
	@$(BIN)/python tools/find_chromium.py
	LOKY_MAX_CPU_COUNT=1 $(PYTEST) --durations 20

# Everything, before a release: the slow tests too, every instruction set and the other processor, the guard, faults of a
# cluster twenty times, and the fuzzers.
test-all: $(VENV)/installed-test
	$(PIP) --group docs
	@$(BIN)/python tools/find_chromium.py
	$(REBUILD) ISAS=all
	$(MAKE) --no-print-directory -j 3 lint native-all guard
	TOPMIX_BUILT_ISAS="$$($(BIN)/python -c 'from topmix import _core; print(*_core.supported_isas())')" $(PYTEST) -m "" --durations 30
	$(BIN)/python -m benchmarks.ray_faults
	PATH="$(abspath $(BIN)):$$PATH" cpp/tests/run_other.sh
	$(MAKE) --no-print-directory review fuzz

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "topmix needs Python 3.11 or newer; '$(PYTHON)' is older. Try: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "making a Python environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "fetching a pip that knows dependency groups"
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'

$(VENV)/installed: $(SOURCES) | $(BIN)/python
	@if ! test -e $(VENV)/editable; then $(BIN)/python tools/install.py .; \
	elif test -n "$$(find $(NATIVE) -newer $(VENV)/editable)"; then $(REBUILD) ISAS="$$(cat $(VENV)/editable)"; fi
	@touch $@

# First and alone, because C++ tests need no more: the compiler is at work while the rest is fetched.
$(VENV)/native-tools: $(VENV)/installed
	@echo "fetching what compiles the C++ tests"
	@$(PIP) --group native
	@touch $@

$(VENV)/installed-test: $(VENV)/installed | $(VENV)/native-tools
	@echo "fetching what tests and linters need"
	@$(PIP) $(GROUPS)
	@touch $@

# An editable install that rebuilds quickly, for working on topmix itself; run it again after a change in cpp/ (`make
# test` does). It has the best instruction set of this machine; ISAS=all builds all of them, ISAS="base;avx2" some.
develop: $(VENV)/tools
	$(BIN)/python tools/install.py --no-build-isolation $$(test $(VENV)/editable -nt pyproject.toml && echo --no-deps) --editable . $(if $(ISAS),-Ccmake.define.TOPMIX_ISAS="$(ISAS)")
	@echo "$(ISAS)" >$(VENV)/editable
	@touch $(VENV)/installed $(VENV)/native-tools $(VENV)/installed-test

$(VENV)/tools: pyproject.toml | $(BIN)/python
	@echo "fetching what tests, linters and the documentation need"
	@$(PIP) --group dev
	@touch $@

lint: | $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/oxfmt --check src/topmix/apps/page/*.js
	$(BIN)/python tools/lint_pages.py
	$(BIN)/python tools/include_layers.py
	$(BIN)/python tools/rooms.py

# The kernels alone, without Python, under the address and undefined-behaviour sanitizers; `native-all` has every
# instruction set and the thread sanitizer too. MAKEFLAGS is emptied here and in `guard` because ninja would try to share
# the jobs of `make -j`, and cannot.
native native-all: | $(VENV)/native-tools
	MAKEFLAGS= PATH="$(abspath $(BIN)):$$PATH" cpp/tests/run.sh $(if $(filter native-all,$@),--all)

# Instructions of the hot kernels against cpp/tests/instructions.json: more than 3% up fails. Skipped, with a line that
# says so, without valgrind or with a compiler that has no baseline. `guard-accept` takes the present counts.
guard: | $(VENV)/installed-test
	MAKEFLAGS= PATH="$(abspath $(BIN)):$$PATH" tools/guard.py

guard-accept: | $(VENV)/installed-test
	PATH="$(abspath $(BIN)):$$PATH" tools/guard.py --accept

# The site, in build/site; a warning is an error.
docs: $(VENV)/installed
	$(PIP) --group docs
	$(BIN)/mkdocs build --strict

# The same as one version among others, on the branch gh-pages, which a host serves; `latest` is the last release.
docs-publish: docs
	PATH="$(abspath $(BIN)):$$PATH" mike deploy --push --update-aliases "$$($(BIN)/python -c 'import topmix; print(topmix.__version__)')" latest
	PATH="$(abspath $(BIN)):$$PATH" mike set-default --push latest

# A wheel for this processor, with all of its instruction sets, and for any Linux since 2018, in dist; `wheels` makes
# them for x86-64 and aarch64, and needs a compiler for the other one (tools/wheels/build.py). The third target installs
# this machine's where there is no compiler, and runs TESTS there (all of them).
wheel wheels: | $(BIN)/python
	$(PIP) --group native --group wheels
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python tools/wheels/build.py $(addprefix --arch ,$(ARCH))

wheels: ARCH ?= x86_64 aarch64

wheel-check: | $(BIN)/python
	$(BIN)/python tools/wheels/check.py $(TESTS)

sdist: | $(BIN)/python
	$(PIP) --group native --group wheels
	rm -f dist/topmix-*.tar.gz
	$(BIN)/python -m build --sdist --no-isolation --outdir dist .

# Builds it where there is no network and only the build requirements.
sdist-check: sdist
	$(BIN)/python tools/wheels/check_sdist.py $(if $(ISAS),--isas "$(ISAS)")

# What is to be changed before this commit can be released, as far as files say, and what is left for a person.
release-check: | $(BIN)/python
	$(BIN)/python tools/release_check.py $(TAG)

# The oldest versions of all dependencies that pyproject.toml allows, in build/lowest, and some of the tests there:
# those of AnnData too, which asks for an older pandas than the other tests.
LOWEST_TESTS ?= tests/test_native_module.py tests/test_start_up.py tests/test_mixture.py tests/test_export.py tests/test_tables_out.py tests/test_texts_in.py tests/test_sc.py tests/data/test_formats.py
lowest: | $(BIN)/python
	$(PIP) 'uv>=0.7'
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/lowest
	$(BIN)/uv pip install --quiet --python build/lowest --resolution lowest-direct -r pyproject.toml --extra anndata --group test
	$(BIN)/uv pip install --quiet --python build/lowest --no-deps $(if $(wildcard dist/*_$(shell uname -m).whl),dist/*_$(shell uname -m).whl,.)
	build/lowest/bin/python -m pytest -q -p no:cacheprovider $(LOWEST_TESTS)

# Known vulnerabilities of what is installed (asks a database on the network).
audit: $(VENV)/installed-test
	$(PIP) 'pip-audit>=2.7'
	$(BIN)/pip-audit --skip-editable --progress-spinner off

# What a stranger checks before trusting a project: scientific-python's rules for repositories, and the workflows.
# Exceptions have their reasons in pyproject.toml. No network is asked.
review: | $(BIN)/python
	$(PIP) --group review
	$(BIN)/repo-review .
	$(BIN)/zizmor --offline --persona pedantic .github

# Ten minutes of each fuzzer, all at the same time; MINUTES=1 for a quick one, JOBS=2 for two at a time.
fuzz: $(VENV)/installed-test
	$(BIN)/python -m tools.fuzz_files --minutes $(or $(MINUTES),10) --jobs $(or $(JOBS),99)
	$(BIN)/python -m tools.fuzz doors --minutes $(or $(MINUTES),10)
	$(BIN)/python -m tools.fuzz estimators --minutes $(or $(MINUTES),10)

clean:
	rm -rf build $(VENV)
