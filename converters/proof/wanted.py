"""What a network may take: kinds of inputs, worked out from the layers at its beginning.

Nothing here runs a layer. A layer that says what it needs (the columns of a Linear's weight, the
planes of a convolution) gives candidates; one that changes shapes turns the candidates of what
follows it round; and the rest is tried in `inputs.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from relume.converters.proof.candidates import (
    STEPS,
    Candidate,
    Numbers,
    features,
    frames,
    generic,
    indices,
    planes,
    tables,
    unique,
    volumes,
)
from relume.converters.proof.turning import TURNS, inserted, number

__all__ = ["sizes_inside", "wanted"]

MOST = 400  # candidates of one network
FEW = 5  # candidates that are combined with those of other inputs


def wanted(module: Any) -> list[Candidate]:
    """What a module may take, the likeliest first; an empty list when nothing tells.

    >>> from relume import legacy_nn as nn
    >>> net = nn.Sequential().add(nn.Tanh()).add(nn.Linear(3, 2))
    >>> [str(candidate) for candidate in wanted(net)]
    ['2x3', '3', '2x5x3']
    """
    return unique(itertools.islice(in_a_row([module]), MOST))


def of_module(module: Any) -> Iterable[Candidate]:
    for cls in type(module).__mro__:
        rule = RULES.get(vars(cls).get("torch_typename", ""))
        if rule is not None:
            return rule(module)
    return of_unknown(module)


def of_unknown(module: Any) -> Iterable[Candidate]:
    """A class without a rule: from what its fields are called, its weight, or what it holds."""
    size = number(module, "inputSize") or number(module, "input_size")
    if size:
        return features(size)
    inner = list(children(module))
    if inner:
        return in_a_row(inner)
    weight = getattr(module, "weight", None)
    shape: tuple[int, ...] = getattr(weight, "shape", ())
    if len(shape) == 2:
        return features(shape[1])
    return planes(shape[1]) if len(shape) == 4 else ()


def children(module: Any) -> list[Any]:
    return module.children() if hasattr(module, "children") else []


# ---- several layers ----


def in_a_row(layers: list[Any]) -> Iterable[Candidate]:
    """What the first of some layers takes that follow one another."""
    for position, layer in enumerate(layers):
        name = getattr(layer, "torch_typename", "")
        turn = TURNS.get(name)
        if turn is not None:
            return turn(layer, list(in_a_row(layers[position + 1 :])))
        found = list(of_module(layer))
        if found or name not in TRANSPARENT:
            return found
    return []


def of_sequential(module: Any) -> Iterable[Candidate]:
    return in_a_row(children(module))


def of_branches(module: Any) -> Iterable[Candidate]:
    """All children get the same input: what any of them wants, in turn."""
    found = [list(in_a_row([child])) for child in children(module)]
    known = sorted((f for f in found if f), key=len)
    return itertools.chain.from_iterable(known)


def of_parallel_table(module: Any) -> Iterable[Candidate]:
    """Each child its element."""
    return combined([list(of_module(child)) for child in children(module)])


def combined(found: list[list[Candidate]], states: Iterable[Candidate] = ()) -> Iterable[Candidate]:
    """Tables whose elements come from these lists: equal lists give equal elements. Where nothing
    is known stands what is known elsewhere, as the states of recurrent cells are of one size; then
    one of `states`."""
    known = [candidates for candidates in found if candidates]
    kinds = unique_lists(known)
    states = [
        *(c for candidates in kinds for c in candidates[:FEW] if is_float(c)),
        *states,
        *generic(),
    ]
    for chosen in itertools.product(*[candidates[:FEW] for candidates in kinds]):
        of_kind = dict(zip(map(repr, kinds), chosen, strict=True))
        table = [of_kind.get(repr(candidates)) for candidates in found]
        if None not in table:
            yield table
            continue
        for state in unique([*filter(is_float, reversed(chosen)), *states]):
            yield [state if element is None else element for element in table]


def unique_lists(lists: list[list[Candidate]]) -> list[list[Candidate]]:
    return list({repr(candidates): candidates for candidates in lists}.values())


def is_float(candidate: Candidate) -> bool:
    return isinstance(candidate, Numbers) and not candidate.largest


def of_parallel(module: Any) -> Iterable[Candidate]:
    inner = children(module)
    found = list(of_module(inner[0])) if inner else []
    place = number(module, "inputDimension") - 1
    return [inserted(candidate, place, len(inner)) for candidate in found or generic()]


def of_map_table(module: Any) -> Iterable[Candidate]:
    return [[candidate] * 2 for candidate in in_a_row(children(module)[:1]) or generic()]


def of_sequencer(module: Any) -> Iterable[Candidate]:
    steps = list(in_a_row(children(module)[:1])) or generic()
    tables = [[candidate] * 3 for candidate in steps]
    tensors = [inserted(candidate, 0, 3) for candidate in steps]
    return itertools.chain.from_iterable(zip(tables, tensors, strict=True))


def of_graph(module: Any) -> Iterable[Candidate]:
    """A gModule: for each input, what the first layer behind it wants."""
    steps = module.steps()
    start = next((step for step in steps if not step.sources), None)
    if start is None:
        return []
    return of_value(start, steps, number(module, "nInputs"), list(sizes_inside(module)))


def of_value(
    step: Any, steps: list[Any], least: int, sizes: list[Candidate]
) -> Iterable[Candidate]:
    """What a node of a graph may give: a table where its elements are taken out of it.

    Args:
        least: elements of that table.
        sizes: for elements of which nothing is known.
    """
    whole = {step.index}  # nodes that pass the whole value on
    found: dict[int, list[Candidate]] = {}
    for taker in steps:
        if len(taker.sources) == 1 and taker.sources[0] in whole:
            if taker.select is not None:
                found.setdefault(int(taker.select), list(of_value(taker, steps, 0, sizes)))
            elif taker.data.get("module") is None:
                whole.add(taker.index)
    if not found and least <= 1:
        return behind(step, steps)
    known = [found.get(place, []) for place in range(1, max([least, *found]) + 1)]
    return combined(known, sizes)


def behind(step: Any, steps: list[Any]) -> Iterable[Candidate]:
    """What the layers that get a node's value want; layers that keep shapes are passed."""
    waiting, seen = [step], {step.index}
    while waiting:
        current = waiting.pop(0)
        for taker in steps:
            if current.index not in taker.sources or taker.index in seen:
                continue
            seen.add(taker.index)
            layer = taker.data.get("module")
            name = getattr(layer, "torch_typename", "")
            if len(taker.sources) == 1 and layer is not None:
                found = list(in_a_row([layer]))
                if found and name not in TURNS:
                    return found
            if layer is None or name in TRANSPARENT or len(taker.sources) > 1 or name in TURNS:
                waiting.append(taker)
    return []


