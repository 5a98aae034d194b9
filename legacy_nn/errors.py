"""Errors of layers: where in the network, what was expected, what to do."""

from __future__ import annotations

from typing import Any

from relume.legacy_nn.nested import describe


class UnknownModuleError(RuntimeError):
    """A module whose class is not known was to be run."""


# Which project a class name comes from, by its prefix.
PACKAGES = {
    "nn": "Torch's nn, or a project that adds to it",
    "nnx": "the nnx package",
    "inn": "the imagine-nn package (szagoruyko/imagine-nn)",
    "cudnn": "the cudnn bindings (soumith/cudnn.torch)",
    "cunn": "the cunn package",
    "dpnn": "Element-Research/dpnn",
    "onmt": "OpenNMT (OpenNMT/OpenNMT)",
    "fbnn": "facebook/fbnn",
    "stn": "the spatial transformer package (qassemoquab/stnbhwd)",
    "w2nn": "waifu2x (nagadomi/waifu2x)",
    "autograd": "the autograd package (twitter/torch-autograd)",
}


def not_runnable(module: Any) -> Exception:
    """The error for something in a network that is no module we can run."""
    typename = getattr(module, "torch_typename", None)
    if typename is None:
        return TypeError(f"expected a module, got a {type(module).__name__}")
    package, _, _ = typename.rpartition(".")
    origin = PACKAGES.get(package.split(".")[0]) if package else None
    defined = (
        f", which {origin} defines" if origin else ", a class of the project that wrote the file"
    )
    return UnknownModuleError(
        f"cannot run {typename}{defined}. Supply it as a Python class:\n"
        f'    @relume.legacy_nn.register("{typename}")\n'
        f"    class {typename.rpartition('.')[2]}(relume.legacy_nn.Module):\n"
        "        def compute(self, input): ...\n"
        "before loading the file"
    )


def name_layer(error: Exception, layer: Any, input: Any) -> None:
    """Lets the message of an error that came from a tensor operation begin with the layer and
    end with what the layer got."""
    message = str(error.args[0]) if error.args else ""
    is_named = layer.torch_typename in message or hasattr(error, "module_path")
    if is_named or not isinstance(error, (ValueError, IndexError, TypeError, RuntimeError)):
        return
    text = str(layer).split("\n")[0]
    error.args = (f"{text}: {message}; the input was {describe(input)}", *error.args[1:])


def locate(error: Exception, parent: Any, index: int) -> None:
    """Adds the path of the module that raised an error to the error's message."""
    path = [index, *getattr(error, "module_path", [])]
    message = getattr(error, "module_message", None)
    if message is None:
        message = str(error.args[0]) if error.args else type(error).__name__
    modules = "".join(f".modules[{step + 1}]" for step in path)
    module = parent
    for step in path:
        module = module.children()[step]
    typename = getattr(module, "torch_typename", type(module).__name__)
    try:
        error.module_path = path  # type: ignore[attr-defined]
        error.module_message = message  # type: ignore[attr-defined]
        error.args = (f"{message}\n  in root{modules} ({typename})", *error.args[1:])
    except AttributeError:
        pass  # an exception class that takes no more attributes: leave it as it is
