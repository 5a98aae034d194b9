"""relume.save on what Python programs have: numbers, containers, arrays, layers; and refusals."""

from __future__ import annotations

import enum
import io
import math
import os
import stat
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relume as rl
from relume import legacy_nn as nn
from relume.converters import TdsHash, TdsVec, UnwritableError, t7


def again(value, **options):
    return rl.loads(rl.dumps(value, **options), classes=options.get("classes"))


# ---- plain values and containers ----


class Color(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (np.bool_(False), False),
        (3, 3),
        (-0.0, -0.0),
        (2.5, 2.5),
        (math.inf, math.inf),
        (2**53, 2.0**53),
        (2**60, 2.0**60),
        (np.int8(-3), -3),
        (np.float32(0.5), 0.5),
        (np.uint64(7), 7),
        (Color.RED, 1),
        (Fraction(1, 4), 0.25),
        ("text", "text"),
        ("h\u00e4llo \u20ac", "h\u00e4llo \u20ac"),
        ("", ""),
        (b"\xff\x00", b"\xff\x00"),
        (b"\xff".decode("utf-8", "surrogateescape"), b"\xff"),
        (np.str_("name"), "name"),
    ],
)
@pytest.mark.parametrize("form", ["binary", "ascii"])
def test_plain_values(value, expected, form):
    result = again(value, format=form)
    assert result == expected
    assert type(result) is type(expected) or isinstance(expected, float)
    if isinstance(expected, float):
        assert math.copysign(1, result) == math.copysign(1, expected)


def test_containers_become_tables():
    point = namedtuple("point", "x y")
    value = again(
        {"list": [1, [2]], "tuple": (3,), "named": point(4, 5), "range": range(2), 7: "seven"}
    )
    assert value["list"][2][1] == 2
    assert value.tuple.as_list() == [3]
    assert value.named.as_list() == [4, 5]
    assert value.range.as_list() == [0, 1]
    assert value[7] == "seven"
    assert again(OrderedDict(b=1, a=2, c=3)).keys() == ["b", "a", "c"]


def test_containers_that_make_what_they_hold():
    """Nothing is taken for another thing that had the same address before."""

    class Lazy(Mapping):
        def __init__(self, depth):
            self.depth = depth

        def __getitem__(self, key):
            return Lazy(self.depth - 1) if self.depth else [key]

        def __iter__(self):
            return iter("abcdefgh")

        def __len__(self):
            return 8

    def numbers(table):
        if table.is_list():
            return list(table)
        return [number for value in table.values() for number in numbers(value)]

    assert numbers(again(Lazy(2))) == list("abcdefgh") * 64


def test_none_is_an_absent_entry():
    value = again({"gone": None, "list": [1, None, 3]})
    assert value.keys() == ["list"]
    assert value["list"].items() == [(1, 1), (3, 3)]
    assert again(TdsVec([1, None, 3])).as_list() == [1, None, 3]


def test_keys_of_every_kind():
    table = rl.Table()
    key = rl.Table(["a key"])
    for name in (1, -2, 0.5, True, False, "s", b"\xfe", key, math.inf):
        table[name] = "here"
    table["key"] = key
    result = again(table)
    found = result.keys()
    assert [k for k in found if not isinstance(k, rl.Table)] == [
        1, -2, 0.5, True, False, "s", b"\xfe", math.inf, "key",
    ]  # fmt: skip
    assert result[result["key"]] == "here"


def test_what_is_shared_stays_shared():
    inner = [1]
    tensor = rl.ones(2)
    root = {"a": inner, "b": inner, "t": tensor, "u": tensor}
    root["self"] = root
    result = again(root)
    assert result.a is result.b
    assert result.t is result.u
    assert result["self"] is result


def test_objects_of_one_file_share():
    tensor = rl.zeros(3)
    stream = io.BytesIO()
    t7.write([tensor, [tensor]], stream)
    first, second = t7.loads_all(stream.getvalue())
    assert second[1] is first


def test_tds_containers():
    result = again({"hash": TdsHash({"a": 1, 2: "b"}), "vec": TdsVec(["x", [1]])})
    assert type(result.hash) is TdsHash
    assert result.hash["a"] == 1
    assert type(result.vec) is TdsVec
    assert result.vec[2][1] == 1


