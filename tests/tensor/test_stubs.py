"""The type stubs know every op of the registry."""

import re

import relume as rl
from relume.tensor.stubs.__main__ import stubs


def test_stubs_are_up_to_date():
    for path, expected in stubs().items():
        assert path.read_text() == expected, (
            f"{path.name} is out of date: run `python -m relume.tensor.stubs`"
        )


def test_stubs_are_python():
    for path in stubs():
        compile(path.read_text(), path.name, "exec")


def test_every_function_of_the_stub_exists():
    lines = stubs_of_package().read_text().splitlines()
    names = [line.split("(")[0][4:] for line in lines if line.startswith("def ")]
    names += [line.split(" as ")[-1] for line in lines if " import " in line and " as " in line]
    assert {"conv2d", "exp", "unique"} <= set(names)
    for name in set(names) - {"__getattr__"}:
        assert hasattr(rl, name), name


def test_every_method_of_tensors_is_in_the_stub():
    core = next(text for path, text in stubs().items() if path.name == "_C.pyi")
    of_tensors = core[core.index("class Tensor") :]
    known = set(re.findall(r"^    (?:def )?(\w+)\s*[(:=]", of_tensors, re.MULTILINE))
    assert {name for name in dir(rl.Tensor) if not name.startswith("_")} <= known


def stubs_of_package():
    return next(path for path in stubs() if path.name == "__init__.pyi")
