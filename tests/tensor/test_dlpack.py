"""DLPack in both directions, with NumPy as the other side."""

import gc

import numpy as np
import pytest

import relume as rl


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
)
def test_types(name):
    a = np.array([[1, 0, 1], [0, 1, 1]], dtype=name)
    t = rl.from_dlpack(a)
    assert t.dtype == a.dtype and t.tolist() == a.tolist()
    assert t.data_ptr() == a.ctypes.data
    back = np.from_dlpack(t)
    assert back.dtype == a.dtype and np.shares_memory(back, a)


def test_strides():
    a = np.arange(24.0).reshape(2, 3, 4)
    for view in (a.T, a[:, ::2], a[::-1], a[..., ::-2], a[:0], a[1, 1, 1, None].reshape(())):
        t = rl.from_dlpack(view)
        assert t.tolist() == view.tolist()
        assert np.from_dlpack(t).tolist() == view.tolist()


def test_both_orders_of_destruction():
    a = np.arange(1000.0)
    t = rl.from_dlpack(a)
    del a
    gc.collect()
    assert t[999].item() == 999
    b = np.from_dlpack(t)
    del t
    gc.collect()
    assert b[999] == 999


def test_unused_capsule_frees_its_tensor():
    t = rl.zeros(3)
    count = t.storage()
    for _ in range(3):
        t.__dlpack__()
        t.__dlpack__(max_version=(1, 0))
    del t
    gc.collect()
    assert len(count) == 3


def test_capsules():
    t = rl.zeros(3)
    assert "dltensor_versioned" in repr(t.__dlpack__(max_version=(1, 1)))
    capsule = t.__dlpack__()
    assert '"dltensor"' in repr(capsule)
    assert rl.from_dlpack(capsule).data_ptr() == t.data_ptr()
    with pytest.raises(TypeError, match="not used before"):
        rl.from_dlpack(capsule)
    with pytest.raises(TypeError):
        rl.from_dlpack(3)


def test_copy_flag():
    t = rl.zeros(3)
    assert not np.shares_memory(np.from_dlpack(t, copy=True), t.numpy())
    assert rl.from_dlpack(t, copy=True).data_ptr() != t.data_ptr()
    assert rl.from_dlpack(t, copy=False).data_ptr() == t.data_ptr()


def test_devices():
    t = rl.zeros(3)
    assert t.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        t.__dlpack__(dl_device=(2, 0))


def test_refusals():
    with pytest.raises(BufferError, match="detach"):
        np.from_dlpack(rl.tensor([1.0], requires_grad=True))
    a = np.arange(3.0)
    a.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        rl.from_dlpack(a)
    with pytest.raises(TypeError, match="code"):
        rl.from_dlpack(np.arange(3, dtype=np.uint16))
    with pytest.raises(TypeError):
        rl.from_dlpack(np.zeros(3, dtype=np.uint32))