plain = (
    st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.binary(max_size=8).filter(lambda data: not is_utf8(data))
)
keys = st.integers(-5, 12) | st.text(max_size=4) | st.booleans() | st.floats(0.1, 0.9)


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def tables(values):
    return st.lists(values, max_size=5).map(rl.Table) | st.lists(
        st.tuples(keys, values), max_size=6
    ).map(table_of)


def table_of(pairs):
    table = rl.Table()
    for key, value in pairs:
        table[key] = value
    return table


def described(value):
    """A form in which two tables can be compared: True is not 1, and -0.0 is not 0.0."""
    if isinstance(value, rl.Table):
        pairs = [(repr(key), described(item)) for key, item in value.items()]
        return ("table", sorted(pairs, key=lambda pair: pair[0]))
    return repr(float(value)) if type(value) in (int, float) else repr(value)


@settings(max_examples=150, deadline=None)
@given(
    value=st.recursive(plain, tables, max_leaves=20),
    form=st.sampled_from(["binary", "ascii"]),
    order=st.sampled_from(["little", "big"]),
)
def test_any_tree_comes_back(value, form, order):
    data = rl.dumps(value, format=form, byte_order=order)
    result = rl.loads(data)
    assert described(result) == described(value)
    assert rl.dumps(result, format=form, byte_order=order) == data


def test_depth_is_no_danger():
    depth = 50_000
    root = value = []
    for _ in range(depth):
        value.append([])
        value = value[0]
    table = again(root)
    count = 0
    while table:
        table = table[1]
        count += 1
    assert count == depth


# ---- tensors and arrays ----

DTYPES = [rl.uint8, rl.int8, rl.int16, rl.int32, rl.int64, rl.float16, rl.float32, rl.float64]
FORMS = [{}, {"format": "ascii"}, {"byte_order": "big"}, {"long_size": 4}]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_of_every_type(dtype, form):
    tensor = rl.tensor([[1, 2, 3], [100, 5, 6]]).to(dtype)
    result = again(tensor, **form)
    assert result.dtype == dtype
    assert result.tolist() == tensor.tolist()


@settings(max_examples=80, deadline=None)
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    data=st.data(),
    form=st.sampled_from(FORMS),
)
def test_views_stay_views(shape, data, form):
    whole = rl.arange(math.prod(shape), dtype=rl.float64).reshape(shape)
    order = data.draw(st.permutations(range(len(shape))))
    dimension = data.draw(st.integers(0, len(shape) - 1))
    start = data.draw(st.integers(0, shape[dimension] - 1))
    view = whole.narrow(dimension, start, 1).permute(*order)
    result = again([whole, view], **form)
    assert result[2].tolist() == view.tolist()
    assert result[2].stride() == view.stride()
    result[1].fill_(7)
    assert (result[2] == 7).all()


def test_tensors_that_torch7_does_not_have():
    flipped = rl.from_numpy(np.arange(4.0)[::-1])
    assert again(flipped).tolist() == [3, 2, 1, 0]
    assert again(rl.tensor(2.5)).shape == (1,)
    assert again(rl.zeros(0, 3)).shape == (0,)
    assert again(rl.tensor([True, False])).tolist() == [1, 0]
    assert again(rl.tensor([True, False])).dtype == rl.uint8
    brain = rl.tensor([1.5, -2.0]).to(rl.bfloat16)
    assert again(brain).dtype == rl.float32
    assert again(brain, format="ascii").tolist() == [1.5, -2]
    assert again(rl.ones(2, requires_grad=True)).tolist() == [1, 1]


def test_storages_keep_their_identity():
    tensor = rl.tensor([1, 2, 3])
    result = again({"storage": tensor.storage(), "tensor": tensor})
    assert result.storage is result.tensor.storage()


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.arange(6, dtype=np.float32).reshape(2, 3), rl.float32),
        (np.asfortranarray(np.arange(6.0).reshape(2, 3)), rl.float64),
        (np.arange(6)[::-2], rl.int64),
        (np.arange(3, dtype=">i4"), rl.int32),
        (np.array([True, False]), rl.uint8),
        (np.array([1, 65535], np.uint16), rl.int32),
        (np.array([1, 2**32 - 1], np.uint32), rl.int64),
        (np.array([1, 2**63 - 1], np.uint64), rl.int64),
        (np.array(5.0), rl.float64),
        (np.array([1.5], np.float16), rl.float16),
        (np.broadcast_to(np.float32(3), (2, 2)), rl.float32),
    ],
    ids=lambda value: str(getattr(value, "dtype", value)),
)
def test_numpy_arrays(array, dtype):
    result = again(array)
    assert result.dtype == dtype
    assert result.tolist() == np.atleast_1d(array).tolist()


