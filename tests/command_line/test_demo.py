"""The demo: one checkpoint of Torch7, sampled in both languages."""

import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import relume as rl
from relume.command_line import demo

SCRIPT = "from relume.command_line import main; main()"
EXPECTED = demo.EXPECTED.read_text()


def relume(*arguments):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_demo_gives_the_text_of_torch7_in_time(tmp_path):
    started = time.monotonic()
    result = relume("demo", "--folder", tmp_path)
    assert result.returncode == 0, result.stderr
    assert "ok  Python: all 600 characters are Torch7's" in result.stdout
    assert "ok  Lua: all 600 characters are Torch7's" in result.stdout
    assert "equal bit for bit" in result.stdout
    assert (tmp_path / "shakespeare.safetensors").stat().st_size > 8 * 240_321
    assert time.monotonic() - started < 20


def test_demo_says_no_when_a_text_differs(monkeypatch, tmp_path, capsys):
    wrong = tmp_path / "expected.txt"
    wrong.write_text(EXPECTED[:20] + "x" + EXPECTED[21:])
    monkeypatch.setattr(demo, "EXPECTED", wrong)
    assert not demo.demo(length=30, folder=None)
    assert "no  Python: differs from character 15" in capsys.readouterr().out


def test_lua_example_alone():
    result = relume("lua", demo.EXAMPLES / "sample_charrnn.lua", demo.MODEL, 600)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == EXPECTED


@pytest.mark.parametrize("seed", [1, 2])
def test_both_languages_agree_on_other_seeds(seed):
    checkpoint = rl.load(demo.MODEL)
    sample = runpy.run_path(str(demo.EXAMPLES / "sample_charrnn.py"))["sample"]
    in_python = "".join(sample(checkpoint, prime="ROMEO:", length=40, seed=seed))
    source = (demo.EXAMPLES / "sample_charrnn.lua").read_text()
    written = []
    lua = rl.bridge.Lua()
    lua.execute(source.replace("0.7, 123", f"0.7, {seed}"), checkpoint, 40, written.append)
    lua.close()
    assert "".join(written) == in_python


def test_lua_scripts_get_their_arguments_and_fail_with_a_message(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("print(#arg, arg[1], arg[2], ...)\nerror('no luck')")
    result = relume("lua", script, "-x", "2")
    assert result.stdout.split() == ["2", "-x", "2", "-x", "2"]
    assert result.returncode == 2
    assert "script.lua:2: no luck" in result.stderr
    assert 'File "' not in result.stderr


def test_control_c_ends_a_compiled_lua_loop(tmp_path):
    script = tmp_path / "loop.lua"
    script.write_text(
        "print('started'); io.stdout:flush(); local n = 0; while true do n = n + 1 end"
    )
    command = [sys.executable, "-c", SCRIPT, "lua", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "started\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == -signal.SIGINT
        finally:
            process.kill()


def test_the_models_are_part_of_the_package():
    assert Path(demo.MODEL).is_file()
