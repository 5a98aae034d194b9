"""examples/porting runs, and each of its steps verifies itself."""

import importlib.util
from pathlib import Path

import relume

EXAMPLE = Path(relume.__file__).parent / "examples" / "porting" / "port.py"


def test_all_steps_of_the_example_hold(capfd):
    spec = importlib.util.spec_from_file_location("port", EXAMPLE)
    port = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(port)
    port.main()
    steps = [line[0] for line in capfd.readouterr().out.splitlines() if line[0] != " "]
    assert steps == ["1", "2", "3", "4", "5"]
