"""In-place forms of ops that are not elementwise: values, shapes, and the tape."""

import pytest

import relume as rl
from relume.autograd import gradcheck


def leaf(*shape):
    return rl.randn(*shape, dtype=rl.float64).requires_grad_()


REPLACING = [
    ("tril_", (1,)),
    ("triu_", (-1,)),
    ("cumsum_", (1,)),
    ("addmm_", (rl.ones(3, 2, dtype=rl.float64), rl.ones(2, 3, dtype=rl.float64))),
    ("index_reduce_", (0, rl.tensor([0, 0]), rl.ones(2, 3, dtype=rl.float64), "prod")),
]


@pytest.mark.parametrize(("name", "arguments"), REPLACING)
def test_the_result_replaces_the_tensor(name, arguments):
    x = rl.randn(3, 3, dtype=rl.float64)
    expected = getattr(x, name[:-1])(*arguments)
    view = x[:]
    assert getattr(x, name)(*arguments) is x
    assert x.tolist() == expected.tolist() == view.tolist()
    gradcheck(lambda t: getattr(t * 2, name)(*arguments) * t, [leaf(3, 3)])


RESHAPING = [
    ("transpose_", (0, 2)),
    ("t_", ()),
    ("swapaxes_", (0, 1)),
    ("squeeze_", ()),
    ("unsqueeze_", (1,)),
    ("as_strided_", ((2, 2), (1, 3), 1)),
    ("movedim_", (0, -1)),
]


@pytest.mark.parametrize(("name", "arguments"), RESHAPING)
def test_the_tensor_takes_the_shape_of_the_view(name, arguments):
    shape = (2, 3) if name == "t_" else (2, 1, 3)
    x = rl.randn(*shape, dtype=rl.float64)
    expected = getattr(x.clone(), name[:-1])(*arguments)
    address = x.data_ptr() if name != "as_strided_" else None
    assert getattr(x, name)(*arguments) is x
    assert x.shape == expected.shape
    assert x.stride() == expected.stride()
    assert x.tolist() == expected.tolist()
    assert address in (None, x.data_ptr())
    gradcheck(lambda t: getattr(t * 2, name)(*arguments) ** 2, [leaf(*shape)])


def test_a_leaf_on_the_tape_keeps_its_shape():
    x = leaf(2, 3)
    with pytest.raises(RuntimeError, match="leaf"):
        x.t_()
    with rl.no_grad():
        assert x.t_().shape == (3, 2)


def test_set_looks_at_other_memory():
    x, y = rl.zeros(2), rl.arange(6.0)
    x.set_(y)
    x[0] = 9
    assert y[0].item() == 9
    x.set_(y.storage(), 1, (2, 2))
    assert x.tolist() == [[1, 2], [3, 4]]
    x.set_()
    assert x.numel() == 0
