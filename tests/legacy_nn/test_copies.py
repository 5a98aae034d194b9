"""Copies, files, casts and clearState change nothing that a layer computes."""

import pickle

import pytest
from golden_cases import DATA, TOLERANCE, copy_of, difference, load_cases

import relume as rl

CLASSES = [
    *(f"nn/{name}" for name in ("Convert", "DontCast", "GPU", "Kmeans", "LinearWeightNorm")),
    *(f"nn/{name}" for name in ("NaN", "PartialLinear", "Profile", "SparseLinear", "WeightNorm")),
    *sorted(f"dpnn/{path.stem}" for path in (DATA / "dpnn").glob("*.t7")),
]


def through_flat_parameters(layer):
    layer.getParameters()
    return layer


def through_casts(layer):
    typename = layer.type()
    return layer.float().double().type(typename)


def cleared(layer):
    return layer.clearState()


WAYS = {
    "clone": lambda layer: layer.clone(),
    "file": lambda layer: rl.loads(rl.dumps(layer)),
    "pickle": lambda layer: pickle.loads(pickle.dumps(layer)),
    "getParameters": through_flat_parameters,
    "casts": through_casts,
    "clearState": cleared,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CLASSES)
def test_layers_stay_as_they_are(name, way):
    for case in load_cases(*name.split("/")):
        if case.protocol == "module":
            run(case, WAYS[way](case.module), 1e-5 if way == "casts" else TOLERANCE[case.type])


def run(case, layer, tolerance):
    tolerance = max(tolerance, TOLERANCE[getattr(layer, "moduleType", case.type)])
    rl.manual_seed(int(case.seed))
    assert difference(layer.forward(case.input), case.output) <= tolerance
    if not case.get("nobackward"):
        gradient = layer.backward(case.input, copy_of(case.gradOutput))
        assert difference(gradient, case.gradInput) <= tolerance
