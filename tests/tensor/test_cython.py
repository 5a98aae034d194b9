"""Typed memoryviews of Cython look at tensors' memory."""

import importlib.util
import shutil
import sys

import pytest

import relume as rl

SOURCE = """
# cython: language_level=3
def add_one(double[:, :] values):
    cdef Py_ssize_t i, j
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[i, j] += 1

def total(const long long[:] values):
    cdef long long result = 0
    for value in values:
        result += value
    return result
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A Cython module, compiled here."""
    pytest.importorskip("Cython")
    setuptools = pytest.importorskip("setuptools")
    if not (shutil.which("gcc") or shutil.which("cc")):
        pytest.skip("there is no C compiler")
    from Cython.Build import cythonize

    folder = tmp_path_factory.mktemp("cython")
    source = folder / "on_tensors.pyx"
    source.write_text(SOURCE)
    extension = setuptools.Extension("on_tensors", [str(source)], extra_compile_args=["-O0"])
    command = setuptools.Distribution(
        {"ext_modules": cythonize([extension], build_dir=str(folder), quiet=True)}
    ).get_command_obj("build_ext")
    command.build_lib = command.build_temp = str(folder)
    command.ensure_finalized()
    command.run()
    library = next(folder.glob("on_tensors*.so"))
    spec = importlib.util.spec_from_file_location("on_tensors", library)
    module = importlib.util.module_from_spec(spec)
    sys.modules["on_tensors"] = module
    spec.loader.exec_module(module)
    return module


def test_memoryviews(compiled):
    t = rl.zeros(3, 4, dtype=rl.float64)
    compiled.add_one(t)
    compiled.add_one(t[::2, 1:])
    compiled.add_one(t.T)
    assert t.tolist() == [[2, 3, 3, 3], [2, 2, 2, 2], [2, 3, 3, 3]]
    assert compiled.total(rl.arange(5)) == 10
    assert compiled.total(rl.arange(10)[::-3]) == 9 + 6 + 3 + 0


def test_other_types_are_refused(compiled):
    with pytest.raises(ValueError, match="mismatch"):
        compiled.add_one(rl.zeros(2, 2))
