import os

import pytest

from relume.converters.atomic import replacing


def test_failure_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "x"
    path.write_text("before")
    with pytest.raises(KeyError), replacing(path) as temporary:
        temporary.write_text("half")
        raise KeyError
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["x"]


def test_success_replaces_and_keeps_permissions(tmp_path):
    path = tmp_path / "x"
    path.write_text("before")
    path.chmod(0o640)
    with replacing(path) as temporary:
        temporary.write_text("after")
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["x"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("before")
    (tmp_path / "link").symlink_to("real")
    with replacing(tmp_path / "link") as temporary:
        temporary.write_text("after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "after"


@pytest.mark.parametrize("path, error", [(".", IsADirectoryError), ("no/where", FileNotFoundError)])
def test_places_that_cannot_be_written(tmp_path, path, error):
    with pytest.raises(error), replacing(tmp_path / path):
        pass
    with pytest.raises(PermissionError), replacing("/dev/null"):
        pass
