"""Pairs of results are tuples whose items have names."""

import pickle

import pytest

import relume as rl

X = [[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda x: x.sort(1), ("values", "indices")),
        (lambda x: x.topk(2), ("values", "indices")),
        (lambda x: x.max(1), ("values", "indices")),
        (lambda x: x.min(0), ("values", "indices")),
        (lambda x: x.median(1), ("values", "indices")),
        (lambda x: x.kthvalue(2), ("values", "indices")),
        (lambda x: x.mode(), ("values", "indices")),
        (lambda x: x.cummax(1), ("values", "indices")),
        (lambda x: x.aminmax(), ("min", "max")),
        (lambda x: x.frexp(), ("mantissa", "exponent")),
    ],
)
def test_items_have_names(call, names):
    pair = call(rl.tensor(X))
    assert isinstance(pair, tuple)
    first, second = pair
    assert getattr(pair, names[0]) is first
    assert getattr(pair, names[1]) is second


def test_a_named_pair_can_be_pickled():
    pair = rl.tensor(X).max(1)
    again = pickle.loads(pickle.dumps(pair))
    assert again.values.tolist() == [3.0, 6.0]
    assert again.indices.tolist() == [0, 0]


def test_older_names_of_the_correction():
    x = rl.tensor(X)
    assert x.var(unbiased=False).tolist() == x.var(correction=0).tolist()
    assert x.std(1, unbiased=True).tolist() == x.std(1).tolist()


def test_rounding_to_decimals():
    x = rl.tensor([1.2345, -2.346, 1250.0], dtype=rl.float64)
    assert x.round(decimals=2).tolist() == pytest.approx([1.23, -2.35, 1250.0])
    assert x.round(decimals=-2).tolist() == [0.0, 0.0, 1200.0]
    with pytest.raises(TypeError, match="floating"):
        rl.round(rl.tensor([15]), decimals=-1)