def sizes_inside(network: Any) -> list[Candidate]:
    """For a network whose beginning tells nothing: the sizes of parameters anywhere in it."""
    parameters, _ = network.parameters()
    sizes = [size for parameter in parameters for size in reversed(parameter.shape) if size > 1]
    found = [features(size) for size in list(dict.fromkeys(sizes))[:12]]
    return [candidate for candidates in zip(*found, strict=True) for candidate in candidates]


TRANSPARENT = frozenset(
    """nn.Identity nn.Copy nn.Contiguous nn.Dropout nn.SpatialDropout nn.VolumetricDropout nn.ReLU
    nn.ReLU6 nn.Threshold nn.Tanh nn.Sigmoid nn.HardTanh nn.SoftMax nn.LogSoftMax nn.LeakyReLU
    nn.ELU nn.PReLU nn.Square nn.Sqrt nn.Power nn.Abs nn.Exp nn.Log nn.Clamp nn.MulConstant
    nn.AddConstant nn.Mul nn.Add nn.CMul nn.CAdd nn.SoftPlus nn.SoftSign nn.SpatialZeroPadding
    nn.SpatialReflectionPadding nn.SpatialReplicationPadding nn.SpatialPadding nn.Padding
    nn.SpatialMaxPooling nn.SpatialAveragePooling nn.SpatialUpSamplingNearest nn.Normalize
    nn.SpatialUpSamplingBilinear nn.SpatialCrossMapLRN nn.GradientReversal nn.WhiteNoise
    nn.MaskZero nn.TrimZero nn.PrintSize nn.Convert nn.Bottle nn.L1Penalty
    nn.SpatialCrossResponseNormalization nn.ImageTransformer nn.TotalVariation""".split()
)


# ---- layers that say what they take ----

Rule = Callable[[Any], Iterable[Candidate]]


def columns_of(module: Any) -> Iterable[Candidate]:
    weight = module.weight if module.weight.numel() else module.v
    return features(weight.shape[1])


def planes_of(module: Any) -> Iterable[Candidate]:
    return planes(number(module, "nInputPlane"))


def two(*shapes: tuple[int, ...]) -> Rule:
    return lambda module: tables(2, shapes)


