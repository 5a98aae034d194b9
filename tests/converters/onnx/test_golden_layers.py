"""Every layer of the golden corpus as an ONNX model that onnxruntime runs."""

import pytest
from golden_cases import DATA, listed, load_cases
from onnx_running import check_agreement, check_valid, is_free

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
    """The model does the same with inputs of another size."""
    for axis in candidates(inputs):
        if is_free(model, axis.places):
            check_agreement(network, model, with_size(inputs, axis, other_size(axis)))
