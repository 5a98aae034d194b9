"""Dimensions, indices and strides of 0: refused, as Torch7 counts from 1."""

import pytest

import relume as rl
from relume import legacy_nn as nn

INPUT = rl.arange(60, dtype=rl.float64).reshape(3, 4, 5)


def filled(container, count=2):
    for _ in range(count):
        container.add(nn.Identity())
    return container


DIMENSION_ZERO = {
    "Concat": (filled(nn.Concat(0)), INPUT),
    "DepthConcat": (filled(nn.DepthConcat(0)), INPUT),
    "Parallel, input": (filled(nn.Parallel(0, 1), 5), INPUT),
    "Parallel, output": (filled(nn.Parallel(1, 0), 3), INPUT),
    "JoinTable": (nn.JoinTable(0), [INPUT, INPUT]),
    "SplitTable": (nn.SplitTable(0), INPUT),
    "Select": (nn.Select(0, 1), INPUT),
    "Narrow": (nn.Narrow(0, 1), INPUT),
    "Sum": (nn.Sum(0), INPUT),
    "Max": (nn.Max(0), INPUT),
    "Min": (nn.Min(0), INPUT),
    "Index": (nn.Index(0), [INPUT, rl.tensor([1, 2])]),
    "Unsqueeze": (nn.Unsqueeze(0), INPUT),
    "Replicate": (nn.Replicate(2, 0), INPUT),
    "Padding": (nn.Padding(0, 1), INPUT),
    "Transpose": (nn.Transpose((0, 1)), INPUT),
}
INDEX_ZERO = {
    "Select": (nn.Select(1, 0), INPUT),
    "Narrow": (nn.Narrow(1, 0), INPUT),
    "Index": (nn.Index(1), [INPUT, rl.tensor([0, 2])]),
    "SelectTable": (nn.SelectTable(0), [INPUT, INPUT]),
}


@pytest.mark.parametrize("case", DIMENSION_ZERO)
def test_there_is_no_dimension_zero(case):
    layer, given = DIMENSION_ZERO[case]
    with pytest.raises((IndexError, ValueError), match="no dimension 0") as caught:
        layer.forward(given)
    assert layer.torch_typename in str(caught.value)


@pytest.mark.parametrize("case", INDEX_ZERO)
def test_there_is_no_index_zero(case):
    layer, given = INDEX_ZERO[case]
    with pytest.raises(IndexError, match=r"counted from 1|is not in 1") as caught:
        layer.forward(given)
    assert layer.torch_typename in str(caught.value)


def test_containers_join_along_dimensions_from_the_end():
    output = filled(nn.Concat(-1)).forward(INPUT)
    assert output.shape == (3, 4, 10)
    assert nn.Unsqueeze(-1).forward(INPUT).shape == (3, 4, 5, 1)


@pytest.mark.parametrize(
    "layer",
    [nn.SpatialMaxPooling(2, 2, 0, 0), nn.SpatialAveragePooling(2, 2, 0, 0)],
    ids=["max", "average"],
)
def test_a_stride_of_zero_is_refused(layer):
    with pytest.raises(ValueError, match=layer.torch_typename):
        layer.forward(INPUT)
