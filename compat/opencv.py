"""`readNetFromTorch`, which OpenCV's dnn module had before version 5."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import relume as rl
from relume import Tensor
from relume.converters import Table
from relume.converters.object_tree import walk
from relume.legacy_nn import Module
from relume.legacy_nn.tracing import trace

__all__ = ["Layer", "Net", "readNetFromTorch"]

# What OpenCV calls layers, where it is not the name of the class.
KINDS = {
    "nn.Linear": "InnerProduct",
    "nn.SpatialConvolution": "Convolution",
    "nn.SpatialConvolutionMM": "Convolution",
    "nn.SpatialDilatedConvolution": "Convolution",
    "nn.SpatialFullConvolution": "Deconvolution",
    "nn.SpatialMaxPooling": "Pooling",
    "nn.SpatialAveragePooling": "Pooling",
    "nn.SpatialMaxUnpooling": "MaxUnpool",
    "nn.SpatialBatchNormalization": "BatchNorm",
    "nn.BatchNormalization": "BatchNorm",
    "nn.InstanceNormalization": "MVN",
    "nn.SpatialCrossMapLRN": "LRN",
    "nn.Tanh": "TanH",
    "nn.Abs": "AbsVal",
    "nn.Reshape": "Reshape",
    "nn.View": "Reshape",
    "nn.Dropout": "Identity",
    "nn.SpatialDropout": "Identity",
    "nn.SoftMax": "Softmax",
    "nn.LogSoftMax": "Softmax",
    "nn.SpatialSoftMax": "Softmax",
    "nn.Square": "Power",
    "nn.Sqrt": "Power",
    "nn.Power": "Power",
    "nn.MulConstant": "Power",
    "nn.SpatialZeroPadding": "Padding",
    "nn.CAddTable": "Eltwise",
}
LETTERS = {"nn.Abs": "Abs", "nn.CAddTable": "torchCAddTable"}  # in names, other than the kind


def readNetFromTorch(
    model: str | os.PathLike[str], isBinary: bool = True, evaluate: bool = True
) -> Net:
    """Reads a network for inference, as `cv2.dnn.readNetFromTorch` did.

    Args:
        model: the file; its root is a module.
        isBinary: of no meaning: binary and ASCII are told apart.
        evaluate: the network behaves as when it is used; otherwise as in training.

    Raises:
        FileFormatError: it is no Torch7 file.
        ValueError: its root is no module; the message names the modules in it.

    >>> import os, tempfile
    >>> import numpy as np, relume as rl
    >>> from relume import legacy_nn as nn
    >>> path = os.path.join(tempfile.mkdtemp(), "net.t7")
    >>> rl.save(nn.Sequential().add(nn.Linear(3, 2)).add(nn.SoftMax()), path)
    >>> net = rl.compat.readNetFromTorch(path)
    >>> net.setInput(np.ones((5, 3), np.float32))
    >>> net.forward().shape, net.getLayerNames()
    ((5, 2), ('l1_InnerProduct', 'l2_Softmax'))
    """
    root = rl.load(model)
    if not isinstance(root, Module):
        paths = [node.path for node in walk(root) if isinstance(node.value, Module)]
        some = f"; modules in it: {', '.join(paths[:5])}" if paths else ""
        raise ValueError(
            f"{os.fspath(model)} holds a {getattr(root, 'torch_typename', type(root).__name__)}, "
            f"not a network{some}. Net(module) takes a part of what relume.load gives"
        )
    return Net(root.evaluate() if evaluate else root.training())


class Layer:
    """One layer of a network.

    Attributes:
        name: "l3_Convolution".
        type: "Convolution".
        blobs: its parameters as NumPy arrays on the memory of the network.
        module: the layer of `relume.legacy_nn`.
    """

    def __init__(self, number: int, module: Any) -> None:
        typename = module.torch_typename
        short = typename.rpartition(".")[2]
        self.type = KINDS.get(typename, short)
        self.name = f"l{number}_{LETTERS.get(typename, self.type)}"
        self.module = module

    @property
    def blobs(self) -> list[np.ndarray]:
        parameters = self.module.parameters()
        return [parameter.detach().numpy() for parameter in (parameters[0] if parameters else [])]

    def __repr__(self) -> str:
        return f"<{self.name}: {self.module}>"


class Net:
    """A network with the methods of `cv2.dnn.Net`; arrays in, arrays of float32 out.

    Args:
        module: a network of `relume.legacy_nn`.

    Attributes:
        module: the network.
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        self._layers = [Layer(i, leaf) for i, leaf in enumerate(leaves(module), 1)]
        self._inputs: dict[str, Tensor] = {}
        self._seconds = 0.0

    # ---- running ----

    def setInput(
        self, blob: Any, name: str = "", scalefactor: float = 1.0, mean: Sequence[float] = ()
    ) -> None:
        """Sets the input: scalefactor * (blob - mean), one mean per channel.

        Args:
            blob: an array of any numbers: N x C x H x W for images.
            name: for networks with several inputs, which are a table in the order of setInput.
        """
        array = np.asarray(blob, dtype=np.float32)
        if len(mean):
            channels = np.asarray(mean, np.float32)[: array.shape[1] if array.ndim > 1 else None]
            array = array - channels.reshape([-1, *[1] * max(array.ndim - 2, 0)])
        tensor = rl.from_numpy(np.ascontiguousarray(array * np.float32(scalefactor)))
        self._inputs[name] = tensor.to(self._dtype())

    def forward(self, outputName: Any = None) -> Any:
        """Runs the network.

        Args:
            outputName: the layer whose output is wanted, or a list of layers; by default the last.

        Returns:
            An array; a list of arrays for a list of layers, or where the output is a table.
        """
        if not self._inputs:
            raise ValueError("the network has no input yet; call setInput first")
        started = time.perf_counter()
        try:
            with rl.no_grad():
                return self._forward(outputName)
        finally:
            self._seconds = time.perf_counter() - started

    def _forward(self, name: Any) -> Any:
        inputs = list(self._inputs.values())
        input = inputs[0] if len(inputs) == 1 else Table(inputs)
        if name is None or name == "":
            return arrays_of(self.module.forward(input))
        names = [name] if isinstance(name, str) else list(name)
        wanted = {id(self.getLayer(one).module): one for one in names}
        found = {}
        for run in trace(self.module, input):
            if id(run.module) in wanted:
                outputs = [to_array(output) for output in run.outputs.values()]
                found[wanted[id(run.module)]] = outputs[0] if len(outputs) == 1 else outputs
        missing = [one for one in names if one not in found]
        if missing:
            raise ValueError(f"the network did not run the layer {missing[0]}")
        return found[name] if isinstance(name, str) else [found[one] for one in names]

    def _dtype(self) -> Any:
        parameters = self.module.parameters()
        tensors = parameters[0] if parameters else []
        return tensors[0].dtype if len(tensors) else rl.float32

    def getPerfProfile(self) -> tuple[int, np.ndarray]:
        """Nanoseconds of the last forward, and the same per layer, which is not measured: zeros."""
        return round(self._seconds * 1e9), np.zeros((len(self._layers), 1))

    # ---- layers ----

    def empty(self) -> bool:
        """Has it no layers?"""
        return not self._layers

    def getLayerNames(self) -> tuple[str, ...]:
        """The names of the layers, in order."""
        return tuple(layer.name for layer in self._layers)

    def getLayerId(self, layer: str) -> int:
        """The number of a layer, from 1; 0 for the input; -1 for a name that it does not have."""
        if layer == "_input":
            return 0
        names = self.getLayerNames()
        return names.index(layer) + 1 if layer in names else -1

    def getLayer(self, layer: int | str) -> Layer:
        """A layer by its name or number.

        Raises:
            ValueError: there is no such layer.
        """
        number = self.getLayerId(layer) if isinstance(layer, str) else int(layer)
        if not 1 <= number <= len(self._layers):
            some = ", ".join(self.getLayerNames()[:8])
            raise ValueError(f"the network has no layer {layer!r}; the first ones are {some}")
        return self._layers[number - 1]

    def getLayerTypes(self) -> tuple[str, ...]:
        """The kinds of layers, sorted."""
        return tuple(sorted({layer.type for layer in self._layers} | {"__NetInputLayer__"}))

    def getLayersCount(self, layerType: str) -> int:
        """How many layers of a kind there are."""
        return sum(layer.type == layerType for layer in self._layers)

    def getUnconnectedOutLayers(self) -> np.ndarray:
        """The numbers of the layers that give the output: the last one."""
        return np.array([len(self._layers)], np.int32)

    def getUnconnectedOutLayersNames(self) -> tuple[str, ...]:
        """Their names."""
        return self.getLayerNames()[-1:] or ("_input",)

    def getParam(self, layer: int | str, numParam: int = 0) -> np.ndarray:
        """A parameter of a layer: 0 is its weight, 1 its bias."""
        return self.getLayer(layer).blobs[numParam]

    def setParam(self, layer: int | str, numParam: int, blob: Any) -> None:
        """Sets a parameter of a layer to values of the same shape."""
        parameter = self.getLayer(layer).blobs[numParam]
        parameter[...] = np.asarray(blob).reshape(parameter.shape)

    def dump(self) -> str:
        """The network as Torch7 prints it."""
        return str(self.module)

    # ---- what has no meaning here ----

    def setPreferableBackend(self, backendId: int) -> None:
        """There is one backend: nothing happens."""

    def setPreferableTarget(self, targetId: int) -> None:
        """The network runs where its tensors are: nothing happens."""

    def enableFusion(self, fusion: bool) -> None:
        """Nothing is fused: nothing happens."""

    def enableWinograd(self, useWinograd: bool) -> None:
        """Nothing happens."""


def leaves(module: Any) -> Iterator[Any]:
    """The layers of a network that are no containers, in order."""
    children = getattr(module, "modules", None)
    if children is None:
        yield module
        return
    for child in children:
        yield from leaves(child)


def to_array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().to(rl.float32).numpy().copy()


def arrays_of(output: Any) -> Any:
    return to_array(output) if isinstance(output, Tensor) else [arrays_of(part) for part in output]
