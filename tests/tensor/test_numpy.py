"""Sharing memory with NumPy, in both directions."""

import gc
import hashlib
import mmap
import weakref

import numpy as np
import pytest

import relume as rl
from relume.tensor import dtypes

SHARED_TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("name", SHARED_TYPES)
def test_types_round_trip_on_the_same_memory(name):
    a = np.array([[1, 0, 1], [0, 1, 1]], dtype=name)
    t = rl.from_numpy(a)
    assert t.dtype == a.dtype and t.shape == a.shape
    back = t.numpy()
    assert back.dtype == a.dtype and np.shares_memory(back, a)
    back[0, 0] = 0
    assert not a[0, 0] and t[0, 0].item() == 0


def views():
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    yield "whole", a
    yield "transposed", a.T
    yield "steps", a[:, ::2, 1::2]
    yield "reversed", a[::-1, :, ::-1]
    yield "broadcast", np.lib.stride_tricks.as_strided(a, (3, 4), (0, 4))
    yield "fortran", np.asfortranarray(a)
    yield "scalar", a[0, 0, 0, None][0:1].reshape(())
    yield "empty", a[:, :0]
    yield "empty reversed", a[:, 2:1:1, ::-1]
    yield "one element", a[1:2, 1:2, 1:2]
    yield "long long", np.arange(3, dtype=np.longlong)
    yield "16 dimensions", np.zeros((1,) * 15 + (2,))


@pytest.mark.parametrize(("name", "a"), list(views()), ids=[n for n, _ in views()])
def test_strided_arrays_are_shared(name, a):
    t = rl.from_numpy(a)
    np.testing.assert_array_equal(t.numpy(), a)
    assert t.tolist() == a.tolist()
    if a.size:
        assert np.shares_memory(t.numpy(), a)
        assert t.data_ptr() == a.ctypes.data
        t.fill_(5) if name != "broadcast" else a.fill(5)
        assert (a == 5).all()
        assert t.clone().tolist() == a.tolist()


def read_only():
    a = np.arange(3.0)
    a.flags.writeable = False
    return a


