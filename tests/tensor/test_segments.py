"""Reductions of segments, against NumPy's of each segment."""

import numpy as np
import pytest

import relume as rl

RANDOM = np.random.default_rng(4)
REDUCTIONS = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(7,), (7, 3)])
def test_segments_of_the_first_dimension(name, shape):
    values, lengths = RANDOM.standard_normal(shape), [3, 1, 3]
    parts = np.split(values, np.cumsum(lengths)[:-1])
    expected = np.stack([REDUCTIONS[name](part, 0) for part in parts])
    data = rl.tensor(values, requires_grad=True)
    result = rl.segment_reduce(data, name, lengths=rl.tensor(lengths))
    np.testing.assert_allclose(result.detach(), expected, rtol=1e-12)
    ends = rl.tensor([0, *np.cumsum(lengths)])
    by_offsets = rl.segment_reduce(rl.tensor(values), name, offsets=ends)
    np.testing.assert_array_equal(by_offsets, result.detach())
    assert rl.autograd.gradcheck(
        lambda t: rl.segment_reduce(t, name, lengths=rl.tensor(lengths)), (data,)
    )


def test_each_row_may_have_segments_of_its_own():
    values = RANDOM.standard_normal((2, 4, 3))
    result = rl.segment_reduce(
        rl.tensor(values), "sum", lengths=rl.tensor([[1, 3], [2, 2]]), axis=1
    )
    expected = [
        [values[0, :1].sum(0), values[0, 1:].sum(0)],
        [values[1, :2].sum(0), values[1, 2:].sum(0)],
    ]
    np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "name, empty", [("sum", 0), ("mean", np.nan), ("prod", 1), ("max", -np.inf), ("min", np.inf)]
)
def test_segments_without_slices(name, empty):
    data, lengths = rl.tensor([2.0, 6.0]), rl.tensor([0, 2])
    assert rl.segment_reduce(data, name, lengths=lengths)[0].item() == pytest.approx(
        empty, nan_ok=True
    )
    begun = rl.segment_reduce(data, name, lengths=lengths, initial=4.0).tolist()
    joined = {"sum": 12, "mean": 6, "prod": 48, "max": 6, "min": 2}
    assert begun == [4, joined[name]]


@pytest.mark.parametrize("lengths", [[3], [-1, 3], [1, 2]])
def test_lengths_must_add_up(lengths):
    with pytest.raises(ValueError, match="add up to 2"):
        rl.segment_reduce(rl.ones(2), "sum", lengths=rl.tensor(lengths))
