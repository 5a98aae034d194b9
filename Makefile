# `make demo` and `make test` need python3 (3.10 or newer), python3-venv, make and g++.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
CPP = $(shell find tensor autograd converters bridge -name '*.cpp' -o -name '*.h' 2>/dev/null)

.PHONY: demo test sanitize clean

demo: $(VENV)/installed
	$(BIN)/relume demo

test: $(VENV)/installed-test
	$(BIN)/python -m pytest

# The tests of the C++ rooms on a build that checks every access and operation (docs/trust.md).
sanitize: export RELUME_SANITIZE = address,undefined
sanitize: $(VENV)/installed-test
	$(BIN)/python -m pip install --quiet --upgrade --no-deps --target build/sanitized .
	env PYTHONPATH=build/sanitized OMP_NUM_THREADS=1 \
	    LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=6144 \
	    UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	    $(BIN)/python -m pytest -p no:xdist --capture=sys tests/tensor tests/autograd tests/converters

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Editable: changed Python and Lua files are in use at once, changed C++ is compiled again.
$(VENV)/installed: $(BIN)/python setup.py pyproject.toml $(CPP)
	$(BIN)/python -m pip install --editable .
	@touch $@

$(VENV)/installed-test: $(BIN)/python setup.py pyproject.toml $(CPP)
	$(BIN)/python -m pip install --editable '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info _C*.so
