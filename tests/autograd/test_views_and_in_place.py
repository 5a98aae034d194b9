"""Views and in-place operations on the tape, against differences of the function's values."""

import numpy as np
import pytest

import relume as rl

START = np.random.default_rng(4).uniform(-0.9, 0.9, (3, 4))


def expanded_view_of_what_changes(x):
    view = x.expand(2, 3, 4)
    x.add_(1)
    return (view * view).sum()


def overlapping_windows_of_what_changes(x):
    row = x[0]
    windows = row.unfold(0, 2, 1)
    row.mul_(3)
    return (windows**3).sum() + x.sum()


def turned_view_of_what_changes(x):
    view = x.t()[1:].unsqueeze(0)
    x[1:].exp_()
    return (view * view).sum()


def view_that_changes(x):
    view = x.diagonal()
    view.mul_(view.detach() * 0 + 2)
    return (x * x).sum() + view.sum()


def filled_with_a_sum(x):
    other = x[1:] * 2
    other.fill_(x.sum())
    return (other * x[1:]).sum()


def view_filled_with_a_sum(x):
    x[0].fill_(x[1].sum())
    return (x * x).sum()


def filled_number(x):
    number = x.sum() * 3
    number.fill_(x.mean())
    return number * x.sum()


def view_of_a_view_that_was_copied_over(x):
    view = x.movedim(0, -1)[2]
    x[0].copy_(x[2] * 0.5)
    view.sin_()
    return (x * x).sum()


CASES = [value for value in list(globals().values()) if getattr(value, "__code__", None)]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_gradient_is_that_of_the_values(function):
    def value(leaf):
        return function(leaf * 1.0)

    leaf = rl.tensor(START, requires_grad=True)
    assert rl.autograd.gradcheck(value, (leaf,))
    assert rl.autograd.gradgradcheck(value, (leaf,))


def test_lerp_by_a_number_has_its_gradient_in_the_tensors_precision():
    start = rl.tensor([1.0], dtype="float64", requires_grad=True)
    rl.lerp(start, rl.tensor([2.0], dtype="float64"), 0.3).sum().backward()
    assert start.grad.item() == pytest.approx(0.7, abs=1e-15)


def test_only_one_number_fills_a_tensor():
    with pytest.raises(ValueError, match="a tensor of one element"):
        rl.zeros(3).fill_(rl.ones(2))
    whole = rl.zeros(2, dtype="int64")
    assert whole.fill_(rl.tensor(3)).tolist() == [3, 3]
    whole[1] = 7
    assert whole.fill_(whole[1]).tolist() == [7, 7]