REFUSED = {
    "read-only": (read_only, ValueError, "read-only"),
    "byte-swapped": (lambda: np.arange(3, dtype=">f8"), TypeError, "format"),
    "odd strides": (
        lambda: np.zeros(4, dtype=[("a", "u1"), ("b", "<f4")])["b"],
        ValueError,
        "no multiple of its item size",
    ),
    "uint16": (lambda: np.arange(3, dtype=np.uint16), TypeError, "no relume dtype"),
    "uint64": (lambda: np.arange(3, dtype=np.uint64), TypeError, "no relume dtype"),
    "long double": (lambda: np.zeros(3, dtype=np.longdouble), TypeError, "no relume dtype"),
    "object": (lambda: np.array([1, None]), TypeError, "format|dtype"),
    "text": (lambda: np.array(["a"]), TypeError, "format|dtype"),
    "dates": (
        lambda: np.array(["2015-01-01"], dtype="M8[D]"),
        (TypeError, ValueError),
        "M8|dtype|format|buffer",
    ),
    "records": (lambda: np.zeros(2, dtype=[("a", "f4"), ("b", "f4")]), TypeError, "format|dtype"),
    "17 dimensions": (lambda: np.zeros((1,) * 17), ValueError, "at most 16"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_shared_says_why(name):
    make, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        rl.from_numpy(make())


def test_what_cannot_be_shared_can_be_copied():
    for name in ("read-only", "byte-swapped", "odd strides", "uint16"):
        a = REFUSED[name][0]()
        for t in (rl.tensor(a), rl.as_tensor(a)):
            assert t.tolist() == a.tolist() and not np.shares_memory(t.numpy(), a)
    assert rl.tensor(np.arange(3, dtype=np.uint32)).dtype == rl.int64


def test_from_numpy_wants_an_array():
    with pytest.raises(TypeError, match="list"):
        rl.from_numpy([1, 2])


def test_as_tensor_shares_tensor_copies():
    a = np.zeros(3)
    rl.as_tensor(a)[0] = 1
    rl.tensor(a)[1] = 1
    assert a.tolist() == [1, 0, 0]
    t = rl.tensor([1.0])
    assert rl.as_tensor(t) is t and rl.as_tensor(t, dtype=rl.float64).dtype == rl.float64


def test_array_may_die_first():
    a = np.arange(1000.0)
    alive = weakref.ref(a)
    t = rl.from_numpy(a)
    del a
    gc.collect()
    assert alive() is not None and t[999].item() == 999.0
    view = t[10:]
    del t
    gc.collect()
    assert view[0].item() == 10.0
    del view
    gc.collect()
    assert alive() is None


def test_tensor_may_die_first():
    t = rl.arange(1000)
    a = t.numpy()
    part = a[10:20]
    del t, a
    gc.collect()
    rl.zeros(1000)  # would take over freed memory
    assert part.tolist() == list(range(10, 20))


def test_memory_of_a_file_is_shared(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(4.0).tobytes())
    with open(path, "r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
        a = np.frombuffer(memory, dtype=np.float64)
        t = rl.from_numpy(a)
        t[0] = 7
        assert a[0] == 7
        del t, a
        gc.collect()
        memory.close()


def test_gradients_are_not_lost_silently():
    x = rl.tensor([1.0], requires_grad=True)
    for convert in (lambda: x.numpy(), lambda: np.asarray(x), lambda: (x * 2).numpy()):
        with pytest.raises(RuntimeError, match="detach"):
            convert()
    with pytest.raises(BufferError):
        memoryview(x)
    assert x.detach().numpy().tolist() == [1.0]


def test_numpy_functions_take_tensors():
    t = rl.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.asarray(t).dtype == np.float32 and np.shares_memory(np.asarray(t), t.numpy())
    assert not np.shares_memory(np.array(t), t.numpy())
    assert np.asarray(t, dtype=np.float64).dtype == np.float64
    assert np.linalg.norm(t) == pytest.approx(30**0.5)
    assert np.mean(t) == 2.5
    assert np.concatenate([t, t]).shape == (4, 2)
    assert isinstance(np.exp(t), rl.Tensor)
    assert isinstance(np.arctan2(t, t), rl.Tensor)
    np.testing.assert_allclose(np.hypot(t, 1.0).numpy(), np.hypot(t.numpy(), 1))
    assert np.add.reduce(t).tolist() == [4.0, 6.0]


def test_numpy_array_changed_in_place_stays_an_array():
    a = same = np.ones(2)
    a += rl.tensor([1.0, 2.0])
    assert a is same and a.tolist() == [2.0, 3.0]
    t = rl.zeros(2)
    assert np.exp(np.zeros(2), out=t) is t and t.tolist() == [1.0, 1.0]


def test_numpy_array_times_tensor_is_on_the_tape():
    x = rl.tensor([1.0, 2.0], dtype=rl.float64, requires_grad=True)
    a = np.array([3.0, 4.0])
    y = a * x + np.float64(2) * x - a
    assert isinstance(y, rl.Tensor)
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 6.0]


def test_bfloat16_has_no_numpy_type():
    t = rl.tensor([1.0, 2.0]).bfloat16()
    with pytest.raises(TypeError, match="bfloat16"):
        t.numpy()
    assert np.asarray(t).dtype == np.float32 and np.asarray(t).tolist() == [1.0, 2.0]


def test_buffer_protocol():
    t = rl.tensor([[1, 2, 3], [4, 5, 6]], dtype=rl.int16)
    view = memoryview(t)
    assert (view.format, view.shape, view.strides, view.itemsize) == ("h", (2, 3), (6, 2), 2)
    assert view.tolist() == t.tolist() and not view.readonly
    view[0, 0] = 9
    assert t[0, 0].item() == 9
    assert bytes(t) == t.numpy().tobytes()
    assert bytes(t.T) == t.numpy().T.tobytes()
    with pytest.raises(BufferError, match="contiguous"):
        hashlib.sha1(t.T)
    assert rl.tensor(memoryview(b"\x01\x02")).tolist() == [1, 2]


def test_resize_never_moves_memory_that_numpy_sees():
    t = rl.arange(4)
    a = t.numpy()
    address = a.ctypes.data
    pickled = rl.zeros(1000)
    t.storage().tensor().fill_(3)
    assert a.tolist() == [3, 3, 3, 3] and a.ctypes.data == address and pickled.numel() == 1000


@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "float16", "float32", "complex128"])
def test_numpy_takes_relumes_types(name):
    kind = next(kind for kind in dtypes.ALL_DTYPES if kind.name == name)
    assert np.dtype(kind) == np.dtype(name)
    assert np.zeros(2, dtype=kind).dtype == np.dtype(name)