def test_a_slice_of_a_numpy_array_is_written_alone():
    big = np.zeros(100_000)
    assert len(rl.dumps(big[5:8])) < 300
    shared = again([big[:2], None, big[:2]])
    assert shared[1] is not shared[3]


# ---- layers ----


def test_layers_criterions_and_optimiser_states():
    net = nn.Sequential().add(nn.Linear(4, 3)).add(nn.BatchNormalization(3)).add(nn.LogSoftMax())
    x = rl.randn(5, 4, dtype=rl.float64)
    params, gradients = net.getParameters()
    state = {}
    nn.optim.adam(lambda w: (0.0, gradients + 1), params, {"learningRate": 0.1}, state)
    checkpoint = again({"net": net, "criterion": nn.ClassNLLCriterion(), "state": state})
    assert rl.allclose(checkpoint.net.forward(x), net.forward(x))
    assert checkpoint.state.t == 1
    assert checkpoint.state.m.tolist() == state["m"].tolist()
    flat, _ = checkpoint.net.getParameters()
    assert flat.tolist() == params.tolist()
    loss = checkpoint.criterion.forward(checkpoint.net.forward(x), rl.tensor([1, 2, 3, 1, 2]))
    assert math.isfinite(loss)


def test_python_state_never_leaks():
    net = nn.Sequential().add(nn.Linear(4, 3))
    x = rl.ones(2, 4, dtype=rl.float64)
    fields = set(vars(net.get(1)))
    net.backward(x, rl.ones_like(net.forward(x)))
    net(x)
    raw = rl.loads(rl.dumps(net), classes={"nn.Linear": rl.TorchObject})
    assert set(raw.get(1).fields) == fields


