"""MultiPathNet (facebookresearch/multipathnet): layers of object detectors.

Boxes are rows {number of the image, x1, y1, x2, y2}.
"""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested, printing
from relume.legacy_nn.container import Container, Decorator, Sequential
from relume.legacy_nn.counting import from_one
from relume.legacy_nn.criterion import SmoothL1Criterion
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.registry import register


@register("nn.NoBackprop")
class NoBackprop(Decorator):
    """Runs its module and stops the gradient.

    Args:
        inner: the module.
    """

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        if "inner" in fields:  # the first version
            fields = {**fields, "modules": [fields["inner"]]}
            del fields["inner"]
        super()._load_fields(fields, version)

    def compute(self, input: Activation) -> Activation:
        with rl.no_grad():
            output = super().compute(input)
        return nested.map_tensors(Tensor.detach, output)

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = nested.zeros_like(input)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        """Nothing is learnt."""

    def __str__(self) -> str:
        return f"NoBackprop: {self.modules[0]}"


@register("nn.ModeSwitch")
class ModeSwitch(Container):
    """One module in training, another one in evaluation.

    Args:
        train_module, test_module: the modules.
    """

    def __init__(self, train_module: Any, test_module: Any) -> None:
        super().__init__()
        self.modules = [train_module, test_module]
        self.train = True

    def _active(self) -> int:
        return 0 if self.train else 1

    def compute(self, input: Activation) -> Activation:
        return self._apply_child(self._active(), input)

    def updateOutput(self, input: Activation) -> Activation:
        self.output = self._run_child(self._active(), "forward", input)
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Activation) -> Activation:
        self.gradInput = self._run_child(self._active(), "updateGradInput", input, gradOutput)
        return self.gradInput

    def accGradParameters(
        self, input: Activation, gradOutput: Activation, scale: float = 1
    ) -> None:
        """Nothing is learnt."""

    def __str__(self) -> str:
        return printing.fan(self.torch_typename, self.modules)


@register("nn.SequentialSplitBatch")
class SequentialSplitBatch(Sequential):
    """`Sequential` that takes large batches in parts, to save memory.

    Args:
        size: of a part.
    """

    batch_size: int

    def __init__(self, size: int) -> None:
        super().__init__()
        self.batch_size = size

    def updateOutput(self, input: Activation) -> Activation:
        rows = nested.elements(input)[1] if nested.is_table(input) else input
        count, size = rows.shape[0], int(self.batch_size)
        if count <= size:
            return super().updateOutput(input)
        parts = []
        for start in range(0, count, size):
            part = rows.narrow(0, start, min(size, count - start))
            given = [nested.elements(input)[0], part] if nested.is_table(input) else part
            parts.append(super().updateOutput(given))
        self.output = rl.cat(parts, 0)
        return self.output


@register("nn.BBoxNorm")
class BBoxNorm(Module):
    """In evaluation, gives box offsets their deviation and mean back.

    Args:
        mean, std: of the four offsets, 1 x 4.
    """

    parameter_names = ()
    mean: Tensor
    std: Tensor

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        self.mean, self.std = mean, std

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 2 or input.shape[1] % 4:
            raise ValueError(
                f"{self}: expected N x 4 numbers per class, got {nested.describe(input)}"
            )
        if self.train:
            return input
        rows = input.reshape((-1, 4)) * self.std.reshape((1, 4)) + self.mean.reshape((1, 4))
        return rows.reshape(input.shape)


@register("nn.SelectBoxes")
class SelectBoxes(Module):
    """{scores N x C, offsets N x 4C} to the offsets of the best class, N x 4; `mean` and `std`
    are given back to them where they are known."""

    parameter_names = ()
    mean: Tensor | None = None
    std: Tensor | None = None

    def updateOutput(self, input: Activation) -> Tensor:
        scores, offsets = nested.elements(input)[:2]
        first = scores.argmax(1, keepdim=True) * 4
        places = first + rl.arange(4).unsqueeze(0)
        self.output = offsets.detach().gather(1, places)
        if self.std is not None and self.mean is not None:
            self.output = self.output * self.std.reshape((1, 4)) + self.mean.reshape((1, 4))
        return self.output

    def updateGradInput(self, input: Activation, gradOutput: Tensor) -> Activation:
        self.gradInput = nested.zeros_like(input)
        return self.gradInput


