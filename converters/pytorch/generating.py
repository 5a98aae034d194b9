"""A network as PyTorch source, with the tensors that belong to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relume.converters.formats import Refusal
from relume.converters.object_tree import memory_of
from relume.converters.pytorch import families as families  # fills the registry of rules
from relume.converters.pytorch.building import Builder
from relume.converters.pytorch.classes import ClassSource, merge_repeated
from relume.converters.pytorch.helper_sources import helpers_for, imports_of
from relume.converters.pytorch.layers import Call, Weight, named_calls, named_weights
from relume.converters.pytorch.statements import identifier
from relume.converters.pytorch.traced import Example
from relume.converters.weights import with_aliases

__all__ = ["Source", "generate"]


@dataclass
class Source:
    """A generated file.

    Attributes:
        text: the Python source.
        weights: every tensor of the state_dict by its name, and where it comes from.
        aliases: further names of the same tensors: alias -> name.
        refusals: what could not be converted; with any, the text is of no use.
        layers: the old layers by the names of the new ones.
    """

    text: str = ""
    weights: dict[str, Weight] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    layers: dict[str, Any] = field(default_factory=dict)

    def arrays(self) -> dict[str, np.ndarray]:
        """The state_dict, aliases included (as the very same arrays)."""
        arrays = {name: weight.array() for name, weight in self.weights.items()}
        return with_aliases(arrays, self.aliases)


def generate(
    net: Any, name: str = "Net", origin: str = "", examples: Mapping[int, Example] | None = None
) -> Source:
    """Writes a network as PyTorch source.

    Args:
        net: a layer, with all that is in it.
        name: what its class is called.
        origin: where it comes from, for the first line of the file.
        examples: what layers without a rule got in a run; without it they are refused.

    >>> from relume import legacy_nn as nn
    >>> source = generate(nn.Sequential().add(nn.Linear(4, 3)).add(nn.Tanh()))
    >>> print(source.text[source.text.index("class Net") : source.text.index("WEIGHTS")].rstrip())
    class Net(nn.Module):
        \"\"\"nn.Sequential.\"\"\"
    <BLANKLINE>
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(
                nn.Linear(4, 3),
                nn.Tanh(),
            )
    <BLANKLINE>
        def forward(self, x):
            return self.layers(x)
    >>> list(source.weights)
    ['layers.0.weight', 'layers.0.bias']
    """
    builder = Builder(net, examples)
    root = builder.class_of(net, builder.rule(net), identifier(name) or "Net")
    if refusals := builder.refusals():
        return Source(refusals=refusals)
    whole = Call(root)
    weights, aliases = one_name_per_tensor(whole)
    layers = {n: c.origin for n, c in named_calls(whole) if n and c.origin is not None}
    root.ties = [*ties(aliases), *links(whole, builder)]
    classes = merge_repeated(root)
    return Source(file_text(classes, weights, origin), weights, aliases, layers=layers)


def one_name_per_tensor(whole: Call) -> tuple[dict[str, Weight], dict[str, str]]:
    """The tensors by name; those that share memory with another become its aliases."""
    weights: dict[str, Weight] = {}
    aliases: dict[str, str] = {}
    known: dict[tuple, str] = {}
    for name, weight in named_weights(whole):
        first = known.setdefault(tuple(memory_of(tensor) for tensor in weight.tensors), name)
        if first == name:
            weights[name] = weight
        else:
            aliases[name] = first
    return weights, aliases


def ties(aliases: dict[str, str]) -> list[str]:
    """Statements that make tensors shared."""
    return [f"{attribute_path(alias)} = {attribute_path(name)}" for alias, name in aliases.items()]


def links(whole: Call, builder: Builder) -> list[str]:
    """Statements that give layers the other layers that they need."""
    names = {id(call): name for name, call in named_calls(whole)}
    origins: dict[int, str] = {}
    for name, call in named_calls(whole):
        if call.origin is not None:
            origins.setdefault(id(call.origin), name)
    return [
        f"{attribute_path(names[id(link.call)])}.{link.attribute} = "
        f"{attribute_path(origins[id(link.other)])}"
        for link in builder.links
        if id(link.call) in names and id(link.other) in origins
    ]


def attribute_path(name: str) -> str:
    """
    >>> attribute_path("layers.0.weight")
    'self.layers[0].weight'
    """
    return re.sub(r"\.(\d+)", r"[\1]", f"self.{name}")


LOADING = '''\
WEIGHTS = __file__.removesuffix(".py") + ".pt"


def load(path=WEIGHTS):
    """The network with its weights, in evaluation mode."""
    net = {name}(){cast}
    net.load_state_dict(torch.load(path, weights_only=True))
    return net.eval()
'''


def file_text(classes: list[ClassSource], weights: dict[str, Weight], origin: str) -> str:
    """The whole file."""
    bodies = ["\n".join(source.text()) for source in classes]
    used = set(re.findall(r"\w+", "\n".join(bodies)))
    helpers = [helper.text for helper in helpers_for(used)]
    loading = LOADING.format(name=classes[-1].name, cast=cast_of(weights))
    parts = [*helpers, *bodies, loading.rstrip()]
    code = "\n\n\n".join(parts)
    first = f'"""Written by relume{f" from {origin}" if origin else ""}."""'
    return "\n".join([first, "", *imports_of(code), "", "", code, ""])


def cast_of(weights: dict[str, Weight]) -> str:
    """What makes a new network one of the numbers that the weights have."""
    kinds = {weight.array().dtype for weight in weights.values()}
    if np.dtype(np.float64) in kinds:
        return ".double()"
    return ".half()" if np.dtype(np.float16) in kinds else ""
