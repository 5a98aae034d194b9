"""Anomaly mode: errors of backward name the line of the forward pass."""

import traceback

import pytest

import relume as rl
from relume.autograd import Function, detect_anomaly, is_anomaly_enabled, set_detect_anomaly


def told_by(error):
    """The message of an exception with its notes."""
    return "".join(traceback.format_exception_only(error.type, error.value))


def leaf(*values):
    return rl.tensor(list(values), dtype=rl.float64, requires_grad=True)


def the_guilty_line(x):
    return x / x  # the guilty line


def test_nan_names_the_line_that_ran_the_op():
    x = leaf(0.0, 1.0)
    the_guilty_line(x).sum().backward()  # nobody looks without anomaly mode
    with detect_anomaly(), pytest.raises(RuntimeError, match=r"div\(\) gave NaN") as error:
        (the_guilty_line(x) * 2).sum().backward()
    assert "the guilty line" in told_by(error) and "test_anomaly.py" in told_by(error)
    assert not is_anomaly_enabled()


def test_infinities_and_unused_nans_are_no_anomaly():
    x = leaf(0.0)
    with detect_anomaly():
        x.sqrt().backward()
        assert x.grad.item() == float("inf")
        constant = rl.tensor([float("nan")], dtype=rl.float64)
        (x + constant).backward()
    with detect_anomaly(check_nan=False):
        (x / x).sum().backward()


def test_an_error_names_the_line_and_keeps_its_type():
    class Broken(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise LookupError("mine")

    def apply_it(x):
        return Broken.apply(x)  # where it was applied

    with detect_anomaly(), pytest.raises(LookupError, match="mine") as error:
        apply_it(leaf(1.0)).exp().backward()
    assert "where it was applied" in told_by(error) and "Broken" in told_by(error)


def test_a_tensor_changed_in_place_names_the_line_that_needed_it():
    x = leaf(1.0, 2.0)
    with detect_anomaly():
        h = x * 2
        y = h * h  # needs h
        h.add_(1)
        with pytest.raises(RuntimeError, match="changed in place") as error:
            y.sum().backward()
    assert "# needs h" in told_by(error)


def test_what_ran_before_anomaly_mode_is_not_known():
    x = leaf(0.0)
    y = the_guilty_line(x)
    with detect_anomaly(), pytest.raises(RuntimeError) as error:
        y.backward()
    assert "before anomaly mode" in told_by(error)


def test_second_derivatives_name_the_first_line_too():
    x = leaf(0.0)

    def root(x):
        return (x * x).sqrt() * x  # 0 * inf

    with detect_anomaly(check_nan=False):
        (g,) = rl.grad(root(x), x, create_graph=True)
    with detect_anomaly(), pytest.raises(RuntimeError, match="NaN") as error:
        g.backward()
    assert "as part of the derivative of" in told_by(error)
    assert "# 0 * inf" in told_by(error)


def test_switches():
    with set_detect_anomaly(True):
        assert is_anomaly_enabled()
        with set_detect_anomaly(False):
            assert not is_anomaly_enabled()
        assert is_anomaly_enabled()
    set_detect_anomaly(True)
    assert is_anomaly_enabled()
    set_detect_anomaly(False)
    assert not is_anomaly_enabled()
    assert leaf(2.0).exp().grad_fn.name() == "exp"
