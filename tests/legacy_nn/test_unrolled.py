"""One cell, applied many times on the tape, against Torch7's clones of it."""

import pytest
from golden_cases import check_clones_through_time, difference, load_cases

import relume as rl

TOLERANCE = 1e-10


def case(index):
    return load_cases("nngraph", "lstm_unrolled")[index]


@pytest.mark.parametrize("index", range(3))
def test_one_cell_in_the_place_of_clones(index):
    golden = case(index)
    cell = golden.module.as_list()[0]
    inputs, expected = golden.inputs, golden.results
    xs, gs, state = inputs.x.as_list(), inputs.g.as_list(), inputs.state.as_list()
    cell.zeroGradParameters()
    leaves = [x.clone().requires_grad_() for x in xs]
    outputs, gradients = [], []
    for x, g, golden_output in zip(leaves, gs, expected.outputs.as_list(), strict=False):
        results = cell([x, *state]).as_list()
        assert difference(results, golden_output) < TOLERANCE
        state = results[:-1]
        outputs.append(results[-1])
        gradients.append(g)
    found = rl.grad(outputs, leaves, gradients, retain_graph=True)
    golden_gradients = [table.as_list()[0] for table in expected.gradInputs.as_list()]
    assert difference(list(found), golden_gradients) < TOLERANCE
    total = outputs[0] * 0
    for output, gradient in zip(outputs, gradients, strict=False):
        total = total + output * gradient
    total.sum().backward()
    assert difference(cell.parameters()[1], expected.gradParams) < TOLERANCE


@pytest.mark.parametrize("index", range(3))
def test_clones_with_shared_parameters(index):
    """The script of the golden file: clones, forward and backward through time."""
    golden = case(index)
    check_clones_through_time(golden.module.as_list(), golden, TOLERANCE)


def test_clone_shares_and_does_not_copy():
    cell = case(0).module.as_list()[0]
    copy = cell.clone("weight", "bias", "gradWeight", "gradBias")
    for mine, theirs in zip(cell.parameters()[0], copy.parameters()[0], strict=False):
        assert mine.data_ptr() == theirs.data_ptr()
