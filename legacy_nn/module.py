"""The base class of all layers: the Torch7 protocol, derived from one function.

A layer says what it computes in `compute(input, *parameters)`, with ordinary tensor
operations. Everything else follows from it:

* `layer(x)` is the modern face. It records on the tape with the parameters as leaves and
  keeps nothing, so one layer can be used many times in one graph. `weight.grad` and
  `gradWeight` are one memory: `y.backward()` adds to both.
* `forward`, `backward`, `updateGradInput`, `accGradParameters`, ... are Torch7's protocol.
  `forward` records `compute` on a tape of its own and `backward` runs that tape.

Attributes are exactly the fields of the Torch object (what a file holds); what only Python
needs lives in slots.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import relume as rl
from relume import _C, Tensor
from relume.legacy_nn import graph_nodes, nested, tracing
from relume.legacy_nn.diagonal_hessian import DiagonalHessian
from relume.legacy_nn.errors import name_layer, no_such_name
from relume.legacy_nn.module_tree import ModuleTree
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.parameter_methods import ParameterMethods, gradient_name_of
from relume.legacy_nn.record import Record
from relume.legacy_nn.registry import register
from relume.legacy_nn.released_gradients import Released
from relume.legacy_nn.rnn.module_methods import RecurrentMethods
from relume.legacy_nn.state_methods import StateMethods
from relume.legacy_nn.tied_gradients import tie_gradient
from relume.legacy_nn.training_methods import TrainingMethods
from relume.legacy_nn.types import get_default_tensor_type, new_empty


def derived(method: Callable) -> Callable:
    """Marks a method of the protocol that follows from `compute`."""
    method.is_derived = True  # type: ignore[attr-defined]
    return method


def is_derived(method: Callable) -> bool:
    return getattr(method, "is_derived", False)


def names_after_input(compute: Callable, default: tuple[str, ...]) -> tuple[str, ...]:
    """The parameters that `compute(self, input, weight, ...)` names; the default for `*parameters`.

    >>> names_after_input(lambda self, input, weight, gate: input, ())
    ('weight', 'gate')
    """
    taken = list(inspect.signature(compute).parameters.values())[2:]
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in taken):
        return default
    return tuple(parameter.name for parameter in taken)


def defined_later(cls: type, name: str, other: str) -> bool:
    """Is method `name` written in a more special class than method `other`?"""
    for base in cls.__mro__:
        if other in vars(base):
            return False
        if name in vars(base):
            return True
    return False


@register("nn.Module")
class Module(
    ParameterMethods, StateMethods, RecurrentMethods, TrainingMethods, DiagonalHessian, ModuleTree
):
    """A layer: subclass it and write `compute`, or override the Torch7 methods.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> layer = nn.Linear(3, 2)
    >>> x = rl.ones(4, 3, dtype=rl.float64)
    >>> layer.forward(x).shape                     # Torch7's protocol
    (4, 2)
    >>> layer.backward(x, rl.ones(4, 2, dtype=rl.float64)).shape
    (4, 3)
    >>> layer(x).requires_grad                     # the modern face
    True
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_gradients_from_file",
        "_keeps_tape",
        "_kept",
        "_lua_functions",
        "_origin",
        "_record",
        "_released",
    )

    torch_typename = "nn.Module"
    torch_version = 1  # of the class in files; subclasses do not inherit it
    parameter_names: tuple[str, ...] = ("weight", "bias")
    unused_fields: tuple[str, ...] = ()  # which only Torch7's own methods read
    weight: Any = None
    bias: Any = None
    train: bool = True

    _kept: Any  # what a class keeps for itself: no field, and not copied
    _record: Record | None
    _lua_functions: dict[str, Any] | None
    _gradients_from_file: bool
    _origin: str | None
    _released: Released | None  # what became of gradInput
    _keeps_tape: bool  # in evaluation mode too: since backward was called there

    # Set for every subclass: which parts of the protocol it writes itself.
    _own_forward = False
    _own_backward = False
    _sums_in_fields = True  # and whether gradients are added up in gradWeight and its kin

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        cls._own_forward = not is_derived(cls.updateOutput) and defined_later(
            cls, "updateOutput", "compute"
        )
        cls._own_backward = not (
            is_derived(cls.updateGradInput) and is_derived(cls.accGradParameters)
        )
        cls._sums_in_fields = cls._gradient is ParameterMethods._gradient
        if "torch_typename" not in cls.__dict__:
            cls.torch_typename = f"nn.{cls.__name__}"
        if "compute" in cls.__dict__ and cls.parameter_names is Module.parameter_names:
            cls.parameter_names = names_after_input(cls.compute, Module.parameter_names)

    def __new__(cls, *arguments: Any, **named: Any) -> Module:
        self = object.__new__(cls)
        self._kept = None
        self._record = None
        self._released = None
        self._lua_functions = None
        self._origin = None
        self._gradients_from_file = False
        self._keeps_tape = False
        return self

    def __init__(self) -> None:
        typename = get_default_tensor_type()
        self._type = typename
        self.output = new_empty(typename)
        self.gradInput = new_empty(typename)

    # ---- what a layer writes ----

    def compute(self, input: Activation, *parameters: Any) -> Activation:
        """The output for an input, made with tensor operations on `input` and `parameters`.

        Args:
            input: a tensor or a table of tensors.
            *parameters: one per name in `parameter_names`, None for those that are absent.
        """
        if not self._own_forward:
            raise NotImplementedError(
                f"{self.torch_typename} does not say how it computes its output: "
                "write compute(self, input) or updateOutput(self, input)"
            )
        # A class that writes updateOutput: let it see these parameters as its own.
        fields = {
            n: p for n, p in zip(self.parameter_names, parameters, strict=False) if p is not None
        }
        held = {name: self.__dict__[name] for name in fields}
        self.__dict__.update(fields)
        try:
            return self.updateOutput(input)
        finally:
            self.__dict__.update(held)

    def recompute(self, input: Activation, *parameters: Any) -> Activation:
        """`compute` for a backward pass whose forward is not recorded: nothing may be drawn or
        updated a second time."""
        return self.compute(input, *parameters)

    def reset(self, stdv: float | None = None) -> None:
        """Draws new parameters, with Torch7's random numbers in Torch7's order.

        Args:
            stdv: standard deviation; by default what the layer thinks is best.
        """

    # ---- the modern face ----

    def __call__(self, *inputs: Any) -> Any:
        """The output for an input, on the tape. Given graph nodes or nothing, a graph node.

        >>> import relume as rl
        >>> from relume import legacy_nn as nn
        >>> net = nn.Sequential().add(nn.Linear(2, 1)).add(nn.Tanh())
        >>> net(rl.zeros(1, 2, dtype=rl.float64)).shape
        (1, 1)
        """
        if len(inputs) != 1 or not isinstance(inputs[0], Tensor):
            if graph_nodes.is_node_call(inputs):
                return graph_nodes.make_node(self, inputs)
            if len(inputs) != 1:
                raise TypeError(
                    f"{self.torch_typename} takes one input, a tensor or a table, not {len(inputs)}"
                )
        input = inputs[0]
        try:
            if self._own_forward:
                return self._call_protocol(input)
            return self.compute(input, *self._leaves())
        except Exception as error:
            name_layer(error, self, input)
            raise

    def __neg__(self) -> Any:
        """nngraph's short form of a node without inputs: `-module` is `module()`."""
        return graph_nodes.make_node(self, ())

    def __rsub__(self, nodes: Any) -> Any:
        """nngraph's short form of a node: `[a, b] - module` is `module([a, b])`."""
        if isinstance(nodes, (list, tuple)) and graph_nodes.is_node_call((nodes,)):
            return graph_nodes.make_node(self, (nodes,))
        return NotImplemented

    def _leaves(self) -> list:
        """The parameters, ready to be leaves of the tape, tied to their gradients."""
        leaves = self._own_parameters()
        for name, parameter in zip(self.parameter_names, leaves, strict=False):
            if parameter is not None and parameter.grad is None:
                tie_gradient(parameter, self._gradient(name), self._gradients_from_file)
        if leaves:
            self._gradients_from_file = False
        return leaves

    def _call_protocol(self, input: Activation) -> Activation:
        """The modern face of a class that writes updateOutput itself."""
        from relume.legacy_nn.protocol_function import apply_protocol

        parameters, gradients = self.parameters()
        for parameter, gradient in zip(parameters, gradients, strict=False):
            if parameter.grad is None:
                tie_gradient(parameter, gradient, self._gradients_from_file)
        self._gradients_from_file = False
        return apply_protocol(self, input, parameters, gradients)

    # ---- Torch7's protocol: forward ----

    def forward(self, input: Activation, *, trace: bool = False) -> Activation:
        """Torch7's forward: the output, which is also kept in `self.output`.

        Args:
            input: a tensor, or a table (Table, list or tuple) of tensors.
            trace: give a `tracing.Trace` instead, with what every layer gave.

        >>> import relume as rl
        >>> from relume import legacy_nn as nn
        >>> nn.Square().forward(rl.tensor([3.0])).tolist()
        [9.0]
        """
        if trace:
            return tracing.trace(self, input)
        try:
            return self.updateOutput(input)
        except Exception as error:
            name_layer(error, self, input)
            raise

    @derived
    def updateOutput(self, input: Activation) -> Activation:
        """Computes `self.output`; in training mode the tape is kept for `backward`."""
        if not self.train and not self._keeps_tape:
            return self._compute_output(input)
        try:
            record = self._record = Record(input, self._own_parameters(), self.compute)
        except Exception as error:
            name_layer(error, self, input)
            raise
        if type(record.output) is Tensor:
            output = self.output = record.output.detach()
            return output
        return self._set_output(record.output)

    def _compute_output(self, input: Activation) -> Activation:
        """Computes `self.output` without a tape; should `backward` follow, it computes again."""
        self._record = None
        was_enabled = _C.set_grad_enabled(False)
        try:
            output = self.compute(input, *self._own_parameters())
        except Exception as error:
            name_layer(error, self, input)
            raise
        finally:
            _C.set_grad_enabled(was_enabled)
        return self._set_output(output)

    def _set_output(self, output: Activation) -> Activation:
        if type(output) is Tensor:
            output = output.detach()
        else:
            output = nested.map_tensors(Tensor.detach, output)
        self.output = output
        return output

    # ---- Torch7's protocol: backward ----

    def backward(self, input: Activation, gradOutput: Activation, scale: float = 1) -> Activation:
        """Torch7's backward: the gradient of the input; gradients of parameters are added up.

        Args:
            input: the input of the last forward.
            gradOutput: gradient of the output, in its structure.
            scale: factor for the gradients of the parameters.

        Returns:
            The gradient of the input (also `self.gradInput`).

        >>> import relume as rl
        >>> from relume import legacy_nn as nn
        >>> m, x = nn.Square(), rl.tensor([3.0])
        >>> _ = m.forward(x)
        >>> m.backward(x, rl.tensor([1.0])).tolist()
        [6.0]
        """
        if self._own_backward:
            try:
                self.updateGradInput(input, gradOutput)
                self.accGradParameters(input, gradOutput, scale)
            except Exception as error:
                name_layer(error, self, input, gradOutput)
                raise
            return self.gradInput
        gradients = self._differentiate(input, gradOutput, True, True)
        self._set_grad_input(input, gradients)
        self._accumulate(gradients, scale)
        return self.gradInput

    @derived
    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        """The gradient of the input alone."""
        self._set_grad_input(input, self._differentiate(input, gradOutput, True, False))
        return self.gradInput

    @derived
    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        """Adds `scale` times the gradients of the parameters to gradWeight, gradBias, ..."""
        if any(getattr(self, name) is not None for name in self.parameter_names):
            self._accumulate(self._differentiate(input, gradOutput, False, True), scale)

    def accUpdateGradParameters(self, input: Activation, gradOutput: Activation, lr: float) -> None:
        """A gradient step without touching the gradients that are being added up."""
        held = {}
        for name in self.parameter_names:
            if getattr(self, name) is not None:
                held[gradient_name_of(name)] = self._gradient(name)
                self.__dict__[gradient_name_of(name)] = getattr(self, name)
        try:
            with rl.no_grad():
                self.accGradParameters(input, gradOutput, -lr)
        finally:
            self.__dict__.update(held)

    sharedAccUpdateGradParameters = accUpdateGradParameters
    defaultAccUpdateGradParameters = accUpdateGradParameters

    def backwardUpdate(self, input: Activation, gradOutput: Activation, lr: float) -> Activation:
        """`updateGradInput`, then `accUpdateGradParameters`."""
        self.updateGradInput(input, gradOutput)
        self.accUpdateGradParameters(input, gradOutput, lr)
        return self.gradInput

    def _differentiate(self, input, gradOutput, of_input: bool, of_parameters: bool) -> list:
        """Gradients of the input's tensors, then of the parameters; None where not wanted."""
        record = self._record
        try:
            if record is None or not record.is_of(input) or not record.has_tape():
                record = self._rerun(input)
            try:  # as record.gradients_now, without its calls
                return record.gradients(self, gradOutput, of_input, of_parameters)
            except RuntimeError:
                return self._rerun(input).gradients(self, gradOutput, of_input, of_parameters)
        except Exception as error:
            name_layer(error, self, input)
            raise

    def _rerun(self, input: Activation) -> Record:
        self._keeps_tape = True
        with rl.enable_grad():
            self._record = Record(input, self._own_parameters(), self.recompute)
        return self._record

    def _set_grad_input(self, input: Activation, gradients: list) -> None:
        if isinstance(input, Tensor):
            gradient = gradients[0]
            self.gradInput = rl.zeros_like(input) if gradient is None else gradient
            return
        self.gradInput = nested.with_tensors(input, gradients)

    def _accumulate(self, gradients: list, scale: float) -> None:
        names = self.parameter_names
        if not names:
            return
        self._gradients_from_file = False
        fields = self.__dict__ if self._sums_in_fields else {}
        first = len(gradients) - len(names)
        for place, name in enumerate(names, first):
            gradient = gradients[place]
            if gradient is None:
                continue
            try:
                known = fields.get(gradient_name_of(name))
                parameter = getattr(self, name)
                if known is not None and _C.add_gradient(known, parameter, gradient, scale):
                    continue
                total = self._gradient(name)
                if parameter.requires_grad and parameter.grad is None:
                    tie_gradient(parameter, total)
                if scale == 1:
                    total.add_(gradient)
                else:
                    total.add_(gradient, alpha=scale)
            except Exception as error:
                name_layer(error, self, gradient)
                raise

    def __getattr__(self, name: str) -> Any:
        # Only for what is not there: files leave out what can be made again.
        if name == "gradInput" and self._released is not None:
            return self._released.look_at(self)
        if name in ("output", "gradInput"):
            value = new_empty(self.__dict__.get("_type"))
            self.__dict__[name] = value
            return value
        for parameter in type(self).parameter_names:
            if name == gradient_name_of(parameter):
                return None if getattr(self, parameter) is None else self._gradient(parameter)
        raise no_such_name(self.torch_typename, name)
