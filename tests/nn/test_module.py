"""Module: what it holds, how it is walked, changed, printed, hooked and copied."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

import relume as rl
from relume import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Linear(4, 2, bias=False)
        self.scale = nn.Parameter(rl.ones(1))
        self.register_buffer("steps", rl.tensor(0))

    def forward(self, x):
        return self.last(self.norm(self.first(x)).tanh()) * self.scale


def values(x):
    return x.detach().numpy()


def test_members_and_their_names():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "scale",
        "first.weight",
        "first.bias",
        "norm.weight",
        "norm.bias",
        "last.weight",
    ]
    assert [name for name, _ in net.named_children()] == ["first", "norm", "last"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "norm", "last"]
    assert next(name for name, _ in net.named_buffers()) == "steps"
    assert len(list(net.parameters(recurse=False))) == 1
    assert net.get_submodule("first") is net.first
    assert net.get_parameter("first.bias") is net.first.bias
    assert net.get_buffer("norm.running_mean") is net.norm.running_mean
    with pytest.raises(AttributeError, match="no module 'second'"):
        net.get_submodule("second.third")
    net.set_submodule("last", nn.Identity())
    assert isinstance(net.last, nn.Identity)


def test_shared_members_come_once():
    net = nn.Module()
    net.a = nn.Linear(2, 2)
    net.b = net.a
    net.weight = net.a.weight
    assert len(list(net.parameters())) == 2
    assert len(list(net.modules())) == 2
    assert list(net.state_dict()) == ["weight", "a.weight", "a.bias", "b.weight", "b.bias"]


def test_attributes_change_their_kind():
    net = nn.Module()
    net.x = 3
    net.x = nn.Parameter(rl.ones(2))
    assert list(net._parameters) == ["x"] and "x" not in net.__dict__
    net.x = nn.Linear(1, 1)
    assert list(net._modules) == ["x"] and not net._parameters
    net.x = None
    assert net.x is None
    del net.x
    with pytest.raises(AttributeError, match="no attribute 'x'"):
        _ = net.x
    net.y = nn.Buffer(rl.zeros(2), persistent=False)
    assert next(iter(net.buffers())).shape == (2,) and not net.state_dict()


@pytest.mark.parametrize(
    "act, error, message",
    [
        (lambda m: m.register_parameter("a.b", None), KeyError, "dot"),
        (lambda m: m.register_parameter("", None), KeyError, "empty"),
        (lambda m: m.register_parameter("a", rl.ones(1)), TypeError, "Parameter"),
        (lambda m: m.register_buffer("forward", rl.ones(1)), KeyError, "forward"),
        (lambda m: m.register_buffer("b", 3), TypeError, "Tensor"),
        (lambda m: m.add_module("c", 3), TypeError, "Module"),
        (lambda m: setattr(m, "scale", rl.ones(1)), TypeError, "Parameter"),
        (lambda m: m.train(1), ValueError, "True or False"),
        (lambda m: nn.Module()(1), NotImplementedError, "forward"),
        (lambda m: m.load_state_dict([]), TypeError, "dict"),
    ],
)
def test_mistakes_are_explained(act, error, message):
    with pytest.raises(error, match=message):
        act(Net())


def test_init_must_come_first():
    class Early(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"super\(\)\.__init__\(\)"):
        Early()


def test_a_class_attribute_would_hide_a_parameter():
    class Hiding(nn.Module):
        bias = None

    with pytest.raises(KeyError, match="class Hiding has an attribute 'bias'"):
        Hiding().bias = nn.Parameter(rl.ones(1))


def test_modes_and_apply():
    net = Net()
    seen = []
    net.apply(seen.append)
    assert seen[-1] is net and len(seen) == 4
    assert not net.eval().norm.training and net.train().norm.training
    net.requires_grad_(False)
    assert not net(rl.ones(2, 3)).requires_grad
    net.requires_grad_()
    net(rl.ones(2, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.scale.grad.item() == 0
    net.zero_grad()
    assert net.scale.grad is None


def test_types():
    net = Net()
    weight = net.first.weight
    net(rl.ones(2, 3)).sum().backward()
    net.double()
    assert net.first.weight is weight and weight.dtype is rl.float64
    assert weight.grad.dtype is rl.float64 and net.norm.running_var.dtype is rl.float64
    assert net.steps.dtype is rl.int64 and net.norm.num_batches_tracked.dtype is rl.int64
    assert net(rl.ones(2, 3, dtype=rl.float64)).dtype is rl.float64
    assert net.half().scale.dtype is rl.float16
    assert net.to(rl.bfloat16).scale.dtype is rl.bfloat16
    assert net.to("cpu", rl.float32).scale.dtype is rl.float32


def test_state_dict_shares_memory_and_loads():
    net, other = Net(), Net()
    state = net.state_dict()
    assert state["scale"].data_ptr() == net.scale.data_ptr()
    assert not state["scale"].requires_grad
    kept = net.state_dict(keep_vars=True)
    assert kept["scale"] is net.scale
    assert other.load_state_dict(state) == ([], [])
    x = rl.randn(5, 3)
    np.testing.assert_array_equal(values(net(x)), values(other(x)))
    loaded = Net()
    arrays = {name: value.numpy().astype(float) for name, value in state.items()}
    loaded.load_state_dict(arrays)
    np.testing.assert_array_equal(values(loaded.first.weight), values(net.first.weight))


def test_state_dict_that_does_not_fit():
    net = Net()
    state = net.state_dict()
    state["extra"] = state.pop("scale")
    state["last.weight"] = rl.ones(3, 4)
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    for part in ("missing: scale", "unexpected: extra", r"last.weight: shape (3, 4) instead of"):
        assert part in str(caught.value)
    del state["last.weight"]
    result = net.load_state_dict(state, strict=False)
    assert result.missing_keys == ["scale", "last.weight"] and result.unexpected_keys == ["extra"]


def test_assign_takes_the_tensors_themselves():
    net = nn.Linear(2, 1)
    weight = rl.ones(1, 2, dtype=rl.float64)
    net.load_state_dict({"weight": weight, "bias": rl.zeros(1)}, assign=True)
    assert net.weight.data_ptr() == weight.data_ptr() and net.weight.dtype is rl.float64
    assert isinstance(net.weight, nn.Parameter) and net.weight.requires_grad


def test_extra_state():
    class Counting(nn.Module):
        count = 0

        def get_extra_state(self):
            return self.count

        def set_extra_state(self, state):
            self.count = state

    a, b = nn.Sequential(Counting()), nn.Sequential(Counting())
    a[0].count = 5
    b.load_state_dict(a.state_dict())
    assert b[0].count == 5
    with pytest.raises(RuntimeError, match=r"missing: 0\._extra_state"):
        b.load_state_dict({})


def test_state_hooks():
    net = nn.Linear(1, 1)
    calls = []
    net.register_state_dict_pre_hook(lambda module, prefix, keep_vars: calls.append("save"))
    net.register_state_dict_post_hook(
        lambda module, state, prefix, metadata: state.update(note=rl.ones(1))
    )
    net.register_load_state_dict_pre_hook(lambda module, state, *rest: state.pop("note"))
    net.register_load_state_dict_post_hook(lambda module, keys: calls.append(keys.missing_keys))
    state = net.state_dict()
    assert "note" in state
    net.load_state_dict(state)
    assert calls == ["save", []]


def test_copies_and_pickles():
    net = Net()
    net.last.weight.requires_grad_(False)
    net.twin = net.first
    x = rl.randn(4, 3)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other.first.weight is not net.first.weight and other.twin is other.first
        assert not other.last.weight.requires_grad and other.first.weight.requires_grad
        np.testing.assert_array_equal(values(other.eval()(x)), values(net.eval()(x)))
        assert isinstance(other.scale, nn.Parameter)


def test_printing():
    assert repr(nn.Module()) == "Module()"
    assert repr(Net()) == "\n".join(
        [
            "Net(",
            "  (first): Linear(in_features=3, out_features=4, bias=True)",
            "  (norm): BatchNorm1d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, "
            "track_running_stats=True)",
            "  (last): Linear(in_features=4, out_features=2, bias=False)",
            ")",
        ]
    )
    nested = nn.Sequential(nn.Sequential(nn.ReLU()), nn.ModuleList([nn.Tanh(), nn.Tanh()]))
    assert repr(nested).splitlines() == [
        "Sequential(",
        "  (0): Sequential(",
        "    (0): ReLU()",
        "  )",
        "  (1): ModuleList(",
        "    (0-1): 2 x Tanh()",
        "  )",
        ")",
    ]


def test_forward_hooks():
    layer = nn.Identity()
    log = []
    first = layer.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    layer.register_forward_pre_hook(lambda m, args: log.append("first"), prepend=True)
    layer.register_forward_hook(lambda m, args, out: log.append(args[0].item()))
    last = layer.register_forward_hook(lambda m, args, kwargs, out: out * 2, with_kwargs=True)
    assert layer(rl.tensor(1.0)).item() == 4 and log == ["first", 2.0]
    first.remove()
    first.remove()
    with last:
        pass
    assert layer(rl.tensor(1.0)).item() == 1


def test_a_hook_that_is_always_called():
    class Bad(nn.Module):
        def forward(self, x):
            raise ValueError("bad")

    bad, log = Bad(), []
    bad.register_forward_hook(lambda m, args, out: log.append(out), always_call=True)
    bad.register_forward_hook(lambda m, args, out: log.append("not called"))
    with pytest.raises(ValueError, match="bad"):
        bad(1)
    assert log == [None]


def test_backward_hooks():
    layer = nn.Linear(2, 1, bias=False)
    layer.load_state_dict({"weight": rl.tensor([[2.0, 3.0]])})
    seen = []

    def hook(module, grad_input, grad_output):
        seen.append((grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 10,)

    layer.register_full_backward_hook(hook)
    layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
    x = rl.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert seen == [([[4.0, 6.0]], [[2.0]])]
    assert x.grad.tolist() == [[40.0, 60.0]] and layer.weight.grad.tolist() == [[2.0, 2.0]]


def test_a_backward_hook_without_input_gradient():
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda *arguments: seen.append(arguments[1:]))
    layer(rl.ones(1, 2)).sum().backward()
    assert len(seen) == 1 and seen[0][0] == (None,) and seen[0][1][0].item() == 1


def test_parameters_are_leaves_with_memory_of_their_own():
    data = rl.ones(2)
    parameter = nn.Parameter(data)
    assert parameter.is_leaf and parameter.requires_grad and not data.requires_grad
    assert parameter.data_ptr() == data.data_ptr()
    assert repr(parameter).startswith("Parameter containing:\ntensor([1., 1.]")
    assert type(parameter * 2) is rl.Tensor and not nn.Parameter(data, False).requires_grad


def double_in_place(net):
    with rl.no_grad():
        for parameter in net.parameters():
            parameter.mul_(2)


def test_processes_share_a_module():
    net = nn.Linear(3, 2).share_memory()
    before = values(net.weight).copy()
    process = multiprocessing.get_context("fork").Process(target=double_in_place, args=(net,))
    process.start()
    process.join()
    np.testing.assert_array_equal(values(net.weight), before * 2)


def test_moving_to_a_device_that_is_not_there():
    rl.cuda.manual_seed_all(1)
    with pytest.raises(ValueError, match="no device 'cuda'"):
        nn.Linear(2, 3).cuda()


def test_parameters_and_buffers_keep_the_type_of_what_they_are_made_of():
    assert nn.Parameter(np.ones(2)).dtype is rl.float64
    assert nn.Buffer(5).item() == 5
    weight = rl.ones(2)
    assert nn.Parameter(weight).data_ptr() == weight.data_ptr()
    assert nn.Parameter().shape == (0,)
