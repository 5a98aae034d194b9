"""Settings for all tests."""

import signal
import sys

import pytest
from hypothesis import settings

# The machine may be busy: no deadlines. The default run tries the same examples every time;
# a longer search with fresh ones: --hypothesis-profile=long
settings.register_profile("quick", max_examples=40, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=1000, deadline=None)
settings.load_profile("quick")

# Shells let jobs in the background ignore Ctrl-C, which tests of interrupts send.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def registered_for_one_test_only():
    """Takes back what a test, a page or a docstring registers as a Torch class."""
    registry = sys.modules.get("relume.legacy_nn.registry")
    before = dict(registry._classes) if registry else {}
    yield
    if registry:
        registry._classes.clear()
        registry._classes.update(before)
