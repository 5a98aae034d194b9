"""Layers made here have the fields that Torch7's constructors give them, so that its own methods
run on what is saved from here."""

import pytest
from golden_cases import DATA

import relume as rl
from relume import legacy_nn as nn
from relume.bridge import Lua
from relume.converters.object_tree import class_name
from relume.legacy_nn.layouts import saved_fields

# A Lua expression, a tab, and field:type of each field that is no function.
LINES = (DATA / "torch7_constructors.txt").read_text().splitlines()
CASES = {
    expression: dict(field.rsplit(":", 1) for field in fields.split(" "))
    for expression, fields in (line.split("\t") for line in LINES)
}
# What may be otherwise: a decorated layer has its weight itself once it ran, and Torch7's sequence
# layers replace their gradInput.
FREE = {
    "nn.WeightNorm": {"weight", "gradWeight"},
    "nn.SeqLSTM": {"gradInput"},
    "nn.SeqGRU": {"gradInput"},
}
IN_PYTHON = {"true": "True", "false": "False", "nil": "None", ":add(": ".add(", "torch.": "rl."}
KINDS = {"int": "number", "float": "number", "bool": "boolean", "str": "string", "list": "table"}


def in_python(expression):
    for lua, python in IN_PYTHON.items():
        expression = expression.replace(lua, python)
    if "=" in expression:
        expression = expression.replace("{", "dict(").replace("}", ")")
    return expression.replace("{", "[").replace("}", "]")


def kind_of(value):
    return KINDS.get(type(value).__name__) or KINDS.get(class_name(value)) or class_name(value)


def differences(expression, expected, found):
    """Fields that are missing or of another kind."""
    left_out = next((names for cls, names in FREE.items() if expression.startswith(cls)), set())
    return {
        name: (kind, found.get(name))
        for name, kind in expected.items()
        if name not in left_out and not serves(name, kind, found.get(name))
    }


def serves(name, kind, found):
    if found is None:
        return kind == "boolean"  # false, as nil is
    if name == "gradInput" and kind.endswith("Tensor"):  # which is replaced
        return True
    return kind == found or (kind.endswith("Tensor") and found.endswith("Tensor"))


@pytest.mark.parametrize("expression, expected", CASES.items(), ids=CASES)
def test_layers_of_python_have_the_fields(expression, expected):
    layer = eval(in_python(expression), {"nn": nn, "rl": rl})
    found = {name: kind_of(value) for name, value in saved_fields(layer).items()}
    assert not differences(expression, expected, found)


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.execute("require 'nn' require 'dpnn' require 'rnn'")
        yield runtime


@pytest.mark.parametrize("expression, expected", CASES.items(), ids=CASES)
def test_layers_of_lua_have_the_fields(lua, expression, expected):
    pairs = lua.execute(
        """
        local layer, fields = assert(loadstring('return ' .. ...))(), {}
        for name, value in pairs(layer) do
           fields[tostring(name)] = torch.typename(value) or type(value)
        end
        return fields
    """,
        expression,
    )
    if "python" not in pairs:  # those run in Python, and are written from there
        assert not differences(expression, expected, dict(pairs.items()))