def of_bilinear(module: Any) -> Iterable[Candidate]:
    sizes = module.weight.shape
    return [[Numbers((2, sizes[1])), Numbers((2, sizes[2]))]]


def of_partial(module: Any) -> Iterable[Candidate]:
    weight = module.weight if module.weight is not None else module.network.get(1).weight
    return features(weight.shape[1])


def of_map_convolution(module: Any) -> Iterable[Candidate]:
    return planes(number(module, "nInputPlane") or int(module.connTable[:, 0].max().item()))


def of_frames(module: Any) -> Iterable[Candidate]:
    return frames(number(module, "inputFrameSize"), number(module, "kW"))


def of_normalization(module: Any) -> Iterable[Candidate]:
    return features(module.running_mean.shape[0])


def of_plane_normalization(module: Any) -> Iterable[Candidate]:
    return planes(module.running_mean.shape[0])


def of_volume_normalization(module: Any) -> Iterable[Candidate]:
    return volumes(module.running_mean.shape[0])


def of_local_normalization(module: Any) -> Iterable[Candidate]:
    return planes(number(module, "nInputPlane") or number(module, "nInputPlanes") or 1)


def of_mixture(module: Any) -> Iterable[Candidate]:
    return [[Numbers((2, 3)), [Numbers((2, 4))] * 3]]


def of_lookup(module: Any) -> Iterable[Candidate]:
    return indices(module.weight.shape[0])


def of_one_hot(module: Any) -> Iterable[Candidate]:
    return indices(number(module, "outputSize"))


def of_recurrent(module: Any) -> Iterable[Candidate]:
    size = number(module, "inputSize") or number(module, "inputsize")
    if size:
        return [Numbers((2, size)), Numbers((size,)), Numbers((STEPS, 2, size))]
    return of_unknown(module)


def of_step(module: Any) -> Iterable[Candidate]:
    """A recurrent network around a module for one step: what that takes beside the state."""
    inner = vars(module).get("inputModule") or vars(module).get("recurrentModule")
    found = list(in_a_row([inner])) if inner is not None else []
    return [candidate[0] if isinstance(candidate, list) else candidate for candidate in found]


def of_whole_sequence(module: Any) -> Iterable[Candidate]:
    """A sequence at once; a layer of two directions has layers inside that say the size."""
    names = ("inputSize", "inputsize", "input_dim", "inputDim")
    found = (number(layer, name) for layer in module.walk() for name in names)
    size = next(filter(None, found), 0)
    return [Numbers((STEPS, 2, size)), Numbers((2, STEPS, size)), Numbers((STEPS, size))]


def of_local_planes(module: Any) -> Iterable[Candidate]:
    shape = (number(module, "nInputPlane"), number(module, "iH"), number(module, "iW"))
    return [Numbers((2, *shape)), Numbers(shape)]


def of_sparse(module: Any) -> Iterable[Candidate]:
    """Pairs of a position and a value per sample, as whole numbers will do."""
    size = module.weight.shape[1]
    return [Numbers((3, 2), size), [Numbers((3, 2), size)] * 2]


def of_masked_select(module: Any) -> Iterable[Candidate]:
    return [[Numbers(shape), Numbers(shape, is_mask=True)] for shape in ((3, 4), (4,))]


def of_criterion_table(module: Any) -> Iterable[Candidate]:
    """An input and a target: numbers, or classes."""
    kinds = {"Margin": [Numbers((4,)), Numbers((4,))], "NLL": [Numbers((2, 4)), Numbers((2,), 4)]}
    name = getattr(module.criterion, "torch_typename", "")
    likely = [candidate for word, candidate in kinds.items() if word in name]
    return [*likely, *tables(2, [(2, 4), (4,)]), *kinds.values()]


def of_contrast(module: Any) -> Iterable[Candidate]:
    """Noise-contrastive estimation: samples, and the class of each."""
    classes, size = module.weight.shape
    return [[Numbers((2, size)), Numbers((2,), classes)]]


def of_index_linear(module: Any) -> Iterable[Candidate]:
    size = module.weight.shape[0]
    return [[Numbers((3,), size), Numbers((3,))], [[Numbers((3,), size)], [Numbers((3,))]]]