def test_classes_of_users():
    @nn.register("saving.Scale")
    class Scale(nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def updateOutput(self, input):
            self.output = input * self.factor
            return self.output

    scale = again(nn.Sequential().add(Scale(3))).get(1)
    assert type(scale) is Scale
    assert scale.forward(rl.ones(2)).tolist() == [3, 3]


def test_plain_classes_get_a_name_when_saved_and_loaded():
    class Point:
        def __init__(self, x):
            self.x = x

    assert again(Point(2), classes={"my.Point": Point}).x == 2
    with pytest.raises(UnwritableError, match="root: an object of the Python class"):
        rl.dumps(Point(2))


def test_unknown_objects_and_functions_come_back():
    shared = rl.Table({"n": 1})
    function = rl.LuaFunction(
        8, b"\x1bLJ\x02", rl.Table([rl.Table({"name": "n", "value": shared})])
    )
    root = rl.TorchObject("my.Odd", {"f": function, "g": function, "shared": shared}, 3)
    result = again(root)
    assert (result.torch_typename, result.torch_version) == ("my.Odd", 3)
    assert result.f is result.g
    assert result.f.upvalues[0].value is result.shared
    assert again(rl.TorchObject("my.Raw", payload=b"\x01\x02")).payload == b"\x01\x02"


def test_tensors_of_a_gpu_are_written_as_what_they_are_here(tmp_path):
    path = tmp_path / "gpu.t7"
    layer = rl.TorchObject("nn.Odd", {"_type": "torch.CudaTensor", "weight": rl.ones(2)})
    rl.save(layer, path)
    data = path.read_bytes().replace(b"torch.FloatTensor", b"torch.CudaTensor")
    cuda = rl.loads(
        data.replace(b"\x11\x00\x00\x00torch.Cuda", b"\x10\x00\x00\x00torch.Cuda").replace(
            b"\x12\x00\x00\x00torch.FloatStorage", b"\x11\x00\x00\x00torch.CudaStorage"
        )
    )
    assert t7.origin(cuda.weight) == "torch.CudaTensor"
    assert b"Cuda" not in rl.dumps(cuda)
    assert again(cuda)._type == "torch.FloatTensor"
    kept = rl.loads(rl.dumps(cuda, keep_gpu_types=True))
    assert t7.origin(kept.weight) == "torch.CudaTensor"
    assert kept._type == "torch.CudaTensor"


# ---- what cannot be written ----


@pytest.mark.parametrize(
    ("value", "where", "reason"),
    [
        ({"a": [1, {2, 3}]}, "root.a[2]", "Lua has no sets"),
        ({"callback": print}, "root.callback", "Python code (print)"),
        ({"n": 2**53 + 1}, "root.n", "too large for a number of Lua"),
        ({"z": 1j}, "root.z", "no complex numbers"),
        ({"z": rl.ones(2, dtype=rl.complex64)}, "root.z", "view_as_real"),
        ({"names": np.array(["a", "b"])}, "root.names", "tolist()"),
        ({"big": np.array([2**63], np.uint64)}, "root.big", "2^63"),
        ({math.nan: 1}, "root", "nan cannot be the key"),
        ({None: 1}, "root", "None cannot be the key"),
        ({"a": 1, b"a": 2}, "root", "the same string"),
        ({"half": "\ud800"}, "root.half", "surrogates"),
        (nn.Sequential().add(nn.Tanh()), "root.modules[1].hook", "Python code"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_cannot_be_written_is_named_by_its_place(value, where, reason):
    if isinstance(value, nn.Module):
        value.get(1).hook = lambda: None
    with pytest.raises(UnwritableError) as caught:
        rl.dumps(value)
    assert list(caught.value.problems) == [where]
    assert reason in caught.value.problems[where]
    assert where in str(caught.value)


def test_every_problem_is_named():
    with pytest.raises(UnwritableError) as caught:
        rl.dumps({"a": {1}, "fine": rl.ones(3), "b": [print, 1j]})
    assert list(caught.value.problems) == ["root.a", "root.b[1]", "root.b[2]"]


def test_numbers_too_large_for_4_bytes_are_refused():
    with pytest.raises(UnwritableError, match="4294967296 does not fit into a long of 4 bytes"):
        rl.dumps(rl.tensor([1, 2**32]), long_size=4)


@pytest.mark.parametrize(
    "options", [{"format": "text"}, {"long_size": 5}, {"byte_order": "middle"}], ids=str
)
def test_options_without_meaning_are_refused(options, tmp_path):
    with pytest.raises(ValueError, match=next(iter(options))):
        rl.save(1, tmp_path / "x.t7", **options)
    assert not list(tmp_path.iterdir())


# ---- the file ----


def test_failure_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "model.t7"
    rl.save("old", path)
    with pytest.raises(UnwritableError):
        rl.save([rl.zeros(1_000_000), {1}], path)
    assert rl.load(path) == "old"
    assert os.listdir(tmp_path) == ["model.t7"]


def test_full_disk_leaves_the_old_file_whole(tmp_path, monkeypatch):
    path = tmp_path / "model.t7"
    rl.save("old", path)
    real = open

    class Full(io.FileIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    def opened(file, mode="r", *args, **kwargs):
        return Full(file, "w") if mode == "wb" else real(file, mode, *args, **kwargs)

    monkeypatch.setattr("builtins.open", opened)
    with pytest.raises(OSError, match="No space left"):
        rl.save(rl.zeros(1_000_000), path)
    monkeypatch.undo()
    assert rl.load(path) == "old"
    assert os.listdir(tmp_path) == ["model.t7"]


def test_permissions_are_kept(tmp_path):
    path = tmp_path / "model.t7"
    rl.save(1, path)
    os.chmod(path, 0o640)
    rl.save(2, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert rl.load(path) == 2


def test_a_link_stays_a_link(tmp_path):
    rl.save(1, tmp_path / "real.t7")
    (tmp_path / "link.t7").symlink_to(tmp_path / "real.t7")
    rl.save(2, tmp_path / "link.t7")
    assert (tmp_path / "link.t7").is_symlink()
    assert rl.load(tmp_path / "real.t7") == 2


def test_a_stream_may_take_bytes_in_parts():
    class Narrow(io.RawIOBase):
        def __init__(self):
            self.data = b""

        def write(self, view):
            part = bytes(view[:1000])
            self.data += part
            return len(part)

    stream = Narrow()
    value = rl.arange(100_000)
    count = t7.write([value], stream)
    assert count == len(stream.data)
    assert rl.loads(stream.data).tolist() == value.tolist()


@pytest.mark.parametrize("name", ["a.npz", "a.safetensors", "a.h5", "a.onnx", "a.PY"])
def test_a_name_of_another_format_is_refused_and_says_what_writes_it(tmp_path, name):
    with pytest.raises(ValueError, match=r"relume\.convert"):
        rl.save({"a": 1}, tmp_path / name)
    assert not list(tmp_path.iterdir())
