"""The second derivative of every layer and criterion, from the inputs of the golden cases."""

import pytest
from golden_cases import DATA, is_table, load_cases, values_of

import relume as rl
from relume import legacy_nn as nn

LARGEST = 24  # elements of an input: a check takes the square of it
SECTIONS = ("nn", "nngraph", "rnn", "dpnn")
# Where what goes back is not the derivative of what comes out, and should not be.
NOT_A_DERIVATIVE = {
    "BinaryClassReward", "CategoricalEntropy", "CriterionTable", "L1Penalty", "GradientReversal",
    "NCECriterion", "ReinforceBernoulli", "ReinforceCategorical", "ReinforceGamma",
    "ReinforceNormal", "SpatialBinaryConvolution", "VRClassReward",
}  # fmt: skip
# Outputs of another type, inputs that are indices, rows that count as absent when all zero,
# sizes that are remembered.
NOT_SMOOTH = {
    "Copy", "IndexLinear", "LookupTable", "MaskZero", "MaskZeroCriterion", "SparseLinear",
    "TrimZero",
}  # fmt: skip
NOT_SMOOTH_CASES = {
    ("gModule", "criterion as a node"),  # no gradient goes to a target
    ("SeqGRU", "maskzero"),
    ("SeqLSTM", "maskzero"),
    ("SeqLSTMP", "maskzero"),
    ("Profile", "silent"),
}
# Layers that write Torch7's methods themselves cannot be differentiated twice, and say so.
SAYS_SO = "cannot be differentiated again"


def flat(value):
    if isinstance(value, rl.Tensor):
        return [value]
    return [t for element in values_of(value) for t in flat(element)] if is_table(value) else []


def rebuilt(value, leaves):
    """An input with other doubles in it."""
    if isinstance(value, rl.Tensor):
        return next(leaves) if value.dtype == rl.float64 else value
    return [rebuilt(e, leaves) for e in values_of(value)] if is_table(value) else value


def is_suitable(case):
    tensors = flat(case.get("input"))
    return (
        case.protocol in ("module", "criterion")
        and case.get("type") == "torch.DoubleTensor"
        and any(tensor.dtype == rl.float64 for tensor in tensors)
        and sum(tensor.numel() for tensor in tensors) <= LARGEST
        and not case.get("inplace")
        and not case.get("nobackward")
    )


def small_cases():
    """The first small case of every class of nn, all small cases of the others."""
    for section in SECTIONS:
        for path in sorted((DATA / section).glob("*.t7")):
            name = path.stem
            is_known = section == "nngraph" or nn.lookup(f"nn.{name}") is not None
            if not is_known or name in NOT_A_DERIVATIVE | NOT_SMOOTH:
                continue
            cases = list(rl.load(path).cases)
            found = [
                (index, case)
                for index, case in enumerate(cases)
                if is_suitable(case) and (name, case.name) not in NOT_SMOOTH_CASES
            ]
            for index, case in found[: 1 if section == "nn" else 2]:
                yield pytest.param(section, name, index, id=f"{section}-{name}-{case.name}")


@pytest.mark.filterwarnings("ignore")  # GPU.t7 holds two objects
@pytest.mark.parametrize(("section", "name", "index"), list(small_cases()))
def test_second_derivative(section, name, index):
    case = load_cases(section, name)[index]
    layer = case.criterion if case.protocol == "criterion" else case.module
    arguments = [case.get("target")] if case.protocol == "criterion" else []

    def function(*leaves):
        rl.manual_seed(int(case.seed))
        output = layer(rebuilt(case.input, iter(leaves)), *arguments)
        return tuple(tensor for tensor in flat(output) if tensor.requires_grad)

    leaves = [t.clone().requires_grad_() for t in flat(case.input) if t.dtype == rl.float64]
    if not function(*leaves):
        pytest.skip("passes no gradient to its input")
    try:
        rl.autograd.gradgradcheck(function, leaves)
    except RuntimeError as error:
        if SAYS_SO not in str(error):
            raise
        pytest.skip(f"writes its own backward: {SAYS_SO}")


def test_own_backward_methods_refuse_a_second_derivative():
    class Cube(nn.Module):
        def updateOutput(self, input):
            self.output = input**3
            return self.output

        def updateGradInput(self, input, gradOutput):
            self.gradInput = gradOutput * 3 * input**2
            return self.gradInput

    x = rl.tensor([2.0], dtype=rl.float64, requires_grad=True)
    (first,) = rl.grad(Cube()(x), x, create_graph=True)
    assert first.tolist() == [12.0]
    with pytest.raises(RuntimeError, match=SAYS_SO):
        rl.grad(first, x)
