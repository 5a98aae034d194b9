"""Is this run one of a sanitized build (docs/trust.md)?"""

import os

import pytest

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
needs_own_allocator = pytest.mark.skipif(SANITIZED, reason="the sanitizer has its own allocator")
