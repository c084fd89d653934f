# Two commands for a new user: `make demo` and `make test`. Both need Python >= 3.11 and a C++20 compiler, nothing else.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
CPP    := $(shell git ls-files 'cpp/*.hpp' 'cpp/*.cpp' 'src/*.hpp' 'src/*.cu' 'tests/*.hpp' 2>/dev/null)
SOURCES := pyproject.toml CMakeLists.txt $(shell find cpp src -name '*.[chp]pp' -o -name '*.cu' -o -name '*.py' -o -name '*.pyi' 2>/dev/null)

.PHONY: demo test develop lint native guard guard-accept docs clean

demo: $(VENV)/installed
	$(BIN)/topmix demo

test: $(VENV)/installed-test
	$(MAKE) --no-print-directory lint native guard
	$(BIN)/python -m pytest -n auto --dist loadgroup --durations 30

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "topmix needs Python 3.11 or newer; '$(PYTHON)' is older. Try: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'

$(VENV)/installed: $(SOURCES) | $(BIN)/python
	@test -e $(VENV)/editable || $(BIN)/python -m pip install --quiet .
	@touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group test --group lint --group native
	@touch $@

# An editable install that rebuilds quickly, for working on topmix itself; run it again after a change in cpp/.
# ISAS=avx512 leaves out AVX2, which saves a third of the time.
develop: | $(BIN)/python
	$(BIN)/python -m pip install --quiet --group test --group lint --group native
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable . $(if $(ISAS),-Ccmake.define.TOPMIX_ISAS="$(ISAS)")
	@touch $(VENV)/editable $(VENV)/installed $(VENV)/installed-test

lint: | $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/python tools/include_layers.py

# The kernels alone, without Python, under the address, undefined-behaviour and thread sanitizers.
native: | $(VENV)/installed-test
	PATH="$(abspath $(BIN)):$$PATH" cpp/tests/run.sh

# Instructions of the hot kernels against cpp/tests/instructions.json: more than 3% up fails. Skipped, with a line that
# says so, without valgrind or with a compiler that has no baseline. `guard-accept` takes the present counts.
guard: | $(VENV)/installed-test
	PATH="$(abspath $(BIN)):$$PATH" tools/guard.py

guard-accept: | $(VENV)/installed-test
	PATH="$(abspath $(BIN)):$$PATH" tools/guard.py --accept

# The site, in build/site; a warning is an error.
docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf build $(VENV)
