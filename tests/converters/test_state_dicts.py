"""States of relume.nn models and optimisers as Torch7 files."""

from __future__ import annotations

import relume as rl
from relume import nn, optim


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def step(net: nn.Module, optimizer: optim.Optimizer) -> None:
    x = rl.arange(15, dtype=rl.float32).reshape(5, 3)
    optimizer.zero_grad()
    net(x).square().sum().backward()
    optimizer.step()


def test_training_goes_on_where_it_was_saved(tmp_path):
    net = model()
    adam = optim.Adam(net.parameters(), lr=0.01)
    step(net, adam)
    rl.save({"model": net.state_dict(), "optimizer": adam.state_dict()}, tmp_path / "state.t7")

    checkpoint = rl.load(tmp_path / "state.t7")
    assert checkpoint.model.keys() == list(net.state_dict())
    other = model()
    other_adam = optim.Adam(other.parameters())
    other.load_state_dict(checkpoint.model)
    other_adam.load_state_dict(checkpoint.optimizer)
    step(net, adam)
    step(other, other_adam)
    for name, value in net.state_dict().items():
        assert value.tolist() == other.state_dict()[name].tolist(), name


def test_states_of_all_parameters_but_the_first(tmp_path):
    """Their keys are 1 to n, which makes a list of a table."""
    net = model()
    net[0].weight.requires_grad_(False)
    adam = optim.Adam(net.parameters(), lr=0.01)
    step(net, adam)
    assert sorted(adam.state_dict()["state"]) == [1, 2, 3, 4, 5]
    rl.save(adam.state_dict(), tmp_path / "adam.t7")
    other = optim.Adam(net.parameters())
    other.load_state_dict(rl.load(tmp_path / "adam.t7"))
    expected = adam.state_dict()["state"]
    found = other.state_dict()["state"]
    assert sorted(found) == sorted(expected)
    assert found[3]["exp_avg"].tolist() == expected[3]["exp_avg"].tolist()


def test_tied_weights_are_written_once_and_stay_tied():
    net = nn.Sequential(nn.Linear(50, 50), nn.Linear(50, 50))
    net[1].weight = net[0].weight
    data = rl.dumps(net.state_dict())
    assert len(data) < 1.5 * 50 * 50 * 4
    state = rl.loads(data)
    assert state["0.weight"].data_ptr() == state["1.weight"].data_ptr()


def test_a_module_itself_is_refused_with_advice():
    try:
        rl.dumps({"model": model()})
    except rl.converters.UnwritableError as error:
        assert "state_dict()" in error.problems["root.model"]
    else:
        raise AssertionError("it was written")


def test_tables_become_lists_and_dicts():
    table = rl.loads(rl.dumps({"list": [1, {"a": [2]}], "self": None, 5: "five"}))
    assert table.as_python() == {"list": [1, {"a": [2]}], 5: "five"}
    loop = rl.Table({"name": "loop"})
    loop["me"] = loop
    result = loop.as_python()
    assert result["me"] is result
