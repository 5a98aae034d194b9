"""Every public op says what it does, what it takes, and shows it."""

import doctest
import runpy
from pathlib import Path

import pytest

import relume as rl
from relume.tensor.documentation import describe, examples, rows

PUBLIC = sorted(name for name, row in rows().items() if "internal" not in row["traits"])


@pytest.mark.parametrize("name", PUBLIC)
def test_public_ops_are_documented_with_an_example_that_runs(name):
    text = rl._C.ops[name].__doc__
    assert text.startswith(rows()[name]["schema"])
    assert name in examples(), f"tensor/documentation/examples/*.txt has no example of {name}"
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    output = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=output.append)
    assert not output, "".join(output)


def test_there_are_no_examples_of_ops_that_are_not_public():
    assert set(examples()) <= set(PUBLIC)


def test_help_tells_arguments_results_and_errors():
    text = describe(rl.gather)
    for line in ("Args:", "    dim (int): 0-based", "Returns:\n    Tensor", "IndexError"):
        assert line in text


def test_the_table_of_ops_is_up_to_date():
    page = runpy.run_module("relume.tensor.documentation", run_name="generator")["page"]()
    stored = (Path(rl.__file__).parent / "docs" / "ops.md").read_text(encoding="utf-8")
    assert page == stored, "run python -m relume.tensor.documentation"


def test_an_in_place_form_says_so():
    assert "Changes `input` and returns it." in rl.Tensor.exp_.__doc__
    assert "Changes `input`" not in rl.exp.__doc__
