import os
import signal
import subprocess
import sys

import pytest

from relume.converters.atomic import replacing, staging


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


KILLED = """
import os, signal, sys
from relume.converters.atomic import replacing, staging
with (staging if sys.argv[2] == "staging" else replacing)(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("kind", ["staging", "replacing"])
def test_what_a_killed_process_leaves_is_removed_by_the_next(tmp_path, kind):
    path = tmp_path / "x"
    path.write_text("before")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), kind], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_text() == "before" and len(os.listdir(tmp_path)) == 2
    with replacing(tmp_path / "y") as temporary:
        temporary.write_text("after")
    assert sorted(os.listdir(tmp_path)) == ["x", "y"]


def test_files_that_are_in_use_stay(tmp_path):
    with replacing(tmp_path / "x") as first, staging(tmp_path / "z") as second:
        with replacing(tmp_path / "y") as temporary:
            temporary.write_text("y")
        assert first.exists() and second.parent.exists()
        first.write_text("x")
        second.write_text("z")
    assert sorted(os.listdir(tmp_path)) == ["x", "y", "z"]


def test_other_programs_files_stay(tmp_path):
    for name in (".x.0123abcd.tmp", "x.tmp", ".hidden", ".x.relume.tmp"):
        (tmp_path / name).write_text("somebody's")
    with replacing(tmp_path / "x") as temporary:
        temporary.write_text("x")
    assert len(os.listdir(tmp_path)) == 5


def test_staged_files_appear_together_or_not_at_all(tmp_path):
    with pytest.raises(KeyError), staging(tmp_path / "net.py") as staged:
        staged.write_text("1")
        staged.with_suffix(".bin").write_text("2")
        raise KeyError
    assert os.listdir(tmp_path) == []


def test_files_beside_the_file_replace_only_those_of_an_earlier_one(tmp_path):
    def write():
        with staging(tmp_path / "net.py") as staged:
            staged.write_text("new")
            staged.with_suffix(".pt").write_text("weights")

    (tmp_path / "net.pt").write_text("of somebody else")
    with pytest.raises(FileExistsError, match=r"replace the net\.pt that is there"):
        write()
    assert [path.name for path in tmp_path.iterdir()] == ["net.pt"]
    assert (tmp_path / "net.pt").read_text() == "of somebody else"
    (tmp_path / "net.pt").unlink()
    write()
    write()
    assert (tmp_path / "net.pt").read_text() == "weights"
    with (
        pytest.raises(FileExistsError),
        staging(tmp_path / "net.py", tmp_path / "net.pt") as staged,
    ):
        staged.write_text("newer")
        staged.with_suffix(".pt").write_text("newer")
    assert (tmp_path / "net.py").read_text() == "new"
