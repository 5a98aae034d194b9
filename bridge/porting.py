"""The porting loop: put a Python module in the place of an old one, run both, compare.

`swap` replaces a layer or a function of a network, in Lua or in Python, while it runs; `check` runs
the old and the new one on the same inputs and names the first difference.
"""

from __future__ import annotations

import re
from typing import Any

import relume as rl
from relume.bridge.comparison import Report, compare_runs
from relume.bridge.proxies import Proxy
from relume.bridge.python_layers import PythonLayer, is_in_lua, layer_of, side_of
from relume.legacy_nn import copying
from relume.legacy_nn.module import Module

__all__ = ["check", "swap"]

_STEP = re.compile(r"\.?([A-Za-z_]\w*)|\[(\d+)\]|\[(['\"])(.*?)\3\]")


def swap(net: Any, path: str, module: Any) -> Any:
    """Puts a module or a function into a network, and gives what was there.

    A layer is replaced wherever the network uses it: in the lists of its containers, in the nodes
    of its graph, as often as it stands there.

    Args:
        net: a network or a table in Lua, or a network of `legacy_nn`.
        path: the place, counted from 1 as in Lua and in error messages: "modules[3]",
            "modules[1].modules[2]", "protos.rnn.modules[2]", "modules[3].updateOutput", for a
            method of one layer, or "Linear.updateOutput" with `net` the table `nn`, for all of a
            class.
        module: a layer of `legacy_nn`, a `relume.nn.Module`, a layer in Lua, or a function. A
            function in the place of a layer takes and gives tensors on the tape; in that of a
            method it gets the layer as its first argument.

            Where a file had a module of Python, `swap` gives the new one the weights of the file.

    Returns:
        What was there before: `swap(net, path, old)` puts it back.

    Raises:
        KeyError: the path leads nowhere; the message says which step does.

    >>> import relume as rl
    >>> with rl.bridge.Lua() as lua:
    ...     nn = lua.require("nn")
    ...     net = lua.eval("nn.Sequential():add(nn.Linear(3, 2)):add(nn.Tanh())")
    ...     old = swap(net, "modules[2]", lambda x: rl.sigmoid(x))
    ...     old.torch_typename, net.forward(rl.zeros(3, dtype=rl.float64)).shape
    ('nn.Tanh', (2,))
    """
    *way, last = _steps_of(path)
    holder = net
    walked = ""
    for step in way:
        holder, walked = _at(holder, step, walked), walked + _text_of(step)
    old = _at(holder, last, walked)
    if isinstance(old, PythonLayer) and old.is_from_file() and isinstance(module, rl.nn.Module):
        old.give_weights(module)
    if isinstance(old, Module) or is_in_lua(old):
        _replace(net, old, module)
    elif isinstance(holder, Proxy):
        holder._operate("set", last, module)
    else:
        setattr(holder, str(last), module)
    return old


def check(
    old: Any,
    new: Any,
    inputs: Any,
    *,
    tolerance: float = 1e-6,
    seed: int = 1,
    parameters: bool = True,
) -> Report:
    """Runs an old and a new module on the same inputs and compares everything they compute.

    Compared are outputs and, of modules, gradients of the inputs and of the parameters for one
    random gradient of the output. Gradients that either had added up before are there again after.

    Args:
        old: a layer in Lua or of `legacy_nn`, a `relume.nn.Module`, or a function in either
            language.
        new: what is to take its place, in any of these forms.
        inputs: a tensor, a `Table` of tensors, or a list of such inputs.
        tolerance: how far numbers may be apart, relative to the largest of the old ones or to 1.
        seed: of the random numbers, set before each run: Dropout drops the same in both.
        parameters: compare the gradients of parameters, in their order.

    Returns:
        A `Report`: true when nothing differs; `str()` says what was compared, or what differs
        first, where, and by how much.

    >>> import relume as rl
    >>> with rl.bridge.Lua() as lua:
    ...     old = lua.require("nn").Tanh()
    ...     x = rl.tensor([0.0, 1.0], dtype=rl.float64)
    ...     print(check(old, rl.tanh, x))
    ...     print(check(old, lambda x: x * 0, x))
    equal within 1e-06: output, gradInput of 1 input
    output of input 1 differs at [1]: 0.7615941559557649 became 0.0
    """
    cases = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if not cases:
        raise ValueError("check compares runs: give it at least one input")
    return compare_runs(old, new, cases, tolerance=tolerance, seed=seed, parameters=parameters)


# ---- paths ----


def _steps_of(path: str) -> list[Any]:
    """ "modules[3].weight" -> ["modules", 3, "weight"]; a leading "root" is left out."""
    steps: list[Any] = []
    position = 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            raise KeyError(f"{path!r} is no path: expected names and [numbers], as in modules[3]")
        name, number, _, key = found.groups()
        steps.append(int(number) if number is not None else name or key)
        position = found.end()
    if steps and steps[0] == "root":
        steps = steps[1:]
    if not steps:
        raise KeyError("the path is empty: expected a place inside the network, such as modules[3]")
    return steps


def _text_of(step: Any) -> str:
    return f"[{step}]" if isinstance(step, int) else f".{step}"


def _at(holder: Any, step: Any, walked: str) -> Any:
    """What a holder has at one step of a path."""
    value = None
    if isinstance(holder, Proxy):
        value = holder._operate("get", step)
    elif isinstance(step, int):
        elements = list(holder) if hasattr(holder, "__iter__") else []
        value = elements[step - 1] if 0 < step <= len(elements) else None
    else:
        value = getattr(holder, step, None)
    if value is None:
        raise KeyError(f"there is nothing at {_text_of(step)} of root{walked}")
    return value


# ---- replacing ----


def _replace(net: Any, old: Any, module: Any) -> None:
    if isinstance(net, Proxy):
        before, new = (one if isinstance(one, Proxy) else side_of(one) for one in (old, module))
        net._operate("replace_everywhere", before, new)
    else:
        _replace_in_python(net, old, layer_of(module))


def _replace_in_python(root: Any, old: Any, new: Any) -> None:
    """Puts `new` in the place of every reference to `old` below an object."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        items = copying.contents(waiting.pop())
        if items is None or id(items) in seen:
            continue
        seen.add(id(items))
        pairs = list(enumerate(items)) if isinstance(items, list) else list(items.items())
        for key, value in pairs:
            if value is old:
                items[key] = new
            else:
                waiting.append(value)
    root._record = None
