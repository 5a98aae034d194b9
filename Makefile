# `make demo` and `make test` need python3 (3.10 or newer), python3-venv, make and g++.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
CPP = $(shell find tensor autograd converters bridge -name '*.cpp' -o -name '*.h' 2>/dev/null)

.PHONY: demo test clean
.PHONY: sanitize sanitize-quick sanitized sanitize-ops sanitize-gradients-and-files

demo: $(VENV)/installed
	$(BIN)/relume demo

test: $(VENV)/installed-test
	$(BIN)/python -m pytest

# The tests of the C++ rooms on a build that checks every access and operation (docs/trust.md).
SANITIZED_PYTEST = env PYTHONPATH=build/sanitized OMP_NUM_THREADS=1 \
    LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=6144 \
    UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
    $(BIN)/python -m pytest -p no:xdist --capture=sys

sanitize: sanitized
	$(SANITIZED_PYTEST) tests/tensor tests/autograd tests/converters

# Every op, every derivative and the readers of files once, in two processes.
sanitize-quick: sanitized
	$(MAKE) -j2 sanitize-ops sanitize-gradients-and-files

sanitize-ops:
	$(SANITIZED_PYTEST) -q $(addprefix tests/tensor/test_,registry_properties.py registry_fuzz.py \
	    threads_and_forks.py processes.py python_tensor.py)

sanitize-gradients-and-files:
	$(SANITIZED_PYTEST) -q tests/autograd/test_registry_gradients.py tests/autograd/test_tape.py \
	    $(addprefix tests/converters/test_,t7_reader.py t7_round_trip.py safetensors.py damaged_files.py)

sanitized: export RELUME_SANITIZE = address,undefined
sanitized: $(VENV)/installed-test
	$(BIN)/python -m pip install --quiet --upgrade --no-deps --target build/sanitized .

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
