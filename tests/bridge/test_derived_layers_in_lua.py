"""Layers in Lua whose gradients come from the core's tape."""

from __future__ import annotations

import pytest

import relume as rl


@pytest.fixture(scope="module")
def lua():
    with rl.bridge.Lua() as runtime:
        runtime.require("nn")
        yield runtime


# Constructors with the size of an input, each differentiable where the input is drawn.
LAYERS = [
    ("nn.Normalize(3)", "torch.rand(2, 4)"),
    ("nn.Cosine(4, 3)", "torch.rand(2, 4)"),
    ("nn.Euclidean(4, 3)", "torch.rand(2, 4)"),
    ("nn.WeightedEuclidean(4, 3)", "torch.rand(5, 4)"),
    ("nn.SpatialSubSampling(2, 2, 2, 2, 2)", "torch.rand(2, 4, 6)"),
    ("nn.SpatialCrossMapLRN(3)", "torch.rand(2, 5, 3, 3)"),
    ("nn.VolumetricConvolution(2, 3, 2, 2, 2)", "torch.rand(2, 3, 4, 4)"),
    ("nn.VolumetricFullConvolution(2, 3, 2, 3, 2, 1, 2, 1)", "torch.rand(2, 3, 2, 2)"),
    ("nn.VolumetricAveragePooling(2, 2, 2)", "torch.rand(1, 4, 4, 4)"),
    ("nn.SpatialConvolutionLocal(2, 3, 5, 4, 3, 2)", "torch.rand(2, 4, 5)"),
    ("nn.TemporalRowConvolution(3, 2)", "torch.rand(5, 3)"),
    ("nn.UpSampling(2, 'bilinear')", "torch.rand(1, 2, 3, 3)"),
]


@pytest.mark.parametrize(("layer", "input"), LAYERS)
def test_backward_is_the_derivative_of_forward(lua, layer, input):
    error = lua.eval(f"nn.Jacobian.testJacobian({layer}, {input}, 0.5, 1.5)")
    assert error < 1e-5


@pytest.mark.parametrize(("layer", "input"), [case for case in LAYERS if "Conv" in case[0]])
def test_gradients_of_weights_add_up_with_their_scale(lua, layer, input):
    once, scaled = lua.execute(
        f"""
        local m, x = {layer}, {input}
        local g = m:forward(x):clone():fill(1)
        m:zeroGradParameters()
        m:backward(x, g)
        local once = m.gradWeight:clone()
        m:backward(x, g, 0.5)
        return once, m.gradWeight:clone()
        """
    )
    assert rl.allclose(scaled, 1.5 * once)


def test_an_input_that_was_changed_since_is_looked_at_again(lua):
    gradient = lua.execute(
        """
        local m, x = nn.Normalize(2), torch.Tensor{3, 4}
        m:forward(x)
        x:copy(torch.Tensor{4, 3})
        return m:backward(x, torch.Tensor{1, 0})
        """
    )
    # d (x1 / |x|) / d x at (4, 3)
    assert rl.allclose(gradient, rl.tensor([9 / 125, -12 / 125], dtype=rl.float64), atol=1e-8)


def test_a_child_with_its_own_gradient_is_asked_for_it(lua):
    gradient = lua.execute(
        """
        local Child = torch.class('nn.ChildOfNormalize', 'nn.Normalize')
        function Child:updateGradInput(input, gradOutput)
           self.gradInput = input:clone():fill(7)
           return self.gradInput
        end
        local m, x = nn.ChildOfNormalize(2), torch.rand(3)
        m:forward(x)
        return m:backward(x, x)
        """
    )
    assert gradient.tolist() == [7, 7, 7]


def test_what_the_tape_keeps_is_no_field(lua):
    names = lua.execute(
        """
        local m = nn.Normalize(2)
        m:forward(torch.rand(3))
        local names = {}
        for key in pairs(m) do names[#names + 1] = key end
        table.sort(names)
        return table.concat(names, ' ')
        """
    )
    assert names == "_type eps gradInput output p"


def test_nothing_passes_a_root_at_zero(lua):
    gradient = lua.execute(
        """
        local m, x = nn.FeatureLPPooling(3, 1, 2), torch.zeros(6)
        m:forward(x)
        return m:backward(x, torch.ones(4))
        """
    )
    assert gradient.tolist() == [0.0] * 6


def test_a_parallel_container_may_have_more_modules_than_slices(lua):
    output, gradient = lua.execute(
        """
        local m = nn.Parallel(1, 1)
        for factor = 2, 4 do m:add(nn.MulConstant(factor)) end
        local x = torch.ones(2, 2)
        return m:forward(x), m:backward(x, torch.ones(4))
        """
    )
    assert output.tolist() == [2, 2, 3, 3]
    assert gradient.tolist() == [[2, 2], [3, 3]]


def test_a_sparse_layer_is_a_linear_one(lua):
    difference = lua.execute(
        """
        local sparse, linear = nn.SparseLinear(6, 3, true), nn.Linear(6, 3)
        linear.weight:copy(sparse.weight)
        linear.bias:copy(sparse.bias)
        sparse:zeroGradParameters()
        linear:zeroGradParameters()
        local rows, dense = torch.Tensor{{2, 0.5}, {5, -1}}, torch.Tensor{0, 0.5, 0, 0, -1, 0}
        local g = torch.rand(3)
        local worst = (sparse:forward(rows) - linear:forward(dense)):abs():max()
        local found, expected = sparse:backward(rows, g:clone()), linear:backward(dense, g)
        worst = math.max(worst, (found[1]:select(2, 2) - expected):abs():max())
        return math.max(worst, (sparse.gradWeight - linear.gradWeight):abs():max())
        """
    )
    assert difference < 1e-14


@pytest.mark.parametrize(
    ("layer", "input", "target"),
    [
        ("nn.SpatialFullConvolution(2, 3, 3, 3, 2, 2)", "2, 4, 4", "1, 10, 10"),
        ("nn.VolumetricFullConvolution(2, 3, 3, 3, 3, 2, 2, 2)", "2, 3, 3, 3", "1, 8, 8, 8"),
    ],
)
def test_the_size_that_is_asked_for_gets_a_single_zero(lua, layer, input, target):
    size, memory, dims = lua.execute(
        f"""
        local m, x = {layer}, {{torch.rand({input}), torch.rand({target})}}
        local gradient = m:backward(x, m:forward(x):clone())[2]
        return m.output:size(2), gradient:storage():size(), gradient:dim()
        """
    )
    assert (size, memory) == (int(target.split(", ")[1]), 1)
    assert dims == len(target.split(", "))
