"""`relume th` at a terminal (a pseudo-terminal), and `relume lua` with its options."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest

PROMPT = "th> "


class Terminal:
    """A program at a pseudo-terminal."""

    def __init__(self, folder, *words):
        main, other = pty.openpty()
        environment = {**os.environ, "HOME": str(folder), "TERM": "xterm", "INPUTRC": "/dev/null"}
        environment.pop("RELUME_HISTORY", None)
        self._program = subprocess.Popen(
            [sys.executable, "-m", "relume", *words],
            stdin=other, stdout=other, stderr=other, env=environment, cwd=folder,
            start_new_session=True,
        )  # fmt: skip
        os.close(other)
        self._file = main
        self.seen = ""

    def send(self, text):
        os.write(self._file, text.encode())

    def interrupt(self):
        self._program.send_signal(signal.SIGINT)

    def wait_for(self, text, seconds=30):
        """What was written until `text` came."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self._file], [], [], 0.2)
            if ready:
                try:
                    self.seen += os.read(self._file, 65536).decode()
                except OSError:  # the program has ended
                    break
            assert time.monotonic() < end, f"no {text!r} in {self.seen!r}"
        before, found, self.seen = self.seen.partition(text)
        assert found, f"no {text!r} in {before!r}"
        return before

    def ask(self, line):
        """What a line prints, without colours and without the time."""
        self.send(line + "\n")
        self.wait_for("\n")
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.wait_for(PROMPT)).replace("\r", "")
        return re.sub(r" *\[\d+\.\d+s\]\n", "", text)

    def end(self):
        self._program.kill()
        self._program.wait()
        os.close(self._file)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def terminal(home):
    terminal = Terminal(home, "th")
    terminal.wait_for(PROMPT)
    yield terminal
    terminal.end()


def test_values_are_printed_as_th_printed_them(terminal):
    assert terminal.ask("1 + 1") == "2\t\n"
    assert terminal.ask("= 'text', nil") == "text\tnil\t\n"
    assert terminal.ask("torch.ones(2)") == " 1\n 1\n[torch.DoubleTensor of size 2]\n\n"
    assert terminal.ask("{1, {a = 'b'}}") == '{\n  1 : 1\n  2 : \n    {\n      a : "b"\n    }\n}\n'
    assert terminal.ask("x = 5") == ""
    assert terminal.ask("x + 1;") == ""
    assert terminal.ask("_LAST") == "6\t\n"


def test_lines_go_on_until_they_are_whole(terminal):
    terminal.send("for i = 1, 2 do\n")
    terminal.wait_for("..> ")
    terminal.send("print(i)\n")
    terminal.wait_for("..> ")
    assert terminal.ask("end") == "1\t\n2\t\n"


def test_an_error_is_shown_and_the_prompt_goes_on(terminal):
    assert "stdin:1: bad luck" in terminal.ask("error('bad luck')")
    assert "unexpected symbol" in terminal.ask("1 +* 2")
    assert terminal.ask("1") == "1\t\n"


def test_control_c_ends_the_evaluation_only(terminal):
    terminal.ask("y = 7")
    terminal.send("while true do end\n")
    terminal.wait_for("\n")
    time.sleep(0.3)
    terminal.interrupt()
    assert "interrupted!" in terminal.wait_for(PROMPT)
    assert terminal.ask("y") == "7\t\n"


def test_control_c_ends_loops_around_pcall_and_compiled_ones(terminal):
    terminal.send("while true do pcall(function() while true do end end) end\n")
    terminal.wait_for("\n")
    time.sleep(0.3)
    terminal.interrupt()
    assert "interrupted!" in terminal.wait_for(PROMPT)
    assert terminal.ask("1") == "1\t\n"


def test_control_c_at_the_prompt_gives_a_new_one(terminal):
    terminal.send("half a li")
    terminal.wait_for("half a li")
    terminal.interrupt()
    terminal.wait_for(PROMPT)
    assert terminal.ask("1") == "1\t\n"


def test_names_are_completed(terminal):
    terminal.send("torch.manualS\t")
    terminal.wait_for("torch.manualSeed(")
    terminal.send("3)\n")
    terminal.wait_for(PROMPT)
    terminal.ask("long_name = torch.ones(3)")
    terminal.send("long_na\t:storageO\t")
    terminal.wait_for("long_name:storageOffset(")
    assert terminal.ask(")") == "1\t\n"


def test_files_are_completed_inside_quotes(terminal, home):
    for name in ("some_file.txt", "some_file.txt.old"):
        (home / name).write_text("content")
    terminal.send("#io.open('some_f\t")
    terminal.wait_for("ile.txt")
    assert terminal.ask("'):read('*a')") == "7\t\n"


