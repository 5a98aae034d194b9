"""Which layer is running, while a trace runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from relume.converters.graph.model import Step
from relume.converters.graph.whole_layers import WHOLE_LAYERS, WholeLayer
from relume.converters.object_tree import walk
from relume.legacy_nn.module import Module
from relume.legacy_nn.tracing import Watched

__all__ = ["Scopes", "entering"]

# What runs a layer, in Torch7's protocol and with the modern face.
METHODS = ("updateOutput", "compute")
# Layers that run what they hold once for every step of a sequence.
SEQUENCERS = frozenset({"nn.Sequencer"})


class Scopes:
    """The layers that are running, outermost first.

    Attributes:
        running: (path, class) of each.
        seen: path -> class of all that ran.
        finished: called with the path and the output of a layer that has run.
        record_whole: called with a `WholeLayer`, the arguments of its method and what runs it.
        step: of the outermost sequencer that is running; None outside of its steps.
    """

    def __init__(self) -> None:
        self.running: list[tuple[str, str]] = [("", "")]
        self.seen: dict[str, str] = {}
        self.entered: dict[int, Any] = {}
        self.finished: Callable[[str, Any], None] = lambda path, output: None
        self.record_whole: Callable[..., Any] = lambda whole, arguments, run: run()
        self.step: Step | None = None
        self.loop: Step | None = None  # the sequencer, and how many steps it has begun
        self.loops = 0

    @property
    def current(self) -> tuple[str, str]:
        return self.running[-1]

    @contextmanager
    def inside(self, path: str, name: str) -> Iterator[None]:
        """While a layer runs. What a sequencer runs is a step of it."""
        loop, step = self.loop, self.step
        if step is None and name in SEQUENCERS:
            self.loops += 1
            self.loop = Step(self.loops, 0, path, name)
        elif step is None and loop is not None:
            self.step = loop = loop._replace(number=loop.number + 1)
        self.running.append((path, name))
        try:
            yield
        finally:
            self.running.pop()
            self.loop, self.step = loop, step

    def enter(self, module: Any, path: str) -> None:
        """From now on the module says when it runs."""
        self.entered[id(module)] = module
        for method in METHODS:
            module.__dict__[method] = Entered(self, module, path, method)
        whole = WHOLE_LAYERS.get(module.torch_typename)
        if whole is not None and whole.applies(module):
            module.__dict__[whole.method] = WholeMethod(self, module, whole)

    def leave(self) -> None:
        for module in self.entered.values():
            whole = WHOLE_LAYERS.get(module.torch_typename)
            for method in (*METHODS, *([whole.method] if whole else [])):
                module.__dict__.pop(method, None)


class Entered(Watched):
    """Stands in the place of a module's method while a trace runs."""

    def __init__(self, scopes: Scopes, module: Any, path: str, method: str) -> None:
        self.scopes = scopes
        self.module = module
        self.path = path
        self.method = method

    def __call__(self, *arguments: Any) -> Any:
        name = self.module.torch_typename
        self.scopes.seen.setdefault(self.path, name)
        with self.scopes.inside(self.path, name):
            output = getattr(type(self.module), self.method)(self.module, *arguments)
        self.scopes.finished(self.path, output)
        return output

    def for_copy(self, module: Any) -> Any:
        """The module was cloned as it ran, as recurrent networks do: the same path."""
        self.scopes.entered[id(module)] = module
        return Entered(self.scopes, module, self.path, self.method)


class WholeMethod(Watched):
    """Stands in the place of a method that becomes one node."""

    def __init__(self, scopes: Scopes, module: Any, whole: WholeLayer) -> None:
        self.scopes = scopes
        self.module = module
        self.whole = whole

    def __call__(self, *arguments: Any) -> Any:
        own = getattr(type(self.module), self.whole.method)
        return self.scopes.record_whole(self.whole, arguments, lambda: own(self.module, *arguments))

    def for_copy(self, module: Any) -> Any:
        return WholeMethod(self.scopes, module, self.whole)


@contextmanager
def entering(network: Any) -> Iterator[Scopes]:
    """Notes what runs, for all modules below a network."""
    scopes = Scopes()
    for node in walk(network, skip_scratch=True):
        if isinstance(node.value, Module) and node.same_as is None:
            scopes.enter(node.value, node.path)
    try:
        yield scopes
    finally:
        scopes.leave()
