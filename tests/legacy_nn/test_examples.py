"""The examples in the docstrings of legacy_nn run and show what they say."""

import doctest
import importlib
import pkgutil

import pytest

from relume import legacy_nn

PREFIX = "relume.legacy_nn."
MODULES = [module.name for module in pkgutil.walk_packages(legacy_nn.__path__, PREFIX)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0