def test_lines_are_remembered(terminal, home):
    terminal.ask("z = 41")
    terminal.send("\x1b[A")  # up
    terminal.wait_for("z = 41")
    assert terminal.ask(" + 1") == ""
    assert terminal.ask("z") == "42\t\n"
    lines = (home / ".relume_history").read_text().splitlines()
    assert lines[-3:] == ["z = 41", "z = 41 + 1", "z"]


def test_help_and_shell(terminal):
    assert "Ctrl-D" in terminal.ask("?")
    answer = terminal.ask("? torch.randn")
    assert "a function" in answer
    assert "normal distribution" in answer
    assert "there is no 'nonsense'" in terminal.ask("? nonsense")
    assert terminal.ask("$ echo from the shell") == "from the shell\n"


def test_who_and_import(terminal):
    terminal.ask("mine = torch.ones(1)")
    assert re.search(r"^mine +torch.DoubleTensor$", terminal.ask("who()").rstrip(), re.MULTILINE)
    assert terminal.ask("import 'math'") == ""
    assert terminal.ask("floor(2.5)") == "2\t\n"


def test_the_end_of_the_input_leaves(terminal):  # the last test with this terminal
    terminal.send("\x04")
    terminal._program.wait(30)
    assert terminal._program.returncode == 0


def run(*words, text=None, folder=None):
    done = subprocess.run(
        [sys.executable, "-m", "relume", *map(str, words)],
        input=text, capture_output=True, text=True, timeout=60, check=False, cwd=folder,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_statements_and_packages_come_before_the_script(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("print(torch.typename(nn.Linear(1, 1)), given, arg[0], arg[1], #arg, ...)")
    code, printed, _ = run("lua", "-l", "nn", "-e", "given = 'before'", script, "-e", "x")
    assert (code, printed) == (0, f"nn.Linear\tbefore\t{script}\t-e\t2\t-e\tx\n")


def test_statements_alone():
    assert run("lua", "-e", "print(1)", "-e", "print(2)")[:2] == (0, "1\n2\n")


def test_globals_of_th_are_there():
    printed = run("lua", "-e", "print(path.join('a', 'b'), paths.basename('/c/d'), sys.OS, xlua)")
    assert re.fullmatch(r"a/b\td\t\w+\ttable: \S+\n", printed[1])


def test_require_takes_files_beside_the_script_and_data(tmp_path):
    folder = tmp_path / "project"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "init.lua").write_text("return 'lib of ' .. require './name'")
    (folder / "lib" / "name.lua").write_text("return 'name'")
    (folder / "main.lua").write_text(
        "print(require './lib', require 'x.json'.a, require('x.t7')[1])"
    )
    (tmp_path / "x.json").write_text('{"a": 5}')
    assert run("lua", "-e", "torch.save('x.t7', {7})", folder=tmp_path)[0] == 0
    code, printed, errors = run("lua", "project/main.lua", folder=tmp_path)
    assert (code, printed) == (0, "lib of name\t5\t7\n"), errors


def test_require_takes_the_folder_above_and_names_with_endings(tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "init.lua").write_text("return 'above'")
    (tmp_path / "util.lua").write_text("return 'util of above'")
    (tmp_path / "tasks" / "util.lua").write_text("count = (count or 0) + 1; return 'util'")
    (tmp_path / "tasks" / "main.lua").write_text(
        "print(require '..', require '../', require './util', require '../util',"
        "require 'util.lua', require 'tasks/util.lua', require './util', count)"
    )
    code, printed, errors = run("lua", "tasks/main.lua", folder=tmp_path)
    expected = "above above util|util of above|util of above|util|util|3"
    assert (code, printed.split()) == (0, expected.replace("|", " ").split()), errors


def test_a_script_on_the_standard_input():
    assert run("lua", "-", "word", text="print(arg[1])")[:2] == (0, "word\n")
    assert run("lua", text="print(2)\nprint(3)\n")[:2] == (0, "2\n3\n")


def test_th_runs_scripts_with_its_print(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("print{1}")
    assert run("th", script)[:2] == (0, "{\n  1 : 1\n}\n")


def test_i_goes_on_at_a_prompt_after_the_script(tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("x = 6")
    assert run("lua", "-i", script, text="x * 7\n")[:2] == (0, "42\t\n")


def test_a_script_that_is_not_there():
    code, _, errors = run("lua", "absent.lua")
    assert code == 2
    assert "absent.lua" in errors


def test_scripts_at_the_prompt_read_the_same_input():
    code, printed, errors = run("th", text="io.read()\nfor the script\nprint(2)\n")
    assert (code, printed, errors) == (0, "for the script\t\n2\t\n", "")