@register("nn.ContextRegion")
class ContextRegion(Module):
    """Boxes scaled about their centres.

    Args:
        scale: above 1 for larger boxes.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> boxes = rl.tensor([[1.0, 0.0, 0.0, 4.0, 2.0]], dtype=rl.float64)
    >>> nn.ContextRegion(2).forward(boxes).tolist()
    [[1.0, -2.0, -1.0, 6.0, 3.0]]
    """

    parameter_names = ()
    tr: Tensor

    def __init__(self, scale: float) -> None:
        super().__init__()
        a, b = (1 + scale) / 2, (1 - scale) / 2
        rows = [[a, 0, b, 0], [0, a, 0, b], [b, 0, a, 0], [0, b, 0, a]]
        self.tr = rl.tensor(rows, dtype=rl.float64)

    def updateOutput(self, input: Tensor) -> Tensor:
        check_boxes(self, input)
        moved = input.narrow(1, 1, 4) @ self.tr.to(input.dtype)
        self.output = rl.cat([input.narrow(1, 0, 1), moved], 1).detach()
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = rl.zeros_like(input)
        return self.gradInput

    def __str__(self) -> str:
        return f"{self.torch_typename}({self.tr[0, 0].item() * 2 - 1:g})"


@register("nn.Foveal")
class Foveal(Module):
    """Four boxes for every one: itself, and 1.5, 2 and 4 times as large about its centre."""

    parameter_names = ()
    SCALES = (1.0, 1.5, 2.0, 4.0)

    def updateOutput(self, input: Tensor) -> Tensor:
        check_boxes(self, input)
        image, first, last = input.narrow(1, 0, 1), input.narrow(1, 1, 2), input.narrow(1, 3, 2)
        middle, half = (first + last) / 2, (last - first) / 2
        boxes = [rl.cat([image, middle - half * s, middle + half * s], 1) for s in self.SCALES]
        self.output = rl.stack(boxes, 1).reshape((-1, 5)).detach()
        return self.output

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        self.gradInput = rl.zeros_like(input)
        return self.gradInput


def check_boxes(layer: Any, input: Any) -> None:
    if not isinstance(input, Tensor) or input.ndim != 2 or input.shape[1] != 5:
        raise ValueError(f"{layer}: expected boxes, N x 5, got {nested.describe(input)}")


@register("nn.ConvertFrom")
class ConvertFrom(Module):
    """{boxes N x 5, offsets N x 4} to moved boxes: offsets of the centre are in parts of the size,
    those of the size are logarithms."""

    parameter_names = ()

    def compute(self, input: Activation) -> Tensor:
        boxes, offsets = nested.elements(input)[:2]
        check_boxes(self, boxes)
        first, last = boxes.narrow(1, 1, 2), boxes.narrow(1, 3, 2)
        size = last - first
        middle = (first + last) / 2 + offsets.narrow(1, 0, 2) * size
        half = offsets.narrow(1, 2, 2).exp() * size / 2
        return rl.cat([boxes.narrow(1, 0, 1), middle - half, middle + half], 1)


@register("fbcoco.ImageTransformer")
class ImageTransformer(Module):
    """Prepares an image, 3 x H x W: reorders and scales its planes, subtracts a mean, divides by a
    deviation.

    Args:
        mean, std: of the planes; std may be None.
        scale: factor, by default 1.
        swap: the order of the planes, from 1.
    """

    parameter_names = ()
    mean: Any
    std: Any = None
    scale: float = 1
    swap: Any = None

    def __init__(self, mean: Any, std: Any = None, scale: float = 1, swap: Any = None) -> None:
        super().__init__()
        self.mean, self.std, self.scale, self.swap = mean, std, scale, swap

    def compute(self, input: Tensor) -> Tensor:
        if not isinstance(input, Tensor) or input.ndim != 3 or input.shape[0] != 3:
            raise ValueError(f"{self}: expected 3xHxW, got {nested.describe(input)}")
        if self.swap is not None:
            order = [int(plane) - 1 for plane in nested.elements(self.swap)]
            input = input.index_select(0, rl.tensor(order))
        output = input * float(self.scale) - per_plane(self.mean, input)
        return output if self.std is None else output / per_plane(self.std, input)


def per_plane(values: Any, input: Tensor) -> Tensor:
    numbers = values.tolist() if isinstance(values, Tensor) else nested.elements(values)
    return rl.tensor([float(n) for n in numbers], dtype=input.dtype).reshape((3, 1, 1))


@register("nn.BBoxRegressionCriterion")
class BBoxRegressionCriterion(SmoothL1Criterion):
    """How far the offsets of the right class are from the target, per box: offsets B x 4 per class;
    the target is {classes (from 1, the first is the background), offsets}."""

    def compute(self, input: Tensor, target: Activation) -> Tensor:
        labels, offsets = nested.elements(target)[:2]
        if not isinstance(input, Tensor) or input.shape != offsets.shape or input.ndim != 2:
            raise ValueError(
                f"{self}: expected offsets B x 4 per class, and {{classes, offsets}}, got "
                f"{nested.describe(input)} and {nested.describe(target)}"
            )
        self.sizeAverage = False
        count = input.shape[1] // 4
        places = from_one(self, labels.reshape((-1,)), count).unsqueeze(1)
        is_class = rl.zeros((input.shape[0], count), dtype=input.dtype).scatter(1, places, 1)
        is_class[:, 0] = 0
        chosen = input * is_class.repeat_interleave(4, 1)
        return super().compute(chosen, offsets) / input.shape[0]
