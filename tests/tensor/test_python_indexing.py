"""t[key] and t[key] = value against NumPy."""

import numpy as np
import pytest

import relume as rl

ARRAY = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
MASK = ARRAY[0, :, :, 0] % 3 == 0

BASIC = {
    "int": 1,
    "negative int": -1,
    "numpy int": np.int32(1),
    "ints": (1, 2, 3),
    "all ints": (1, 2, 3, 4),
    "slice": slice(0, 1),
    "steps": (slice(None), slice(None, None, 2), slice(3, 0, -1)),
    "reversed": (Ellipsis, slice(None, None, -1)),
    "negative bounds": (slice(None), slice(-2, -1)),
    "out of range": (slice(None), slice(1, 100), slice(-100, 2)),
    "empty": (slice(None), slice(2, 1)),
    "empty backwards": (slice(None), slice(0, 2, -1)),
    "none": None,
    "nones": (None, slice(None), None, 1),
    "ellipsis": Ellipsis,
    "ellipsis last": (1, Ellipsis),
    "ellipsis middle": (1, Ellipsis, 2),
    "ellipsis none": (Ellipsis, None),
    "empty tuple": (),
}
ADVANCED = {
    "list": [0, 1, 1],
    "list of lists": [[0, 1], [1, 0]],
    "tensor like": (slice(None), np.array([2, 0])),
    "negative": (slice(None), [-1, 0]),
    "pair": (slice(None), [0, 1], [2, 3]),
    "broadcast": ([[0], [1]], [0, 2]),
    "apart": ([0, 1], slice(None), [1, 2]),
    "int and list": (0, slice(None), [1, 2]),
    "int beside list": (slice(None), 1, [1, 2]),
    "mask": ARRAY > 50,
    "mask of leading dims": ARRAY[:, :, 0, 0] > 20,
    "mask inside": (slice(None), MASK),
    "mask and int": (1, MASK),
    "mask list": [True, False],
    "none and list": (None, [0, 1]),
    "slices and list": (slice(None), slice(1, 3), [3, 0], slice(None, None, -2)),
    "ellipsis and list": (Ellipsis, [4, 0]),
    "empty list": [],
    "all false": np.zeros((2, 3), dtype=bool),
    "uint8": np.array([1, 0], dtype=np.uint8),
}


def as_relume(key):
    """The same key with tensors in place of arrays."""
    if isinstance(key, tuple):
        return tuple(as_relume(k) for k in key)
    return rl.tensor(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("name", [*BASIC, *ADVANCED])
def test_reading(name):
    key = BASIC.get(name, ADVANCED.get(name))
    t = rl.tensor(ARRAY)
    expected = ARRAY[key]
    for k in (key, as_relume(key)):
        got = t[k]
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got.numpy(), expected)
    shares = np.shares_memory(t[key].numpy(), t.numpy())
    assert shares == (name in BASIC and expected.size > 0)


@pytest.mark.parametrize("name", [*BASIC, *ADVANCED])
@pytest.mark.parametrize("kind", ["number", "tensor", "array", "broadcast"])
def test_writing(name, kind):
    key = BASIC.get(name, ADVANCED.get(name))
    if name in ("list", "list of lists") and kind != "number":
        pytest.skip("the same place written twice: the order is not promised")
    expected, t = ARRAY.copy(), rl.tensor(ARRAY)
    shape = expected[key].shape
    values = -np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)
    if kind == "broadcast":
        values = values[..., :1] if values.ndim else values
    if kind == "number":
        expected[key] = -7
        t[key] = -7
    else:
        expected[key] = values
        t[key] = rl.tensor(values) if kind != "array" else values
    np.testing.assert_array_equal(t.numpy(), expected)


def test_writing_from_a_list_and_another_type():
    t = rl.zeros(2, 3)
    t[0] = [1, 2, 3]
    t[1, :2] = rl.tensor([7, 8])
    t[:, 2] = True
    assert t.tolist() == [[1, 2, 1], [7, 8, 1]]


