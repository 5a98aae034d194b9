"""Every element-wise op against its reference, over shapes, layouts, types and aliasing."""

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest
from arrays import relaid
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import relume as rl

TABLE = Path(__file__).parent / "references" / "elementwise.py"
REFERENCES = runpy.run_path(str(TABLE))["REFERENCES"]
ROWS = {row["name"]: row for row in rl._C.registry()}
# Where all of them are defined, or the smallest argument beyond.
LOWEST = {"acosh": 1.1}
WHOLE = {"bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift"}
WHOLE |= {"bitwise_xor", "gcd", "lcm"}


# Below 0 unsigned numbers wrap around, and True + True is True.
OWN_RULES = {("neg", "uint8"), ("add", "bool")}


def operands_of(name):
    """How many tensors an op takes that broadcast."""
    declared = ROWS[name]["schema"].split("(")[1].split(")")[0]
    required = [part for part in declared.split(", ") if "=" not in part and part != "*"]
    return sum(part.startswith("Tensor") for part in required)


NAMES = [
    name
    for name in REFERENCES
    if "elementwise" in ROWS[name]["traits"]
    # These have arguments that are no tensors, or steps between which rounding decides.
    and name not in {"threshold", "polygamma", "nextafter", "clamp"}
]


@st.composite
def operands(draw, name):
    """Tensors of shapes that broadcast, 0-d and empty ones among them, in any layout."""
    count = operands_of(name)
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=count, min_side=0, max_dims=3))
    result = []
    for shape in shapes.input_shapes:
        if name in WHOLE:
            array = draw(hnp.arrays(np.int64, shape, elements=st.integers(1, 9)))
        else:
            low = LOWEST.get(name, 0.1)
            numbers = st.integers(0, 80).map(lambda n, low=low: low + n / 100)
            array = draw(hnp.arrays(np.float64, shape, elements=numbers))
        result.append(draw(relaid(array)))
    if count > 1 and draw(st.booleans()):  # one array for all
        result = [result[0]] * count
    return result


def expected_of(name, arrays):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(REFERENCES[name](*arrays))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_shapes_layouts_and_aliases(name, data):
    arrays = data.draw(operands(name))
    expected = expected_of(name, arrays)
    tensors = [rl.from_numpy(array) for array in arrays]
    got = rl._C.ops[name](*tensors)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-8, atol=1e-10)
    # The result may be written over an argument of its shape and type, whatever its layout.
    for i, tensor in enumerate(tensors):
        if tensor.shape == got.shape and tensor.dtype is got.dtype:
            own = [t.clone() for t in tensors]
            own[i] = tensor
            if all(t is tensors[0] for t in tensors):
                own = [tensor] * len(tensors)
            rl._C.ops[name](*own, out=tensor)
            np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-8, atol=1e-10)
            break


REFUSE_BOOL = frozenset(
    "abs addcmul ceil floor floor_divide fmax fmin fmod hardtanh heaviside isneginf isposinf neg "
    "pow relu remainder sign signbit square sub trunc".split()
)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in WHOLE])
@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "int64", "uint8", "bool"])
def test_other_types_give_the_same_numbers(name, kind):
    """Computed in their own type or, for whole numbers, in the default one."""
    if (name, kind) in OWN_RULES:
        pytest.skip("has a rule of its own")
    values = np.array([[0.25, 0.5, 0.75]] if "float" in kind else [[1, 1, 1]])
    values = values + (1 if name in LOWEST else 0)
    tensors = [rl.tensor(values).to(kind) for _ in range(operands_of(name))]
    if kind == "bool" and name in REFUSE_BOOL:
        with pytest.raises(TypeError, match="bool"):
            rl._C.ops[name](*tensors)
        return
    got = rl._C.ops[name](*tensors)
    exact = [t.to(rl.float64).numpy() for t in tensors]
    expected = expected_of(name, exact)
    tolerance = {"float16": 4e-3, "bfloat16": 3e-2}.get(kind, 2e-5)
    if got.dtype in (rl.bool_, rl.uint8, rl.int64):
        np.testing.assert_array_equal(got.to(rl.float64).numpy(), expected.astype(float))
    else:
        numbers = got.to(rl.float64).numpy()
        np.testing.assert_allclose(numbers, expected, rtol=tolerance, atol=tolerance)
