"""The examples in the docstrings of legacy_nn run and show what they say."""

import doctest
import importlib
import pkgutil

import pytest

from relume import legacy_nn

MODULES = [module.name for module in pkgutil.iter_modules(legacy_nn.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(f"relume.legacy_nn.{name}"))
    assert result.failed == 0
