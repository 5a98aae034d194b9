"""Package rnn: cells, what runs them over sequences, and layers over whole sequences."""

from __future__ import annotations

from typing import Any

from relume import Storage
from relume.converters.pytorch.families.fields import given, number, weights
from relume.converters.pytorch.layers import Call, Cannot, Weight
from relume.converters.pytorch.rules import Code, rule
from relume.legacy_nn import nested
from relume.legacy_nn.rnn.sequencer import REMEMBERING
from relume.legacy_nn.types import sizes_of


def check_untold(layer: Any) -> None:
    """Layers that are told from outside which samples are zeros cannot stand alone."""
    if (
        layer.__dict__.get("startState") is not None
        or layer.__dict__.get("userPrevOutput") is not None
    ):
        raise Cannot("its first state was set by setStartState or userPrevOutput")


# ---- cells ----


def step_cell(layer: Any, around: Any, *sizes: int) -> Call:
    """A recurrent layer as the cell of one step and what keeps its states."""
    check_untold(layer)
    names = ("x", *("output", "cell")[: len(sizes)])
    cell = around.builder.flat_class(layer.recurrentModule, "Cell", names)
    states = {f"size{place}": size for place, size in enumerate(sizes)}
    return Call("RecurrentCell", {"cell": cell, **states}, 1 + len(sizes))


@rule("nn.LSTM")
def lstm(layer: Any, around: Any) -> Call:
    size = int(layer.outputSize)
    return step_cell(layer, around, size, size)


@rule("nn.GRU", "nn.MuFuRu")
def gru(layer: Any, around: Any) -> Call:
    return step_cell(layer, around, int(layer.outputSize))


def linear_weights(name: str, layer: Any) -> list[Weight]:
    return [
        Weight(f"{name}.{weight.name}", weight.tensors)
        for weight in weights(layer, "weight", "bias")
    ]


@rule("nn.FastLSTM")
def fast_lstm(layer: Any, around: Any) -> Call:
    size = int(layer.outputSize)
    plain = not layer.p and layer.recurrentModule.torch_typename == "nn.Sequential"
    if not plain or "i2g" not in layer.__dict__:
        return step_cell(layer, around, size, size)
    check_untold(layer)
    linears = layer.recurrentModule.find_modules("nn.Linear")
    linears += layer.recurrentModule.find_modules("nn.LinearNoBias")
    if len(linears) != 2:
        return step_cell(layer, around, size, size)
    held = linear_weights("from_input", linears[0]) + linear_weights("from_output", linears[1])
    arguments = {"input_size": int(layer.inputSize), "hidden_size": size}
    cell = Call("FastLSTMCell", arguments, 2, tuple(held))
    return Call("RecurrentCell", {"cell": cell, "size0": size, "size1": size}, 3)


@rule("nn.Recurrence", "nn.LinearRNN", "nn.LookupRNN")
def recurrence(layer: Any, around: Any) -> Call:
    check_untold(layer)
    arguments = {
        "layer": around.call(layer.recurrentModule),
        "shape": shape_of(layer.outputSize),
        "sample_dims": int(layer.nInputDim),
    }
    return Call("Recurrence", arguments, 1)


def shape_of(size: Any) -> tuple:
    """The size of an output, or a tuple of those of its parts."""
    if isinstance(size, (int, float)):
        return (int(size),)
    parts = [] if isinstance(size, Storage) else nested.elements(size)
    if parts and not isinstance(parts[0], (int, float)):
        return tuple(shape_of(part) for part in parts)
    return tuple(int(n) for n in sizes_of(size))


@rule("nn.Recurrent")
def recurrent(layer: Any, around: Any) -> Call:
    names = ("start", "input", "feedback", "merge", "transfer")
    arguments = {name: around.call(getattr(layer, f"{name}Module")) for name in names}
    return Call("SimpleRecurrent", arguments)


@rule("nn.Recursor")
def recursor(layer: Any, around: Any) -> Call | Code:
    return around.rule(layer.recurrentModule, around.after)


@rule("nn.NormStabilizer")
def norm_stabilizer(layer: Any, around: Any) -> Call:
    return Call("NormStabilizer", {"beta": number(layer.beta)}, 1)


# ---- cells with the weights of whole-sequence layers ----


def mask_option(layer: Any) -> dict[str, Any]:
    if not layer.maskzero:
        return {}
    if layer.v2:
        raise Cannot("it is told from outside which samples are zeros (setZeroMask)")
    return {"mask_zero": True}


def lstm_step(layer: Any) -> Call:
    """The cell of SeqLSTM, StepLSTM and RecLSTM."""
    hidden = layer.weight.shape[1] // 4
    projected = layer.weightO is not None
    output = layer.weightO.shape[1] if projected else hidden
    arguments = {
        "input_size": layer.weight.shape[0] - output,
        "hidden_size": hidden,
        **given(output_size=output if projected else None),
        **mask_option(layer),
    }
    held = list(weights(layer, "weight", "bias"))
    if projected:
        held.append(Weight("projection", (layer.weightO,)))
    return Call("StepLSTM", arguments, 2, tuple(held))


def gru_step(layer: Any) -> Call:
    hidden = layer.weight.shape[1] // 3
    arguments = {
        "input_size": layer.weight.shape[0] - hidden,
        "hidden_size": hidden,
        **mask_option(layer),
    }
    return Call("StepGRU", arguments, 2, weights(layer, "weight", "bias"))


