"""From a tree of old layers to classes of PyTorch source.

Every old class has a rule (see `rules`). A rule gives a `Call`, the constructor of one layer, or
`Code`, a function that writes statements into the forward function around it. A container whose
layers are all constructors becomes an `nn.Sequential`; any other gets a class of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from relume.converters.formats import Refusal
from relume.converters.pytorch.classes import ClassSource
from relume.converters.pytorch.layers import Call, Cannot
from relume.converters.pytorch.rules import Code, rule_of
from relume.converters.pytorch.statements import Body, Value, identifier, variables_in
from relume.converters.pytorch.traced import Example, traced_call
from relume.converters.torch_object import TorchObject
from relume.legacy_nn.container import Sequential
from relume.legacy_nn.criterion import Criterion
from relume.legacy_nn.module_tree import ModuleTree

__all__ = ["Builder", "Scope"]


def typename(module: Any) -> str:
    if isinstance(module, TorchObject):
        return str(module.torch_typename)
    return str(getattr(module, "torch_typename", type(module).__name__))


NO_COUNTERPART = "there is no counterpart"
UNKNOWN = "its class is not known here: register it in Python, or convert what is around it"


class Builder:
    """Turns layers into constructors, and remembers what cannot be turned.

    Args:
        root: the network.
        examples: what layers without a rule got in a run; see `traced`.
    """

    def __init__(self, root: Any, examples: Mapping[int, Example] | None = None) -> None:
        self._examples = examples or {}
        self._refused: Counter[tuple[str, str]] = Counter()
        self._pooled = pooling_layers(root)
        self._made: dict[tuple[int, int], Call | Code] = {}
        self._written: dict[int, Call] = {}
        self.links: list[Link] = []

    def refusals(self) -> list[Refusal]:
        """What cannot be converted, as often as it was met."""
        return [Refusal(name, n, reason) for (name, reason), n in self._refused.items()]

    def refuse(self, module: Any, reason: str) -> Call:
        self._refused[typename(module), reason] += 1
        return Call("nn.Identity")

    def rule(self, module: Any, after: Any = None) -> Call | Code:
        """What a layer becomes.

        Args:
            module: the layer.
            after: the layer whose output it gets, where that is known.
        """
        key = (id(module), id(after))
        if key not in self._made:
            self._made[key] = self._make(module, after)
        return self._made[key]

    def _make(self, module: Any, after: Any) -> Call | Code:
        found = rule_of(module)
        if found is None and id(module) in self._examples:
            return self._traced(module)
        if found is None:
            is_known = not isinstance(module, TorchObject)
            return self.refuse(module, NO_COUNTERPART if is_known else UNKNOWN)
        try:
            made = found(module, Around(self, after))
        except Cannot as error:
            return self.refuse(module, str(error))
        if isinstance(made, Call) and made.origin is None:
            made.origin = module
        return made

    def _traced(self, module: Any) -> Call:
        name = identifier(typename(module).rpartition(".")[2]) or "Layer"
        about = f"{description(module)} As it computes in evaluate mode."
        try:
            return traced_call(module, self._examples[id(module)], name, about)
        except Cannot as error:
            return self.refuse(module, str(error))

    def call(self, module: Any, after: Any = None, hint: str = "") -> Call:
        """A layer as a constructor; of a class of its own when it takes code."""
        made = self.rule(module, after)
        return made if isinstance(made, Call) else self.written(module, made, hint)

    def remembered(self, module: Any, pool: Call) -> Call:
        """A pooling layer; one that notes where its elements came from when that is needed."""
        if id(module) not in self._pooled:
            return pool
        return Call("MaxPoolWithIndices", {"pool": pool}, 1)

    def linked(self, call: Call, attribute: str, other: Any) -> Call:
        """A layer that needs another one of the network as an attribute."""
        self.links.append(Link(call, attribute, other))
        return call

    def written(self, module: Any, code: Code, hint: str = "") -> Call:
        """The constructor of a class that is written for a piece of code."""
        if id(module) not in self._written:
            name = hint or code.class_name or "Block"
            self._written[id(module)] = Call(self.class_of(module, code, name), origin=module)
        return self._written[id(module)]

    def flat_class(self, module: Any, name: str, inputs: tuple[str, ...]) -> Call:
        """The constructor of a class with all code of a layer in one forward function.

        Args:
            module: the layer, which takes a table.
            name: what the class might be called.
            inputs: names for the elements of the table.
        """
        source = ClassSource(name, description(module))
        scope = Scope(self, source, is_flat=True)
        parts = scope.body.unpacked(*inputs)
        for part in parts:
            part.is_tensor = True
        source.lines = scope.body.lines(scope.emit(module, parts))
        return Call(source, origin=module)

    def class_of(self, module: Any, made: Call | Code, name: str) -> ClassSource:
        """A class that does what a layer does."""
        source = ClassSource(name, description(module))
        scope = Scope(self, source)
        if isinstance(module, Criterion) and isinstance(made, Call):
            source.inputs = ("x", "target")
            source.lines = [f"return self.{scope.attribute(made, module)}(x, target)"]
            return source
        if isinstance(made, Call):
            result = scope.apply(made, scope.body.input, module)
        else:
            result = made.write(scope, scope.body.input)
        source.lines = scope.body.lines(result)
        return source


@dataclass(frozen=True)
class Link:
    """`call.attribute` is the layer that stands for the old layer `other`."""

    call: Call
    attribute: str
    other: Any


def pooling_layers(root: Any) -> set[int]:
    """The layers that others undo."""
    found: set[int] = set()
    for module in root.walk() if isinstance(root, ModuleTree) else ():
        pooling = getattr(module, "__dict__", {}).get("pooling")
        if pooling is not None:
            found.add(id(pooling))
    return found


def description(module: Any) -> str:
    name = module.__dict__.get("name") if hasattr(module, "__dict__") else None
    return f"{typename(module)} {name}." if isinstance(name, str) else f"{typename(module)}."


@dataclass(frozen=True)
class Around:
    """What a rule can ask about the surroundings of its layer."""

    builder: Builder
    after: Any

    def call(self, module: Any, after: Any = None) -> Call:
        """The constructor of a layer inside of it."""
        return self.builder.call(module, after)

    def rule(self, module: Any, after: Any = None) -> Call | Code:
        """What a layer inside of it becomes."""
        return self.builder.rule(module, after)

    def part(self, module: Any, after: Any = None) -> Call | Code:
        """What a layer in a chain becomes: larger pieces of code are classes of their own."""
        made = self.builder.rule(module, after)
        if isinstance(made, Code) and made.is_own_class and not is_small(module, self.builder):
            return self.builder.written(module, made)
        return made


class Scope:
    """Where the code of one class is written: its attributes and its forward function."""

    def __init__(self, builder: Builder, source: ClassSource, is_flat: bool = False) -> None:
        self.builder = builder
        self.source = source
        self.body = Body()
        self.is_flat = is_flat  # all code goes here, none into classes of its own
        self._attributes: dict[int, str] = {}  # of layers that are used again
        self._place: list[str] = []

    # ---- where in the tree the code stands ----

    def inside(self, step: int | str, write: Callable[[], Value]) -> Value:
        """Writes with a longer path: attributes are named by the place of their layer."""
        self._place.append(str(step))
        try:
            return write()
        finally:
            self._place.pop()

    # ---- layers ----

    def emit(self, module: Any, value: Value, after: Any = None, hint: str = "") -> Value:
        """Writes the code for a layer that gets `value`; returns what it gives."""
        made = self.builder.rule(module, after)
        if self.is_flat and isinstance(module, Sequential) and isinstance(made, Call):
            made = chain_code(module)
        if isinstance(made, Code):
            if self.is_flat or not made.is_own_class or is_small(module, self.builder):
                return made.write(self, value)
            made = self.builder.written(module, made)
        return self.apply(made, value, module, hint)

    def apply(self, call: Call, value: Value, module: Any, hint: str = "") -> Value:
        """Writes the use of a layer that is an attribute, or its code where that is short."""
        if call.code == "{0}":
            return value
        code = call.code or f"self.{self.attribute(call, module, hint)}({{0}})"
        result = self.body.assign(hint, code, value)
        result.is_tensor = isinstance(call.function, str) and call.function not in GIVING_TABLES
        result.may_broadcast = may_broadcast(call, value)
        return result

    def attribute(self, call: Call, module: Any, hint: str = "") -> str:
        """The attribute that holds a layer; a layer that is used again has it already."""
        name = self._attributes.get(id(module))
        if name is None:
            is_free = hint and hint not in self.source.attributes and hint not in MODULE_NAMES
            name = self._attributes[id(module)] = hint if is_free else self.free_name(call)
            self.source.attributes[name] = call
        return name

    def free_name(self, call: Call) -> str:
        function = call.function if isinstance(call.function, str) else call.function.hint
        base = ATTRIBUTE_NAMES.get(function) or snake_case(function.rpartition(".")[2])
        name = base + ("" if self.is_flat else "_".join(self._place))
        name = f"{name}_" if name in MODULE_NAMES else name
        number = 2
        while name in self.source.attributes:
            place = "" if self.is_flat else f"{'_'.join(self._place)}_"
            name, number = f"{base}{place}{number}", number + 1
        return name


# Constructors of what may give a table.
GIVING_TABLES = frozenset(
    """nn.Sequential nn.Identity Split MapElements Sequencer Repeater ShiftedDirections DenseLayer
    Recurrence SimpleRecurrent MaskZero FastLSTMCell StepLSTM ZeroGrad SequenceDropout""".split()
)
# Layers after which the number of dimensions is a matter of taste.
RESHAPING = frozenset(
    "View Reshape Select Squeeze Unsqueeze Sum Max Min Collapse Bottle Euclidean Cosine".split()
)


def may_broadcast(call: Call, value: Value) -> bool:
    """Could the result of a layer meet tensors of another shape, with as many elements?"""
    if call.function == "nn.Linear":
        return call.arguments["out_features"] == 1
    if call.code is not None:
        return any(variable.may_broadcast for variable in variables_in(value))
    return call.function in RESHAPING


# Attributes that every nn.Module has, and that a layer's name could hide.
MODULE_NAMES = frozenset(
    """apply bfloat16 buffers children compile cpu cuda double eval float forward half modules
    parameters state_dict to train training type zero_grad""".split()
)

# Where the name of a layer's class makes a long name of an attribute.
ATTRIBUTE_NAMES = {
    "nn.Conv1d": "conv",
    "nn.Conv2d": "conv",
    "nn.Conv3d": "conv",
    "nn.ConvTranspose2d": "deconv",
    "nn.ConvTranspose3d": "deconv",
    "BatchNorm1d": "bn",
    "BatchNorm2d": "bn",
    "BatchNorm3d": "bn",
    "nn.MaxPool2d": "pool",
    "nn.MaxPool3d": "pool",
    "nn.AvgPool2d": "pool",
    "nn.AvgPool3d": "pool",
    "nn.LogSoftmax": "log_softmax",
    "nn.ReLU": "relu",
    "nn.Sequential": "layers",
    "nn.LSTM": "lstm",
    "nn.GRU": "gru",
    "nn.RNN": "rnn",
}


def snake_case(name: str) -> str:
    """
    >>> snake_case("SpatialPadding"), snake_case("ELU")
    ('spatial_padding', 'elu')
    """
    parts = [
        "_" + c.lower() if c.isupper() and place and not name[place - 1].isupper() else c.lower()
        for place, c in enumerate(name)
    ]
    return identifier("".join(parts))


def chain_code(module: Any) -> Code:
    """A chain step by step, even where it could be an nn.Sequential."""

    def write(scope: Scope, value: Value) -> Value:
        before = None
        for step, part in enumerate(module.modules, 1):
            value = scope.inside(step, partial(scope.emit, part, value, before))
            before = part
        return value

    return Code(write)


def is_small(module: Any, builder: Builder) -> bool:
    """Is this a chain of a few steps without weights, better written where it stands?"""
    if not isinstance(module, Sequential):
        return False
    inside = list(module.walk())[1:]
    return len(inside) <= 6 and not any(
        isinstance(made := builder.rule(part), Call) and (made.code is None) for part in inside
    )
