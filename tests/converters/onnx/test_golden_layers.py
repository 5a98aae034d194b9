"""Every layer of the golden corpus as an ONNX model that onnxruntime runs."""

import pytest
from golden_cases import DATA, listed, load_cases
from onnx_running import check_agreement, check_valid, is_free, run_network

from relume.converters.formats import CannotConvert
from relume.converters.graph.variation import candidates, other_size, with_size
from relume.converters.onnx import export

FILES = [
    (section, path.stem)
    for section in ("nn", "rnn", "dpnn", "nngraph")
    for path in sorted((DATA / section).glob("*.t7"))
]
REFUSED = listed("layers_refused_by_onnx.txt")


def cases_of(section, name):
    return [case for case in load_cases(section, name) if case.protocol == "module"]


@pytest.mark.parametrize(("section", "name"), FILES, ids=lambda value: value)
def test_layer_computes_the_same_in_onnx(section, name):
    cases = cases_of(section, name)
    if not cases:
        pytest.skip("no case that is a layer with one input")
    for number, case in enumerate(cases):
        label = f"{section}/{name}/{case.name}".replace(" ", "_")
        if label in REFUSED:
            with pytest.raises(CannotConvert):
                export(case.module, case.input)
            continue
        # Free sizes are looked for in the first case: they take many runs.
        model = export(case.module, case.input, dynamic=number == 0)
        check_valid(model)
        check_agreement(case.module, model, case.input)
        check_free_sizes(case.module, model, case.input)


def check_free_sizes(network, model, inputs):
    """The model does the same with inputs of other sizes: the one that was tried when it was
    made, and one that was not."""
    for axis in candidates(inputs):
        if is_free(model, axis.places):
            tried = other_size(axis)
            check_agreement(network, model, with_size(inputs, axis, tried))
            other = with_size(inputs, axis, tried + (axis.size if axis.is_spatial else 3))
            if takes(network, other):
                check_agreement(network, model, other)


def takes(network, inputs):
    """Some networks take multiples of a size only."""
    try:
        run_network(network, inputs)
    except (ValueError, IndexError, RuntimeError):
        return False
    return True
