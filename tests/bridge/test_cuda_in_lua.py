"""Lua code that was written for a GPU: a clear error, or CUDA tensors that are those of the CPU."""

from __future__ import annotations

import pytest

from relume.bridge import Lua, LuaError


@pytest.fixture(scope="module")
def mapped():
    with Lua() as runtime:
        runtime.execute("require('relume.cuda').use_cpu()")
        runtime.execute("require 'cutorch' require 'cunn' require 'cudnn'")
        yield runtime


@pytest.mark.parametrize(
    "source",
    [
        "torch.Tensor(2):cuda()",
        "torch.Tensor(2):type('torch.CudaTensor')",
        "nn.Linear(2, 2):cuda()",
        "nn.MSECriterion():cuda()",
    ],
)
def test_without_a_gpu_the_error_says_what_to_do(source):
    with Lua() as lua:
        lua.require("nn")
        with pytest.raises(LuaError, match="--cuda=cpu"):
            lua.execute(source)


def test_cuda_tensors_are_float_tensors(mapped):
    types = mapped.execute(
        """
        return torch.Tensor(2):cuda():type(), torch.CudaTensor(3):type(),
           torch.FloatTensor(1):type('torch.CudaDoubleTensor'):type(), nn.Linear(2, 2):cuda():type()
        """
    )
    assert types == (
        "torch.FloatTensor",
        "torch.FloatTensor",
        "torch.DoubleTensor",
        "torch.FloatTensor",
    )


def test_layers_of_cudnn_are_those_of_nn(mapped):
    name, size = mapped.execute(
        """
        cutorch.setDevice(1)
        cudnn.benchmark = true
        local net = nn.Sequential()
        net:add(cudnn.SpatialConvolution(1, 2, 3, 3)):add(cudnn.ReLU(true)):cuda()
        local output = net:forward(torch.rand(1, 1, 5, 5):cuda())
        cutorch.synchronize()
        return torch.type(net:get(1)), output:size(3)
        """
    )
    assert (name, size) == ("nn.SpatialConvolution", 3)


def test_convolutions_of_cudnn_may_have_groups(mapped):
    alone, changed = mapped.execute(
        """
        local layer = cudnn.SpatialConvolution(4, 2, 1, 1, 1, 1, 0, 0, 2):double()
        local x = torch.randn(1, 4, 3, 3)
        local before = layer:forward(x):clone()
        x[1][1]:add(1)  -- of the first group
        local after = layer:forward(x)
        local changed = (after - before):abs()
        return changed[1][2]:max(), changed[1][1]:max() > 0
        """
    )
    assert (alone, changed) == (0, True)


def test_averages_of_cudnn_are_over_windows_side_by_side(mapped):
    assert mapped.eval("cudnn.SpatialAveragePooling(2, 2).dW") == 2


def test_what_cudnn_has_and_nn_has_not_is_named(mapped):
    with pytest.raises(LuaError, match=r"cudnn\.BGRU has no counterpart in nn"):
        mapped.execute("cudnn.BGRU(1, 2, 1)")


def test_positions_and_masks_may_be_cuda_tensors(mapped):
    found = mapped.execute(
        """
        local x = torch.CudaTensor{{1, 2, 3}, {4, 5, 6}}
        local columns = torch.CudaTensor{{3}, {1}}
        local copied = torch.CudaTensor(2, 3):zero()
        copied:indexCopy(1, torch.CudaTensor{2, 1}, x)
        return x:index(2, torch.CudaTensor{2}):sum(), x:gather(2, columns):sum(),
           x:clone():scatter(2, columns, 0):sum(), copied[2][3],
           x:maskedSelect(torch.CudaTensor{{1, 0, 0}, {0, 0, 1}}):sum()
        """
    )
    assert found == (7, 7, 14, 3, 7)


def test_positions_are_long_tensors_otherwise():
    with Lua() as lua, pytest.raises(LuaError, match=r"torch\.LongTensor expected"):
        lua.execute("require 'torch'; torch.rand(2, 2):index(1, torch.FloatTensor{1})")
