"""Errors of layers: where in the network, what was expected, what to do."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from relume import Tensor
from relume.legacy_nn import registry
from relume.legacy_nn.known_packages import package_of
from relume.legacy_nn.nested import describe
from relume.legacy_nn.printing import first_line


class UnknownModuleError(NotImplementedError):
    """A module whose class is not known was to be run."""


def unknown_class(typename: str) -> UnknownModuleError:
    """The error for running an object of a class that nobody has supplied.

    >>> from relume.legacy_nn.errors import unknown_class
    >>> print(unknown_class("nn.AddScalar"))
    cannot run nn.AddScalar, a class of the project that wrote the file.
    Supply it before loading, as a Python class:
        @relume.legacy_nn.register("nn.AddScalar")
        class AddScalar(relume.legacy_nn.Module):
            def compute(self, input): ...  # its fields are attributes
    or as the project's Lua source: relume.load(path, lua=["AddScalar.lua"])
    """
    package = package_of(typename)
    defined = (
        f"which {package} defines" if package else "a class of the project that wrote the file"
    )
    name = typename.rpartition(".")[2]
    return UnknownModuleError(
        f"cannot run {typename}, {defined}.\n"
        "Supply it before loading, as a Python class:\n"
        f'    @relume.legacy_nn.register("{typename}")\n'
        f"    class {name}(relume.legacy_nn.Module):\n"
        "        def compute(self, input): ...  # its fields are attributes\n"
        f'or as the project\'s Lua source: relume.load(path, lua=["{name}.lua"])'
    )


# Errors that layers and tensor operations raise, and words by which some say what they were given.
SAID_BY_LAYERS = (ValueError, IndexError, TypeError, RuntimeError)
WHAT_CAME = ("got ", "input was", "of size")
# What Python says where a size has too few or too many numbers.
OF_SIZES = ("tuple index out of range", "values to unpack")
LONGEST_PATH = 40  # steps that an error shows

# What modules of PyTorch have, and Torch7's name or the way to get it here.
INSTEAD = {
    "eval": "evaluate()",
    "zero_grad": "zeroGradParameters()",
    "named_parameters": "parameters(), which gives two lists: parameters and gradients",
    "state_dict": "relume.save(net, path), or parameters()",
    "load_state_dict": "parameters()[0] and copy_()",
    "to": "float() or double()",
    "children": "modules, a list",
    "named_modules": "listModules(), or walk()",
    "cuda": "float(): relume computes on the CPU",
}


def no_such_name(typename: str, name: str) -> AttributeError:
    """The error for an attribute that a layer does not have.

    >>> print(no_such_name("nn.Linear", "eval"))
    nn.Linear has no field or method 'eval'; Torch7's layers have evaluate()
    """
    known = INSTEAD.get(name)
    hint = f"; Torch7's layers have {known}" if known else ""
    return AttributeError(f"{typename} has no field or method {name!r}{hint}")


def not_runnable(module: Any) -> Exception:
    """The error for something in a network that is no module we can run."""
    typename = getattr(module, "torch_typename", None)
    if typename is None:
        return TypeError(f"expected a module, got a {type(module).__name__}")
    if registry.lookup(typename) is not None:
        return UnknownModuleError(
            f"cannot run an object of class {typename} that was read before the class was "
            "registered: load the file again"
        )
    return unknown_class(typename)


def contains_itself(module: Any) -> ValueError:
    """The error for a network that never ends."""
    return ValueError(
        f"{module.torch_typename}: this module is inside itself, so the network never ends; "
        "take it out of its own modules"
    )


def name_layer(error: Exception, layer: Any, *given: Any) -> None:
    """Lets the message of an error that came from a tensor operation begin with the layer and
    end with what the layer got.

    Raises:
        TypeError: in the place of an error that says only that a table (or something else) is no
            tensor, be it the input or a parameter of a damaged file.
        ValueError: in the place of a division by the size of something empty, and of a field that
            is infinite where a whole number belongs.
    """
    if hasattr(error, "module_path"):  # it says which layer
        return
    message = str(error.args[0]) if error.args else ""
    text = first_line(layer)
    got = " and ".join(describe(value) for value in given)
    is_named = layer.torch_typename in message or text in message
    if layer.torch_typename not in text:
        text = f"{layer.torch_typename} {text}"
    damage = damaged_parameter(layer) or ("" if is_named else damaged_field(layer, message))
    if damage and damage not in message:
        kind = ValueError if isinstance(error, (ValueError, IndexError)) else TypeError
        raise kind(f"{text}: {damage} ({message}); the input was {got}") from error
    if is_named:
        if isinstance(error, SAID_BY_LAYERS) and not any(word in message for word in WHAT_CAME):
            error.args = (f"{message}; the input was {got}", *error.args[1:])
        return
    if isinstance(error, (AttributeError, KeyError)):
        if not all(isinstance(value, Tensor) for value in given):
            raise TypeError(f"{text}: cannot take {got} ({message})") from error
        if type(layer).__module__.startswith("relume."):  # users' code says what it says
            raise TypeError(
                f"{text}: a field of this layer is not what it should be ({message}); "
                f"the input was {got}"
            ) from error
    elif isinstance(error, ArithmeticError):  # a division by zero, an infinite whole number
        raise ValueError(f"{text}: cannot take {got} ({message})") from error
    elif isinstance(error, (*SAID_BY_LAYERS, MemoryError)):
        error.args = (f"{text}: {message}; the input was {got}", *error.args[1:])


def names_errors(method: Callable) -> Callable:
    """Lets errors of a method (self, input, gradOutput, ...) name the layer, as those of
    `Module.forward` do."""

    @wraps(method)
    def named(self: Any, input: Any, gradOutput: Any, *more: Any, **named: Any) -> Any:
        try:
            return method(self, input, gradOutput, *more, **named)
        except Exception as error:
            name_layer(error, self, input, gradOutput)
            raise

    return named


def damaged_parameter(layer: Any) -> str:
    """What is wrong with the kind of a layer's parameters, in words; "" if nothing is.

    >>> from relume import legacy_nn as nn
    >>> from relume.legacy_nn.errors import damaged_parameter
    >>> layer = nn.Linear(3, 2)
    >>> layer.weight = "lost"
    >>> damaged_parameter(layer)
    'its weight must be a tensor of real numbers, but is a str'
    """
    from relume.legacy_nn.parameter_methods import gradient_name_of

    for name in getattr(layer, "parameter_names", ()):
        for field in (name, gradient_name_of(name)):
            value = vars(layer).get(field)
            is_real = isinstance(value, Tensor) and value.dtype.is_floating_point
            if value is not None and not is_real:
                return f"its {field} must be a tensor of real numbers, but is {describe(value)}"
    expected = getattr(layer, "weight_dimensions", ())
    weight = vars(layer).get("weight")
    if expected and isinstance(weight, Tensor) and weight.ndim not in expected:
        counts = " or ".join(str(count) for count in expected)
        return f"its weight must have {counts} dimensions, but is {describe(weight)}"
    return ""


def damaged_field(layer: Any, message: str) -> str:
    """What may be wrong with the fields of a layer, in words, by what Python said; "" if that says
    nothing of fields."""
    if "'NoneType' object" in message and getattr(layer, "weight", True) is None:
        return "its weight is missing"
    if "'str'" in message or "invalid literal" in message:
        texts = [name for name, value in vars(layer).items() if isinstance(value, str)]
        named = [
            f"its {name} is the text {vars(layer)[name]!r}" for name in texts if name[0] != "_"
        ]
        return ", ".join(named)
    if any(words in message for words in OF_SIZES):
        parts = [(name, vars(layer).get(name)) for name in getattr(layer, "parameter_names", ())]
        tensors = [f"its {name} is {describe(t)}" for name, t in parts if isinstance(t, Tensor)]
        return ", ".join(tensors)
    return ""


def locate(error: Exception, parent: Any, index: int, name: str | None = None) -> None:
    """Adds the path of the module that raised an error to the error's message.

    Args:
        error: what was raised.
        parent: the container that ran the module.
        index: the module's place in the container, from 0.
        name: of the module's node in a graph.
    """
    if isinstance(error, RecursionError):  # a path of hundreds of steps helps nobody
        error.args = (
            f"{parent.torch_typename}: the modules stand too deep in one another, or one is "
            "inside itself",
        )
        return
    path = [index, *getattr(error, "module_path", [])]
    message = getattr(error, "module_message", None)
    if message is None:  # the innermost module: what it says stays
        message = str(error.args[0]) if error.args else type(error).__name__
        place = described_place(parent.children()[index], name)
    else:
        place = error.module_place  # type: ignore[attr-defined]
    try:
        error.module_path = path  # type: ignore[attr-defined]
        error.module_message = message  # type: ignore[attr-defined]
        error.module_place = place  # type: ignore[attr-defined]
        error.args = (f"{message}\n  in root{path_text(path)} {place}", *error.args[1:])
    except AttributeError:
        pass  # an exception class that takes no more attributes: leave it as it is


def path_text(path: list[int]) -> str:
    """The steps from the root to a module; of very many, the first and the last.

    >>> path_text([0, 2])
    '.modules[1].modules[3]'
    """
    steps = [f".modules[{step + 1}]" for step in path]
    if len(steps) > LONGEST_PATH:
        half = LONGEST_PATH // 2
        steps[half:-half] = [f" ... {len(steps) - 2 * half} more ... "]
    return "".join(steps)


def described_place(module: Any, name: str | None) -> str:
    """A module in an error: its class, its printed form and the name of its node."""
    typename = getattr(module, "torch_typename", type(module).__name__)
    printed = first_line(module)
    parts = [f"({typename})"]
    if printed != typename and not printed.startswith("<"):
        parts.append(printed)
    if name:
        parts.append(f'named "{name}"')
    return " ".join(parts)