def test_writing_large_integers_exactly():
    t = rl.zeros(3, dtype=rl.int64)
    t[0] = 2**62 + 1
    t[[1, 2]] = 2**62 + 1
    assert t.tolist() == [2**62 + 1] * 3


def test_overlapping_assignment():
    a = np.arange(6.0)
    t = rl.tensor(a)
    t[1:] = t[:-1]
    a[1:] = a[:-1].copy()
    np.testing.assert_array_equal(t.numpy(), a)


def test_bool_key_adds_a_dimension():
    t = rl.arange(3)
    assert t[True].shape == (1, 3) and t[False].shape == (0, 3)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0), (0, 0)])
def test_a_mask_without_elements_selects_nothing(shape):
    """It may be smaller than what it covers, as in NumPy."""
    array, mask = np.ones((3, 4)), np.zeros(shape, dtype=bool)
    t = rl.tensor(array)
    assert t[rl.tensor(mask)].shape == array[mask].shape
    t[rl.tensor(mask)] = 5
    assert t.sum() == 12
    with pytest.raises(IndexError, match="mask"):
        t[rl.zeros(0, 9, dtype=rl.bool_)]


def test_errors_of_a_key_name_no_function_that_was_not_called():
    for key in (7, [7], np.zeros(2, dtype=bool), (0, 9)):
        with pytest.raises(IndexError) as caught:
            rl.zeros(3, 4)[key]
        assert "(" not in str(caught.value).split()[0]


def test_zero_dimensional():
    t = rl.tensor(5.0)
    assert t[()].item() == 5 and t[...].item() == 5 and t[None].shape == (1,)
    t[()] = 6
    t[...] = t + 1
    assert t.item() == 7
    with pytest.raises(IndexError):
        t[0]
    with pytest.raises(TypeError):
        len(t)
    with pytest.raises(TypeError):
        iter(t)


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        (2, IndexError, "2"),
        (-3, IndexError, "-3"),
        ((0, 0, 0, 0, 0), IndexError, "too many indices"),
        ((Ellipsis, Ellipsis), IndexError, "only one"),
        (1.0, IndexError, "not float"),
        ("a", IndexError, "not str"),
        (slice(None, None, 0), ValueError, "step"),
        (slice("a", None), TypeError, "slice indices"),
        ([0, 5], IndexError, "5"),
        ([0.5], IndexError, "integers or bools"),
        (np.zeros((2, 2), dtype=bool), IndexError, "mask"),
        (([0, 1], [0, 1, 2]), (IndexError, ValueError), "broadcast"),
        (10**30, IndexError, "int"),
    ],
)
def test_bad_keys(key, error, words):
    with pytest.raises(error, match=words):
        rl.tensor(ARRAY)[key]
    with pytest.raises(error, match=words):
        rl.tensor(ARRAY)[key] = 0


def test_bad_values():
    t = rl.zeros(2, 3)
    with pytest.raises(ValueError):
        t[0] = rl.zeros(2)
    with pytest.raises(TypeError):
        t[0] = "text"
    with pytest.raises(TypeError):
        del t[0]


def test_iteration_gives_views():
    t = rl.zeros(2, 2)
    for i, row in enumerate(t):
        row.fill_(i)
    assert t.tolist() == [[0, 0], [1, 1]]
    _, last = t
    assert last.tolist() == [1, 1]


def test_gradients_through_indexing():
    x = rl.tensor(ARRAY, dtype=rl.float64, requires_grad=True)
    for key in (1, (slice(None), [0, 0]), (0, slice(None, None, -2)), ARRAY > 50):
        x.grad = None
        x[key].sum().backward()
        expected = np.zeros_like(ARRAY)
        np.add.at(expected, key, 1)
        np.testing.assert_array_equal(x.grad.numpy(), expected)
