"""`state_dict` and `load_state_dict`: a module's parameters and buffers by name."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from relume import Tensor
from relume.autograd import no_grad
from relume.nn.hooks import RemovableHandle
from relume.nn.parameter import Parameter
from relume.tensor import as_tensor, from_dlpack

_EXTRA_STATE = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict(strict=False)` left out: names without a value, values without one."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"{self.missing_keys=}, {self.unexpected_keys=}".replace("self.", "")


class StateLoading:
    """The part of Module that gives and takes `state_dict`s."""

    _version: int | None = None
    _state_hooks: dict[str, dict[int, Callable[..., Any]]] | None = None
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def _persistent_members(self) -> dict[str, Any]:
        buffers = {
            name: value
            for name, value in self._buffers.items()
            if name not in self._non_persistent_buffers_set
        }
        return {
            name: value
            for name, value in itertools.chain(self._parameters.items(), buffers.items())
            if value is not None
        }

    # ---- saving ----

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by dotted name, on the modules' own memory.

        Args:
            destination: a dict to add them to.
            prefix: what all names begin with.
            keep_vars: the parameters themselves, not detached tensors.

        >>> from relume import nn
        >>> list(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).state_dict())[2:]
        ['1.weight', '1.bias', '1.running_mean', '1.running_var', '1.num_batches_tracked']
        """
        if args:  # as old code gives them
            destination, prefix, keep_vars = (*args, destination, prefix, keep_vars)[:3]
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata: dict[str, Any] = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._hooks_of_state("save_pre"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._hooks_of_state("save_post"):
            result = hook(self, destination, prefix, metadata)
            destination = destination if result is None else result
        return destination

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        """Adds what this module itself holds; subclasses may add more."""
        for name, value in self._persistent_members().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if _defines_extra_state(self):
            destination[prefix + _EXTRA_STATE] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """Something more to keep in the state_dict; to be defined by subclasses."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: define get_extra_state()")

    def set_extra_state(self, state: Any) -> None:
        """Takes back what `get_extra_state` gave."""
        raise RuntimeError(f"{type(self).__name__} takes no extra state: define set_extra_state()")

    # ---- loading ----

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies values into parameters and buffers by name.

        Args:
            state_dict: tensors, NumPy arrays or another library's tensors by name; a
                state_dict of PyTorch's layer of the same kind fits, and so does the table that
                `relume.load` gives for a state_dict saved by `relume.save`.
            strict: names that are missing or too many are an error.
            assign: take the tensors themselves instead of copying their values.

        Returns:
            missing_keys and unexpected_keys.

        Raises:
            RuntimeError: what does not fit, all of it in one message.

        >>> import numpy as np
        >>> from relume import nn
        >>> layer = nn.Linear(2, 1)
        >>> layer.load_state_dict({"weight": np.ones((1, 2)), "bias": np.zeros(1)})
        <All keys matched successfully>
        """
        state_dict = without_tables(state_dict)
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"a state_dict must be a dict, not {type(state_dict).__name__}")
        metadata = getattr(state_dict, "_metadata", {})
        values = OrderedDict(state_dict)
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []

        def load(module: Any, prefix: str) -> None:
            local = dict(metadata.get(prefix[:-1], {}), assign_to_params_buffers=assign)
            arguments = (values, prefix, local, strict, missing, unexpected, errors)
            for hook in module._hooks_of_state("load_pre"):
                hook(module, *arguments)
            module._load_from_state_dict(*arguments)
            for name, child in module._modules.items():
                if child is not None:
                    load(child, f"{prefix}{name}.")
            known = IncompatibleKeys(missing, unexpected)
            for hook in module._hooks_of_state("load_post"):
                hook(module, known)

        load(self, "")
        if strict:
            if unexpected:
                errors.insert(0, f"unexpected: {', '.join(unexpected)}")
            if missing:
                errors.insert(0, f"missing: {', '.join(missing)}")
        if errors:
            details = "\n  ".join(errors)
            raise RuntimeError(f"the state_dict does not fit {type(self).__name__}:\n  {details}")
        return IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Takes what belongs to this module itself; subclasses may change the values before."""
        members = self._persistent_members()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, target in members.items():
            key = prefix + name
            if key not in state_dict:
                missing_keys.append(key)
                continue
            try:
                self._load_member(name, target, tensor_of(state_dict[key]), assign)
            except (TypeError, ValueError, RuntimeError) as error:
                error_msgs.append(f"{key}: {error}")
        own = {*members}
        if _defines_extra_state(self) or prefix + _EXTRA_STATE in state_dict:
            own.add(_EXTRA_STATE)
            if prefix + _EXTRA_STATE in state_dict:
                self.set_extra_state(state_dict[prefix + _EXTRA_STATE])
            else:
                missing_keys.append(prefix + _EXTRA_STATE)
        for key in state_dict:
            rest = key[len(prefix) :]
            if key.startswith(prefix) and rest not in own:
                child, dot, _ = rest.partition(".")
                if not dot or child not in self._modules:
                    unexpected_keys.append(key)

    def _load_member(self, name: str, target: Tensor, value: Tensor, assign: bool) -> None:
        if target.shape != value.shape and target.shape == () and value.shape == (1,):
            value = value.reshape(())
        if target.shape != value.shape:
            raise ValueError(f"shape {value.shape} instead of {target.shape}")
        if not assign:
            with no_grad():
                target.copy_(value)
        elif name in self._parameters:
            self._parameters[name] = (
                value
                if isinstance(value, Parameter)
                else Parameter(value.detach(), requires_grad=target.requires_grad)
            )
        else:
            self._buffers[name] = value

    # ---- hooks ----

    def _hooks_of_state(self, moment: str) -> list[Callable[..., Any]]:
        return list(self._state_hooks[moment].values()) if self._state_hooks else []

    def _add_state_hook(self, moment: str, hook: Callable[..., Any]) -> RemovableHandle:
        if self._state_hooks is None:
            moments = ("save_pre", "save_post", "load_pre", "load_post")
            object.__setattr__(self, "_state_hooks", {name: {} for name in moments})
        assert self._state_hooks is not None
        return RemovableHandle(self._state_hooks[moment], hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, prefix, keep_vars)` before state_dict."""
        return self._add_state_hook("save_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata)` after state_dict."""
        return self._add_state_hook("save_post", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, ...)` before the module takes its values.

        The other arguments are those of `_load_from_state_dict`.
        """
        return self._add_state_hook("load_pre", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(module, incompatible_keys)` after loading; it may change the two lists."""
        return self._add_state_hook("load_post", hook)


def _defines_extra_state(module: Any) -> bool:
    return type(module).get_extra_state is not StateLoading.get_extra_state


def without_tables(state: Any) -> Any:
    """A state that was read from a Torch7 file, where it is a table; any other as it is."""
    return state.as_python() if hasattr(state, "as_python") else state


def tensor_of(value: Any) -> Tensor:
    """A value of a state_dict as a tensor, whichever library it comes from."""
    if not isinstance(value, Tensor) and hasattr(value, "__dlpack__"):
        detach = getattr(value, "detach", None)
        value = value if detach is None else detach()
        try:
            return from_dlpack(value)
        except (BufferError, TypeError, ValueError):  # read-only, say
            pass
    return as_tensor(value)