RULES: dict[str, Rule] = {
    "nn.Sequential": of_sequential,
    **dict.fromkeys(("nn.Concat", "nn.ConcatTable", "nn.DepthConcat"), of_branches),
    "nn.ParallelTable": of_parallel_table,
    "nn.Parallel": of_parallel,
    "nn.MapTable": of_map_table,
    "nn.gModule": of_graph,
    **dict.fromkeys(("nn.Sequencer", "nn.BiSequencer", "nn.Repeater"), of_sequencer),
    **dict.fromkeys(
        ("nn.Linear", "nn.LinearWeightNorm", "nn.Cosine", "nn.HashedLinear"), columns_of
    ),
    "nn.Euclidean": lambda m: features(m.weight.shape[0]),
    "nn.WeightedEuclidean": lambda m: features(m.weight.shape[0]),
    "nn.PartialLinear": of_partial,
    "nn.SparseLinear": of_sparse,
    "nn.IndexLinear": of_index_linear,
    "nn.MaskedSelect": of_masked_select,
    "nn.CriterionTable": of_criterion_table,
    "nn.NCEModule": of_contrast,
    "nn.CAddTensorTable": lambda m: [[Numbers((2, 4)), [Numbers((2, 4))] * 2]],
    "nn.Bilinear": of_bilinear,
    "nn.Add": lambda m: features(m.bias.numel()),
    "nn.PReLU": lambda m: [
        *planes(number(m, "nOutputPlane")),
        *features(number(m, "nOutputPlane")),
    ],
    "nn.AddConstant": lambda m: (
        features(m.constant_scalar.numel()) if hasattr(m.constant_scalar, "numel") else []
    ),
    "nn.CMul": lambda m: [Numbers((2, *m.weight.shape)), Numbers(tuple(m.weight.shape))],
    "nn.CAdd": lambda m: [Numbers((2, *m.bias.shape)), Numbers(tuple(m.bias.shape))],
    **dict.fromkeys(
        """nn.SpatialConvolution nn.SpatialConvolutionMM nn.SpatialFullConvolution
        nn.SpatialDilatedConvolution nn.SpatialDepthWiseConvolution
        nn.SpatialSubSampling""".split(),
        planes_of,
    ),
    "nn.SpatialConvolutionLocal": of_local_planes,
    **dict.fromkeys(
        ("nn.SpatialConvolutionMap", "nn.SpatialFullConvolutionMap"), of_map_convolution
    ),
    **dict.fromkeys(
        ("nn.TemporalConvolution", "nn.TemporalRowConvolution", "nn.TemporalSubSampling"), of_frames
    ),
    **dict.fromkeys(
        ("nn.VolumetricConvolution", "nn.VolumetricFullConvolution"),
        lambda m: volumes(number(m, "nInputPlane")),
    ),
    "nn.BatchNormalization": of_normalization,
    "nn.SpatialBatchNormalization": of_plane_normalization,
    "nn.VolumetricBatchNormalization": of_volume_normalization,
    **dict.fromkeys(
        """nn.SpatialContrastiveNormalization nn.SpatialSubtractiveNormalization
        nn.SpatialDivisiveNormalization nn.SpatialNormalization""".split(),
        of_local_normalization,
    ),
    "nn.LookupTable": of_lookup,
    **dict.fromkeys(("nn.OneHot", "OneHot"), of_one_hot),
    **dict.fromkeys(
        "nn.DotProduct nn.CosineDistance nn.PairwiseDistance nn.CrossResponse".split(),
        two((2, 4), (4,)),
    ),
    "nn.MM": two((3, 4, 4), (4, 4)),
    "nn.MV": lambda m: [[Numbers((2, 4, 4)), Numbers((2, 4))], [Numbers((4, 4)), Numbers((4,))]],
    "nn.MixtureTable": of_mixture,
    "nn.Index": lambda m: [[Numbers((4, 4)), Numbers((3,), 4)]],
    "nn.NarrowTable": lambda m: tables(number(m, "offset") + number(m, "length"), [(2, 4)]),
    "nn.ZipTable": lambda m: [[[Numbers((2, 4))] * 2] * 2],
    "nn.ZipTableOneToMany": lambda m: [[Numbers((2, 4)), [Numbers((2, 4))] * 2]],
    "nn.PixelShuffle": lambda m: planes(2 * number(m, "upscaleFactor") ** 2),
    **dict.fromkeys(("nn.SeqLSTM", "nn.SeqGRU", "nn.SeqBRNN", "cudnn.RNN"), of_whole_sequence),
    **dict.fromkeys(("nn.Recurrent", "nn.Recurrence"), of_step),
    "nn.AbstractRecurrent": of_recurrent,
    "nn.SpatialLinear": lambda m: planes(m.weight.shape[1]),
    "nn.SpatialGlimpse": lambda m: [[Numbers((2, 3, 20, 20)), Numbers((2, 2))]],
}
