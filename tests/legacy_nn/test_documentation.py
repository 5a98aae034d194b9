"""The table of classes says what is there."""

from pathlib import Path

import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.legacy_nn import documentation


def test_the_table_of_classes_is_up_to_date():
    stored = (Path(rl.__file__).parent / "docs" / "legacy_nn_classes.md").read_text("utf-8")
    assert documentation.page() == stored, "run python -m relume.legacy_nn.documentation"


def test_rows_tell_package_cases_and_derivatives():
    golden = documentation.golden_cases()
    rows = {row.name: row for row in documentation.rows(golden)}
    assert set(rows) == set(documentation.names()) <= set(nn.registered_names())
    linear = rows["nn.Linear"]
    assert (linear.package, linear.forward, linear.backward, linear.twice) == (
        "nn", "yes", "yes", "yes",
    )  # fmt: skip
    assert (linear.golden, linear.printed) == ("6", "checked")
    assert rows["nn.Module"].forward == "base"
    assert rows["nn.gModule"].package == "nngraph" and int(rows["nn.gModule"].golden) >= 24
    assert rows["nn.SeqLSTM"].package == "rnn"
    assert rows["cudnn.ReLU"].package == "cudnn"
    assert rows["nngraph.Node"].forward == ""


@pytest.mark.parametrize("name", nn.registered_names())
def test_every_class_says_what_it_is(name):
    assert documentation.first_sentence(nn.lookup(name))
