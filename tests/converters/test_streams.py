"""Torch7 files read from and written to open files."""

import io

import pytest

import relume as rl


@pytest.mark.parametrize("format", ["binary", "ascii"])
def test_an_object_goes_through_an_open_file(format, tmp_path):
    stream = io.BytesIO()
    rl.save({"weight": rl.ones(2, 3)}, stream, format=format)
    assert rl.load(io.BytesIO(stream.getvalue())).weight.shape == (2, 3)
    with open(tmp_path / "a.t7", "wb") as file:
        rl.save_all([1, "two"], file, format=format)
    with open(tmp_path / "a.t7", "rb") as file:
        assert rl.load_all(file) == [1, "two"]


def test_reading_begins_where_the_open_file_stands():
    stream = io.BytesIO(b"header" + rl.dumps(7))
    stream.seek(6)
    assert rl.load(stream) == 7


def test_a_file_open_for_text_is_refused_with_the_way_out():
    with pytest.raises(TypeError, match='"rb"'):
        rl.load(io.StringIO("1\n42\n"))


def test_damaged_bytes_of_an_open_file_are_refused():
    with pytest.raises(rl.FileFormatError):
        rl.load(io.BytesIO(b"PK\x03\x04 and more"))
