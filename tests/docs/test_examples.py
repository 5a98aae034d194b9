"""The examples in README, docs and docstrings run, and give what they say."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import relume

ROOT = Path(relume.__file__).parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Every package of the root; benchmarks, docs, examples and tests are none.
ROOMS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
# Source for files of PyTorch, which needs PyTorch and is never imported.
COPIED = ROOT / "converters" / "pytorch" / "helpers"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def module_names():
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if COPIED in path.parents:
                continue
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(["relume", *(part for part in parts if part != "__init__")])


@pytest.fixture(autouse=True)
def in_the_root(monkeypatch):
    """Examples name files from the root; none leaves a changed default behind."""
    state = relume.get_rng_state()
    monkeypatch.chdir(ROOT)
    yield
    relume.set_rng_state(state)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page, capsys):
    """The Python blocks of a page, one after another in one namespace."""
    names = {"__name__": page.stem}
    text = page.read_text()
    for match in re.finditer(r"```python\n(.*?)```", text, re.S):
        source, line = match.group(1), text[: match.start()].count("\n") + 2
        if ">>>" in source:
            run_doctest(doctest.DocTestParser().get_doctest(source, names, page.name, None, line))
        else:
            exec(compile("\n" * (line - 1) + source, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_page(page):
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("name", list(module_names()))
def test_docstrings(name):
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        if test.examples:
            run_doctest(test)


def test_docstrings_of_the_core():
    """Operations and the tensor's own methods are documented in C++."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in ("Tensor", "Storage"):
        for test in finder.find(getattr(relume, name), f"relume.{name}", module=False):
            if test.examples:
                run_doctest(test)


def run_doctest(test):
    output = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=output.append, clear_globs=False)
    assert runner.failures == 0, "".join(output)


def test_the_index_lists_every_page():
    index = (ROOT / "docs" / "index.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index
