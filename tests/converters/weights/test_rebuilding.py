"""Files of weights give the same network back: from the file alone, with equal outputs."""

import json

import h5py
import numpy as np
import pytest
from golden_cases import copy_of, load_cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import relume as rl
from relume import legacy_nn as nn
from relume.converters import safetensors
from relume.converters.errors import FileFormatError
from relume.converters.weights import collect
from relume.converters.weights.description import describe
from relume.converters.weights.rebuilding import rebuild

ENDINGS = ["npz", "safetensors", "h5"]
FILES = [
    ("nn", "Sequential"),
    ("nn", "WeightNorm"),
    ("nn", "SpatialConvolutionMap"),
    ("nn", "Reshape"),
    ("nn", "LookupTable"),
    ("nn", "SpatialBatchNormalization"),
    ("nngraph", "cells"),
    ("rnn", "Sequencer"),
    ("rnn", "SeqLSTM"),
    ("dpnn", "Inception"),
]


def rebuilt(value):
    weights = collect(value)
    return rebuild(describe(weights), weights.arrays)


@pytest.mark.parametrize(("section", "name"), FILES, ids=lambda value: value)
def test_golden_networks_compute_what_torch7_computed(section, name):
    for case in load_cases(section, name):
        if case.protocol != "module" or case.get("random"):
            continue
        net = rebuilt({"net": case.module, "anything": rl.ones(1)}).net
        rl.manual_seed(int(case.seed))
        output = net.forward(copy_of(case.input))
        for mine, theirs in zip(tensors(output), tensors(case.output), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=scale_of(theirs))


def tensors(value):
    return [t.detach().numpy() for t in nn.nested.tensors_in(value)]


def scale_of(array):
    tolerance = 1e-10 if array.dtype == np.float64 else 1e-5
    return tolerance * max(1, np.abs(array).max(initial=0))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_checkpoint_comes_back_whole(tmp_path, ending):
    shared = rl.ones(2, 3)
    checkpoint = {
        "net": nn.Sequential().add(nn.Linear(3, 2)).add(nn.View(2)),
        "epoch": 7,
        "best": 0.25,
        "worst": float("inf"),
        "never": float("nan"),
        "done": False,
        "name": "a\u00e9\u2603",
        "raw": b"\xff\x00",
        "list": ["x", {"y": shared}],
        "tied": shared,
        "sizes": rl.tensor([4, 5]).storage(),
        "flags": rl.tensor([1, 0], dtype=rl.uint8),
        "nothing": rl.zeros(0),
        2.5: "a key that is a number",
    }
    rl.convert(checkpoint, tmp_path / f"c.{ending}")
    again = rl.load(tmp_path / f"c.{ending}")
    assert (again.epoch, again.best, again.worst, again.done) == (7, 0.25, float("inf"), False)
    assert again.never != again.never
    assert (again.name, again.raw, again[2.5]) == ("a\u00e9\u2603", b"\xff\x00", checkpoint[2.5])
    assert again.list[2].y is again.tied
    assert again.sizes.tensor().tolist() == [4, 5]
    assert again.flags.dtype == rl.uint8 and again.nothing.shape == (0,)
    x = rl.randn(4, 3, dtype=rl.float64)
    assert again.net.forward(x).tolist() == checkpoint["net"].forward(x).tolist()


def test_objects_of_unknown_classes_and_functions_come_back():
    function = rl.LuaFunction(8, b"\x1bLJ\x02", rl.Table([rl.Table({"name": "x", "value": 3})]))
    source = rl.Table({"w": rl.ones(1), "f": function, "my": rl.TorchObject("my.Thing", {"a": 1})})
    source["itself"] = source
    again = rebuilt(source)
    assert again.itself is again
    assert (again.my.torch_typename, again.my.a) == ("my.Thing", 1)
    assert again.f.bytecode == function.bytecode and again.f.upvalues[0].value == 3


def test_the_flat_vector_of_get_parameters_is_not_written_twice(tmp_path):
    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Linear(4, 2))
    flat, _ = net.getParameters()
    report = rl.convert({"flat": flat, "net": net}, tmp_path / "n.safetensors")
    assert report.verified
    arrays, _ = safetensors.read(tmp_path / "n.safetensors")
    assert sorted(arrays) == [
        f"net.modules.{i}.{name}" for i in (1, 2) for name in ("bias", "weight")
    ]
    again = rl.load(tmp_path / "n.safetensors")
    assert again.flat.tolist() == flat.tolist()
    again.flat.fill_(5)
    assert again.net.get(2).weight.tolist() == [[5.0] * 4] * 2


def test_overlapping_tensors_share_memory_again():
    whole = rl.arange(10.0)
    again = rebuilt({"a": whole[:6], "b": whole[4:], "c": whole[1:9:2]})
    assert (again.a.tolist(), again.b.tolist()) == ([0, 1, 2, 3, 4, 5], [4, 5, 6, 7, 8, 9])
    again.a[4] = 40.0
    again.c[3] = 70.0
    assert again.b.tolist() == [40, 5, 6, 70, 8, 9]


def test_half_precision(tmp_path):
    net = nn.Sequential().add(nn.Linear(8, 8)).add(nn.Tanh()).float()
    rl.convert(net, tmp_path / "n.safetensors", dtype="float16")
    arrays, _ = safetensors.read(tmp_path / "n.safetensors")
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float16)}
    weight = net.get(1).weight.numpy()
    np.testing.assert_array_equal(arrays["modules.1.weight"], weight.astype(np.float16))
    assert rl.load(tmp_path / "n.safetensors").get(1).type() == "torch.HalfTensor"


