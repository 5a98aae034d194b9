"""nn.tables: which input planes the output planes of a SpatialConvolutionMap see."""

import pytest
from golden_cases import load_cases

import relume as rl
from relume import legacy_nn as nn


def test_random_connections_are_those_of_torch7():
    case = next(c for c in load_cases("nn", "SpatialConvolutionMap") if "random" in c.ctor)
    rl.manual_seed(int(case.ctor_seed))
    layer = nn.SpatialConvolutionMap(nn.tables.random(4, 3, 2), 3, 3, 2, 1)
    assert layer.connTable.tolist() == case.module.connTable.tolist()
    assert layer.weight.tolist() == case.params[1].tolist()


@pytest.mark.parametrize(("inputs", "outputs", "fan_in"), [(5, 4, 2), (3, 3, 3), (7, 5, 4)])
def test_every_output_sees_different_inputs(inputs, outputs, fan_in):
    rows = nn.tables.random(inputs, outputs, fan_in).tolist()
    for output in range(1, outputs + 1):
        seen = [i for i, o in rows if o == output]
        assert len(seen) == len(set(seen)) == fan_in
        assert set(seen) <= set(range(1, inputs + 1))


def test_more_connections_than_inputs_are_refused():
    with pytest.raises(ValueError, match="from 1 to 3, got 4"):
        nn.tables.random(3, 2, 4)
