"""The base class of optimizers: groups of parameters with settings, and a state for each."""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from relume import Tensor
from relume.autograd import enable_grad, no_grad
from relume.nn.hooks import RemovableHandle
from relume.nn.loading import tensor_of, without_tables

Closure = Callable[[], Any]


def check_settings(defaults: Mapping[str, Any]) -> None:
    """Refuses values that no optimizer can work with.

    Raises:
        ValueError: a negative rate or decay, or a beta outside of [0, 1).

    >>> check_settings({"lr": -1})
    Traceback (most recent call last):
    ValueError: lr must not be negative, it is -1
    """
    for name in ("lr", "eps", "weight_decay", "momentum", "lr_decay", "alpha", "momentum_decay"):
        value = defaults.get(name, 0)
        parts = value if isinstance(value, tuple) else (value,)
        if any(part is not None and part < 0 for part in parts):
            raise ValueError(f"{name} must not be negative, it is {value}")
    for beta in defaults.get("betas", ()):
        if not 0 <= beta < 1:
            raise ValueError(
                f"betas must be at least 0 and less than 1, they are {defaults['betas']}"
            )


def settings_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The settings among the `locals()` of an optimizer's constructor: all but the parameters.

    >>> settings_of({"self": None, "params": [], "lr": 0.1})
    {'lr': 0.1}
    """
    others = ("self", "params", "__class__")
    return {name: value for name, value in arguments.items() if name not in others}


class Optimizer:
    """Changes parameters so that a loss gets smaller.

    Subclasses define `_update(group, parameters, gradients)`, or the whole `step`.

    Args:
        params: tensors, or pairs (name, tensor), or dicts with "params" and settings of their own.
        defaults: the settings of groups that do not give them.

    Attributes:
        param_groups: a list of dicts: "params" and the settings, which may be changed.
        state: what is kept for every parameter: a dict by parameter.

    >>> import relume as rl
    >>> from relume import nn, optim
    >>> layer = nn.Linear(2, 1)
    >>> optimizer = optim.SGD(layer.parameters(), lr=0.1)
    >>> layer(rl.ones(3, 2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        check_settings(defaults)
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._pre_hooks: dict[int, Callable[..., Any]] = OrderedDict()
        self._post_hooks: dict[int, Callable[..., Any]] = OrderedDict()
        if isinstance(params, Tensor):
            raise TypeError("params must be an iterable of tensors or dicts, not one tensor")
        if isinstance(params, set):
            raise TypeError("parameters need an order: give a list, not a set")
        groups = list(params)
        if not groups:
            raise ValueError("an optimizer needs at least one parameter")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # ---- groups ----

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters, with settings of their own where they are given.

        Args:
            param_group: "params" (tensors or pairs (name, tensor)) and settings.

        Raises:
            ValueError: a parameter that is in a group already, or that is no leaf.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"a group must be a dict, not {type(param_group).__name__}")
        group = dict(param_group)
        params = group["params"]
        params = [params] if isinstance(params, Tensor) else params
        if isinstance(params, set):
            raise TypeError("parameters need an order: give a list, not a set")
        names, tensors = _names_and_tensors(list(params))
        group["params"] = tensors
        if names:
            group["param_names"] = names
        for name, value in self.defaults.items():
            group.setdefault(name, value)
        check_settings(group)
        known = {id(p) for other in self.param_groups for p in other["params"]}
        if len({id(p) for p in tensors}) < len(tensors) or known & {id(p) for p in tensors}:
            raise ValueError("a parameter is in two groups, or twice in one")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or fills them with zeros."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad = parameter.grad.detach().zero_()

    # ---- steps ----

    def step(self, closure: Closure | None = None) -> Any:
        """Changes the parameters by their gradients.

        Args:
            closure: computes the loss anew, with its gradients, and returns it.

        Returns:
            What the closure returned.
        """
        for hook in list(self._pre_hooks.values()):
            hook(self, (closure,), {})
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        moved = False
        with no_grad():
            for group in self.param_groups:
                parameters, gradients = [], []
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is not None:
                        parameters.append(parameter)
                        gradients.append(gradient)
                if parameters:
                    moved = True
                    self._update(group, parameters, gradients)
        if not moved:
            self._warn_of_a_vain_step()
        for hook in list(self._post_hooks.values()):
            hook(self, (closure,), {})
        return loss

    def _warn_of_a_vain_step(self) -> None:
        """Says why nothing moved when no backward pass could have changed that."""
        if any(p.requires_grad for group in self.param_groups for p in group["params"]):
            return
        warnings.warn(
            "the step changed nothing: no parameter has a gradient, and none has requires_grad. "
            "Layers of legacy_nn get .grad through net(x) and backward() of the loss; after "
            "Torch7's net.forward and net.backward, take steps with legacy_nn.optim or "
            "updateParameters",
            stacklevel=3,
        )

    def _update(
        self, group: dict[str, Any], parameters: list[Tensor], gradients: list[Tensor]
    ) -> None:
        """Changes the parameters of one group that have a gradient; to be defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} does not define _update()")

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` before every step."""
        return RemovableHandle(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` after every step."""
        return RemovableHandle(self._post_hooks, hook)

    # ---- state ----

    def state_dict(self) -> dict[str, Any]:
        """The settings and states, with parameters named by their positions.

        >>> import relume as rl
        >>> from relume import optim
        >>> optim.SGD([rl.ones(1, requires_grad=True)], lr=0.1).state_dict()["state"]
        {}
        """
        positions: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for parameter in group["params"]:
                positions.setdefault(id(parameter), len(positions))
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [positions[id(parameter)] for parameter in group["params"]]
            groups.append(packed)
        state = {
            positions.get(id(parameter), parameter)
            if isinstance(parameter, Tensor)
            else parameter: s
            for parameter, s in self.state.items()
        }
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes settings and states of an optimizer with as many parameters in the same order.

        Args:
            state_dict: from `state_dict()`, or from PyTorch's optimizer of the same kind; also as
                the table that `relume.load` gives for a saved one.

        Raises:
            ValueError: other groups, or groups of other sizes.
        """
        state_dict = without_tables(state_dict)
        groups = copy.deepcopy(list(state_dict["param_groups"]))
        if len(groups) != len(self.param_groups):
            raise ValueError(
                f"the state has {len(groups)} groups of parameters, the optimizer has "
                f"{len(self.param_groups)}"
            )
        parameters: dict[Any, Tensor] = {}
        for position, (saved, own) in enumerate(zip(groups, self.param_groups, strict=True)):
            if len(saved["params"]) != len(own["params"]):
                raise ValueError(
                    f"group {position} of the state has {len(saved['params'])} parameters, that of "
                    f"the optimizer has {len(own['params'])}"
                )
            parameters.update(zip(saved["params"], own["params"], strict=True))
            saved["params"] = own["params"]
            for name, value in self.defaults.items():  # of a version that did not have it
                saved.setdefault(name, value)
            if "param_names" in own:
                saved["param_names"] = own["param_names"]
        state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        states = state_dict["state"]
        if isinstance(states, list):  # in Lua a table with the keys 1 to n is a list
            states = dict(enumerate(states, 1))
        for key, value in states.items():
            parameter = parameters.get(key)
            state[key if parameter is None else parameter] = (
                value if parameter is None else _state_for(parameter, value)
            )
        self.state = state
        self.param_groups = groups

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__, state=list(self.state.items()))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, state=defaultdict(dict, state["state"]))

    def __repr__(self) -> str:
        lines = []
        for position, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {position}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"


def _names_and_tensors(params: list[Any]) -> tuple[list[str], list[Tensor]]:
    """Takes pairs (name, tensor) apart; checks that all can be optimized."""
    named = [entry for entry in params if isinstance(entry, tuple)]
    if named and len(named) != len(params):
        raise ValueError("either all parameters are given with a name or none")
    names = [name for name, _ in named]
    tensors = [tensor for _, tensor in named] if named else params
    for tensor in tensors:
        if isinstance(tensor, list):
            raise TypeError(
                "an optimizer changes tensors, not lists of them; a Torch7 network has two lists, "
                "parameters and gradients: give net.parameters()[0]"
            )
        if not isinstance(tensor, Tensor):
            raise TypeError(f"an optimizer changes tensors, not {type(tensor).__name__}")
        if not tensor.is_leaf:
            raise ValueError("a tensor that the tape made cannot be optimized; use a leaf")
    return names, tensors


def _state_for(parameter: Tensor, saved: Mapping[str, Any]) -> dict[str, Any]:
    """The state of one parameter: tensors of the parameter's type, counts as numbers."""
    return {
        name: int(value) if name == "step" else _adopted(parameter, value)
        for name, value in saved.items()
    }


def _adopted(parameter: Tensor, value: Any) -> Any:
    """A copy of a value of a state, with the parameter's type if it is a tensor."""
    if isinstance(value, list):
        return [_adopted(parameter, entry) for entry in value]
    if not hasattr(value, "__dlpack__"):
        return copy.deepcopy(value)
    tensor = tensor_of(value)
    floating = tensor.dtype.is_floating_point and parameter.dtype.is_floating_point
    return (tensor.to(parameter.dtype) if floating else tensor).clone()


def states_of(
    optimizer: Optimizer, parameters: Iterable[Tensor], make: Callable[[Tensor], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The states of parameters; those that have none yet get what `make(parameter)` returns."""
    result = []
    for parameter in parameters:
        state = optimizer.state[parameter]
        if not state:
            state.update(make(parameter))
        result.append(state)
    return result