def test_buffers_and_gradients_stay_behind(tmp_path):
    net = nn.Sequential().add(nn.Linear(3, 2))
    x = rl.ones(5, 3, dtype=rl.float64)
    net.forward(x)
    net.backward(x, rl.ones(5, 2, dtype=rl.float64))
    rl.convert(net, tmp_path / "n.npz")
    again = rl.load(tmp_path / "n.npz")
    assert again.output.numel() == 0 and again.get(1).gradWeight.shape == (2, 3)
    rl.convert(net, tmp_path / "n.npz", everything=True)
    again = rl.load(tmp_path / "n.npz")
    assert again.output.tolist() == net.output.tolist()
    assert again.get(1).gradWeight.tolist() == net.get(1).gradWeight.tolist()


def test_clones_with_gradients_of_their_own_come_back(tmp_path):
    net = nn.Sequential().add(nn.Linear(3, 3))
    for _ in range(10):
        net.add(net.get(1).clone("weight", "bias"))
    rl.convert(net, tmp_path / "net.safetensors")
    again = rl.load(tmp_path / "net.safetensors")
    assert again.get(11).weight.data_ptr() == again.get(1).weight.data_ptr()
    assert again.get(11).gradWeight.data_ptr() != again.get(1).gradWeight.data_ptr()
    x = rl.ones(2, 3, dtype=rl.float64)
    assert (again.forward(x) == net.forward(x)).all()


def test_hdf5_mirrors_the_tree(tmp_path):
    net = (
        nn.Sequential().add(nn.SpatialConvolution(3, 4, 5, 5)).add(nn.SpatialBatchNormalization(4))
    )
    rl.convert({"net": net, "epoch": 3}, tmp_path / "n.h5")
    with h5py.File(tmp_path / "n.h5") as file:
        group = file["net/modules/1"]
        assert group.attrs["class"] == "nn.SpatialConvolution"
        assert (group.attrs["kW"], group.attrs["nOutputPlane"]) == (5, 4)
        assert group["weight"].shape == (4, 3, 5, 5)
        assert file.attrs["epoch"] == 3
        assert sorted(file["net/modules/2"]) == ["bias", "running_mean", "running_var", "weight"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_of_other_tools_are_tensors_by_name(tmp_path, ending):
    arrays = {"a.weight": np.ones((2, 3), np.float32), "step": np.array([5])}
    path = tmp_path / f"other.{ending}"
    if ending == "npz":
        np.savez(path, **arrays)
    elif ending == "safetensors":
        safetensors.write(path, arrays)
    else:
        with h5py.File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array
    loaded = rl.load(path)
    assert loaded["a.weight"].tolist() == [[1, 1, 1]] * 2 and loaded["step"].tolist() == [5]


DAMAGE = {
    "no JSON": "{",
    "a list": "[]",
    "another version": '{"relume": 99, "root": null, "objects": []}',
    "an object that is not there": '{"relume": 1, "root": {"object": 7}, "objects": []}',
    "no class": '{"relume": 1, "root": null, "objects": [{}]}',
    "no such array": '{"relume":1,"root":null,"objects":[{"class":"t","tensor":"x"}]}',
    "a shape without an array": '{"relume":1,"root":null,"objects":[{"class":"t","shape":[5]}]}',
    "a huge shape": '{"relume":1,"root":null,"objects":[{"class":"t","shape":[0,9e99]}]}',
    "a storage without bounds": '{"relume":1,"objects":[],"storages":'
    '[{"dtype":"float32","size":1000000000000}]}',
    "a gradient without bounds": '{"relume":1,"root":null,"objects":'
    '[{"class":"t","shape":[1000000000],"zeros":true}]}',
    "bytes that are none": '{"relume":1,"root":{"bytes":"%%"},"objects":[]}',
    "a nil key": '{"relume":1,"root":null,"objects":[{"class":"table","entries":[[null,1]]}]}',
    "fields that make no sense": '{"relume":1,"root":{"object":0},"objects":'
    '[{"class":"nn.WeightNorm","version":1,"fields":{}}]}',
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_descriptions_are_refused(name):
    with pytest.raises(FileFormatError):
        rebuild(DAMAGE[name], {})


def test_the_description_is_readable():
    described = json.loads(describe(collect(nn.Sequential().add(nn.Linear(3, 2)))))
    linear = next(o for o in described["objects"] if o["class"] == "nn.Linear")
    weight = described["objects"][linear["fields"]["weight"]["object"]]
    assert weight == {"class": "torch.DoubleTensor", "tensor": "modules.1.weight"}


keys = st.text(max_size=6) | st.sampled_from(["a", "a.b", "b", ".", "a/b", "aliases", "\0", "ü"])
trees = st.recursive(
    st.builds(lambda n: np.full((2,), n, np.float32), st.integers(0, 9)),
    lambda inner: st.dictionaries(keys, inner, min_size=1, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("ending", ENDINGS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=st.dictionaries(keys, trees, min_size=1, max_size=4))
def test_keys_may_be_anything(tmp_path, ending, tree):
    rl.convert(tree, tmp_path / f"tree.{ending}")
    assert same(rl.load(tmp_path / f"tree.{ending}"), tree)


def same(found, expected):
    if isinstance(expected, dict):
        return found.keys() == list(expected) and all(
            same(found[key], value) for key, value in expected.items()
        )
    return found.tolist() == expected.tolist()
