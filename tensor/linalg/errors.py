"""The error of linear algebra."""

from __future__ import annotations

import numpy as np


class LinAlgError(RuntimeError, np.linalg.LinAlgError):
    """A matrix without the property that an algorithm needs: singular, not positive definite, ...

    >>> import relume as rl
    >>> try:
    ...     rl.linalg.inv(rl.zeros(2, 2))
    ... except rl.linalg.LinAlgError:
    ...     print("singular")
    singular
    """