def gate_cell(helper: str, inputs: int, hidden: int, layer: Any) -> Call:
    """A cell whose weight and bias are those of a layer."""
    arguments = {"input_size": inputs, "hidden_size": hidden}
    return Call(helper, arguments, 2, weights(layer, "weight", "bias"))


@rule("nn.StepLSTM")
def step_lstm(layer: Any, around: Any) -> Call:
    return lstm_step(layer)


@rule("nn.StepGRU")
def step_gru(layer: Any, around: Any) -> Call:
    return gru_step(layer)


@rule("nn.RecLSTM", "nn.RecGRU")
def rec_cell(layer: Any, around: Any) -> Call:
    sizes = [int(getattr(layer, state.size)) for state in layer.states]
    return step_cell(layer, around, *sizes)


# ---- over sequences ----


def remembers(layer: Any) -> dict[str, Any]:
    """When a sequence goes on where the one before ended, where it does."""
    mode = REMEMBERING[layer.__dict__.get("_remember") or "neither"]
    return given(remembers=None if mode == (False, False) else mode)


@rule("nn.Sequencer")
def sequencer(layer: Any, around: Any) -> Call:
    return Call("Sequencer", {"layer": around.call(layer.modules[0]), **remembers(layer)}, 1)


@rule("nn.Repeater")
def repeater(layer: Any, around: Any) -> Call:
    return Call("Repeater", {"layer": around.call(layer.modules[0]), "steps": int(layer.rho)}, 2)


@rule("nn.BiSequencer", "nn.SeqBRNN", "nn.SeqBLSTM", "nn.SeqBGRU")
def both_directions(layer: Any, around: Any) -> Call | Code:
    return around.rule(layer.modules[0], around.after)


@rule("nn.BiSequencerLM")
def language_directions(layer: Any, around: Any) -> Call:
    names = ("ahead", "behind", "merge")
    modules = layer.modules
    arguments = {n: around.call(m) for n, m in zip(names, modules, strict=True)}
    return Call("ShiftedDirections", arguments, 3)


@rule("nn.SeqLSTM", "nn.SeqLSTMP")
def seq_lstm(layer: Any, around: Any) -> Call:
    cell = lstm_step(layer)
    hidden, output = cell.arguments["hidden_size"], cell.arguments.get("output_size")
    sizes = {"size0": output or hidden, "size1": hidden}
    return sequence_of(layer, cell, sizes)


@rule("nn.SeqGRU")
def seq_gru(layer: Any, around: Any) -> Call:
    cell = gru_step(layer)
    return sequence_of(layer, cell, {"size0": cell.arguments["hidden_size"]})


def sequence_of(layer: Any, cell: Call, sizes: dict[str, int]) -> Call:
    options = given(batch_first=True if layer.batchfirst else None)
    arguments = {"cell": cell, **sizes, **options, **remembers(layer)}
    return Call("SequenceOf", arguments, 1 + len(sizes))


# ---- small layers ----


@rule("nn.MaskZero", "nn.TrimZero")
def mask_zero(layer: Any, around: Any) -> Call:
    if layer.v2 or layer.maskinput:
        raise Cannot("it is told from outside which samples are zeros (setZeroMask)")
    dims = layer.nInputDim
    if dims is None:
        raise Cannot("it does not say how many dimensions a sample has")
    inner = around.call(layer.modules[0])
    return Call("MaskZero", {"layer": inner, "sample_dims": int(dims)}, 2)


@rule("nn.LookupTableMaskZero")
def masked_lookup(layer: Any, around: Any) -> Call:
    rows, size = layer.weight.shape
    arguments = {"num_embeddings": rows, "embedding_dim": size}
    return Call("MaskedEmbedding", arguments, 2, weights(layer, "weight"))


@rule("nn.SAdd")
def sum_with_number(layer: Any, around: Any) -> Call:
    addend = number(layer.addend)
    negate = given(negate=True if layer.negate else None)
    code = f"{-addend} - {{0}}" if layer.negate else f"{{0}} + {addend}"
    return Call("SumWithNumber", {"addend": addend, **negate}, 1, code=code)


@rule("nn.CopyGrad")
def copy_gradient(layer: Any, around: Any) -> Call:
    return Call("nn.Identity", code="{0}")


@rule("nn.SeqReverseSequence")
def reverse_sequence(layer: Any, around: Any) -> Call:
    dim = int(layer.dim) - 1
    return Call("Flip", {"dim": dim}, 1, code=f"{{0}}.flip({dim})")


@rule("nn.ReverseTable")
def reverse_table(layer: Any, around: Any) -> Code:
    def write(scope: Any, value: Any) -> Any:
        if isinstance(value, tuple):
            return value[::-1]
        return scope.body.assign("", "{0}[::-1]", value)

    return Code(write)


@rule("dropout:nn.Dropout")
def lasting_dropout(layer: Any, around: Any) -> Call:
    """package rnn's nn.Dropout, whose mask may last for a sequence or be one for a batch."""
    if not layer.p:
        return Call("nn.Identity", code="{0}")
    if not layer.lazy and not layer.mono:
        return Call("nn.Dropout" if layer.v2 else "OldDropout", {"p": number(layer.p)}, 1)
    options = {
        "lasts": True if layer.lazy else None,
        "one_for_all": True if layer.mono else None,
        "scales": None if layer.v2 else False,
    }
    return Call("SequenceDropout", {"p": number(layer.p), **given(**options)}, 1)
