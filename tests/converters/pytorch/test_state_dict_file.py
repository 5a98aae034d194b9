"""PyTorch's files of tensors are read and written without PyTorch, and hostile ones refused."""

import contextlib
import pickle
import random
import zipfile

import numpy as np
import pytest

import relume as rl
from relume.converters.pytorch import state_dict_file

ARRAYS = {
    "weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "count": np.array(7, np.int64),
    "empty": np.zeros((0, 4)),
    "mask": np.array([True, False]),
}


@pytest.fixture
def file(tmp_path):
    state_dict_file.write(tmp_path / "weights.pt", ARRAYS)
    return tmp_path / "weights.pt"


def test_what_was_written_is_read(file):
    found = state_dict_file.read(file)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert found[name].tolist() == array.tolist()


def test_it_is_a_file_to_load(file):
    found = rl.load(file)
    assert found["weight"].tolist() == ARRAYS["weight"].tolist()


def test_shared_tensors_stay_shared(tmp_path):
    array = np.ones(3)
    state_dict_file.write(tmp_path / "weights.pt", {"a": array, "b": array})
    found = rl.load(tmp_path / "weights.pt")
    assert found["a"].data_ptr() == found["b"].data_ptr()


def test_damaged_files_are_refused(file):
    whole = file.read_bytes()
    chance = random.Random(5)
    for turn in range(400):
        damaged = bytearray(whole)
        if turn % 4 == 0:
            damaged = damaged[: chance.randrange(len(whole))]
        else:
            for _ in range(chance.randrange(1, 4)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        file.write_bytes(damaged)
        with contextlib.suppress(rl.FileFormatError):
            state_dict_file.read(file)


class Command:
    def __reduce__(self):
        return print, ("this must not run",)


def zipped(path, data):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/data/0", bytes(8))


def test_code_in_a_file_does_not_run(tmp_path, capsys):
    zipped(tmp_path / "zip.pt", pickle.dumps({"weight": Command()}))
    (tmp_path / "early.pt").write_bytes(pickle.dumps(Command()))
    for name in ("zip.pt", "early.pt"):
        with pytest.raises(rl.FileFormatError, match=r"builtins\.print"):
            state_dict_file.read(tmp_path / name)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((3,), (1,)), ((1 << 40,), (0,)), ((-1,), (1,)), ((2,), (1, 1)), ((2,), (-1,))],
)
def test_tensors_outside_of_their_storage_are_refused(shape, strides):
    with pytest.raises(rl.FileFormatError):
        state_dict_file.rebuild_tensor(np.zeros(2), 0, shape, strides)


def test_types_that_pytorch_lacks_are_refused(tmp_path):
    with pytest.raises(TypeError, match="complex256"):
        state_dict_file.write(tmp_path / "weights.pt", {"a": np.zeros(2, np.clongdouble)})
