"""Settings for all tests."""

from hypothesis import settings

# The machine may be busy: no deadlines. The default run tries the same examples every time;
# a longer search with fresh ones: --hypothesis-profile=long
settings.register_profile("quick", max_examples=40, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=1000, deadline=None)
settings.load_profile("quick")
