# `make demo` and `make test` need python3 (3.10 or newer), python3-venv, make and g++.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
CPP = $(shell find tensor autograd converters bridge -name '*.cpp' -o -name '*.h' 2>/dev/null)

.PHONY: demo test clean

demo: $(VENV)/installed
	$(BIN)/relume demo

test: $(VENV)/installed-test
	$(BIN)/python -m pytest

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
