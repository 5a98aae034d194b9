"""relume.save on PyTorch's tensors and state_dicts."""

from __future__ import annotations

import pytest

import relume as rl

torch = pytest.importorskip("torch")


def test_state_dict_of_a_model():
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    state = rl.loads(rl.dumps(net.state_dict()))
    assert state.keys() == list(net.state_dict())
    for name, value in net.state_dict().items():
        assert state[name].reshape(value.shape).tolist() == value.tolist()


def test_views_of_one_storage_stay_views():
    flat = torch.arange(12.0)
    result = rl.loads(rl.dumps({"flat": flat, "matrix": flat.view(3, 4).t(), "part": flat[2:4]}))
    assert result.matrix.stride() == (1, 4)
    result.flat.fill_(5)
    assert (result.matrix == 5).all()
    assert (result.part == 5).all()


def test_compact():
    flat = torch.zeros(100_000)
    assert len(rl.dumps([flat[5:9], flat[7:20]], compact=True)) < 1000


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
)
def test_every_type(dtype):
    tensor = torch.tensor([[1, 2], [3, 4]], dtype=getattr(torch, dtype))
    result = rl.loads(rl.dumps(tensor))
    assert result.dtype == getattr(rl, dtype)
    assert result.tolist() == tensor.tolist()


def test_types_that_torch7_does_not_have():
    assert rl.loads(rl.dumps(torch.tensor([1.5], dtype=torch.bfloat16))).tolist() == [1.5]
    assert rl.loads(rl.dumps(torch.tensor([True, False]))).tolist() == [1, 0]
    parameter = torch.nn.Parameter(torch.ones(2))
    assert rl.loads(rl.dumps([parameter, torch.zeros(0), torch.tensor(3)]))[1].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (lambda: torch.nn.Linear(2, 2), "state_dict"),
        (lambda: torch.ones(2, dtype=torch.complex64), "view_as_real"),
        (lambda: torch.eye(3).to_sparse(), "no memory"),
        (lambda: torch.ones(2, device="meta"), "no memory"),
        (lambda: torch.float32, "no name in Torch7"),
    ],
    ids=["module", "complex", "sparse", "meta", "dtype"],
)
def test_what_has_no_form_is_refused(value, reason):
    with pytest.raises(rl.converters.UnwritableError, match=reason) as caught:
        rl.dumps({"it": value()})
    assert list(caught.value.problems) == ["root.it"]
