"""Sample arguments per op, for the gradient test over the whole registry.

An op whose arguments are tensors, optional or have defaults needs no entry: its tensors are
made by its schema. The others have a row in the SAMPLES of a file of `samples/`, one file per
family of ops: a list of argument tuples, or of (arguments, keywords) pairs where keywords are
needed.
"""

import pathlib
import re
import runpy

from sample_values import positive

SAMPLES = {}
for _family in sorted(pathlib.Path(__file__).with_name("samples").glob("*.py")):
    SAMPLES.update(runpy.run_path(str(_family))["SAMPLES"])


def _generated(schema):
    """Arguments for a schema of tensors and arguments with defaults; None when that fails."""
    arguments = re.fullmatch(r"\w+\((.*)\) -> .*", schema).group(1)
    made = []
    for part in arguments.split("*,")[0].split(", "):
        if not part or "=" in part or part == "*":
            continue
        kind = part.split()[0]
        if kind in ("Tensor", "Tensor|Scalar"):
            made.append(positive(2, 3))
        else:
            return None
    return tuple(made)


def samples_of(row):
    """List of (arguments, keywords) for a row of the registry; empty when there are none."""
    if row["name"] in SAMPLES:
        return [
            s if len(s) == 2 and isinstance(s[1], dict) else (s, {}) for s in SAMPLES[row["name"]]
        ]
    made = _generated(row["schema"])
    return [] if not made else [(made, {})]
