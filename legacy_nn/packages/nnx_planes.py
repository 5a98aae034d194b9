"""Package nnx: layers over the places of an image."""

from __future__ import annotations

import math
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn import nested
from relume.legacy_nn.composite import make
from relume.legacy_nn.container import Container
from relume.legacy_nn.linear import draw_uniform, uniform_bound
from relume.legacy_nn.module import Module
from relume.legacy_nn.nested import Activation
from relume.legacy_nn.plane_layers import as_planes
from relume.legacy_nn.registry import register
from relume.legacy_nn.table_layers import TableLayer
from relume.legacy_nn.types import new_empty, new_parameter


def like_input(layer: Any, output: Tensor, input: Tensor) -> Tensor:
    """Without a batch where the input had none."""
    return output if input.ndim == 4 else output.squeeze(0)


@register("nn.SpatialLinear")
class SpatialLinear(Module):
    """A linear function of the planes, at every place.

    Args:
        fanin, fanout: planes of the input and the output.
    """

    def __init__(self, fanin: int = 1, fanout: int = 1) -> None:
        super().__init__()
        self.fanin = fanin
        self.fanout = fanout
        self.weight = new_parameter(fanout, fanin)
        self.gradWeight = new_parameter(fanout, fanin)
        self.bias = new_parameter(fanout)
        self.gradBias = new_parameter(fanout)
        self.reset()

    def reset(self, stdv: float | None = None) -> None:
        bound = uniform_bound(stdv, self.weight.shape[0])
        for row in range(self.weight.shape[0]):
            draw_uniform(bound, self.weight[row], self.bias.narrow(0, row, 1))

    def compute(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        images = as_planes(self, input)
        if images.shape[1] != weight.shape[1]:
            raise ValueError(
                f"{self}: expected {weight.shape[1]} planes, got {nested.describe(input)}"
            )
        output = rl.conv2d(images, weight.unsqueeze(2).unsqueeze(3), bias)
        return like_input(self, output, input)


@register("nn.SpatialClassifier")
class SpatialClassifier(Container):
    """Applies a network of vectors to the planes at every place of an image.

    Args:
        classifier: the network; by default an empty Sequential, for `add`.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> net = nn.SpatialClassifier(nn.Sequential().add(nn.Linear(3, 2)).add(nn.LogSoftMax()))
    >>> net.forward(rl.zeros(3, 4, 5, dtype=rl.float64)).shape
    (2, 4, 5)
    """

    def __init__(self, classifier: Any = None) -> None:
        super().__init__()
        self.classifier = classifier or make("Sequential")
        self.modules = [self.classifier]

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        fields = dict(fields)
        modules = fields.pop("modules", None)  # in files the classifier itself, or its modules
        if fields.get("classifier") is None:
            if not isinstance(modules, Module):
                chain = make("Sequential")
                chain.modules = list(nested.elements(modules))
                modules = chain
            fields["classifier"] = modules
        super()._load_fields({**fields, "modules": [fields["classifier"]]}, version)

    def add(self, module: Any) -> Any:
        """Adds a module at the end of the classifier and returns the container."""
        self.classifier.add(module)
        return self

    def _rows(self, images: Tensor) -> Tensor:
        return images.permute((0, 2, 3, 1)).reshape((-1, images.shape[1]))

    def _planes(self, rows: Tensor, like: Tensor) -> Tensor:
        shape = (like.shape[0], *like.shape[2:], rows.shape[-1])
        return rows.reshape(shape).permute((0, 3, 1, 2)).contiguous()

    def compute(self, input: Tensor) -> Tensor:
        images = as_planes(self, input)
        output = self._planes(self._apply_child(0, self._rows(images)), images)
        return like_input(self, output, input)

    def updateOutput(self, input: Tensor) -> Tensor:
        images = as_planes(self, input)
        self.inputT = self._rows(images.detach())
        rows = self._run_child(0, "forward", self.inputT)
        self.output = like_input(self, self._planes(rows, images), input)
        return self.output

    def _backwards(self, method: str, input: Tensor, gradOutput: Tensor, *more: Any) -> Any:
        gradients = self._rows(as_planes(self, gradOutput))
        return self._run_child(0, method, self.inputT, gradients, *more)

    def _set_planes(self, rows: Tensor, input: Tensor) -> Tensor:
        planes = self._planes(rows, as_planes(self, input))
        self.gradInput = like_input(self, planes, input)
        return self.gradInput

    def backward(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> Tensor:
        return self._set_planes(self._backwards("backward", input, gradOutput, scale), input)

    def updateGradInput(self, input: Tensor, gradOutput: Tensor) -> Tensor:
        return self._set_planes(self._backwards("updateGradInput", input, gradOutput), input)

    def accGradParameters(self, input: Tensor, gradOutput: Tensor, scale: float = 1) -> None:
        self._backwards("accGradParameters", input, gradOutput, scale)


@register("nn.SpatialNormalization")
class SpatialNormalization(Module):
    """Subtracts the weighted mean around every place, and divides by the deviation around it.

    Args:
        nInputPlane: planes of the input.
        kernel: weights of the surroundings, a matrix, or two: 1xK and Kx1.
        threshold: deviations below count as this; by default the mean of all deviations.
    """

    parameter_names = ()
    fixedThres: float | None = None

    def __init__(self, nInputPlane: int, kernel: Any, threshold: float | None = None) -> None:
        super().__init__()
        self.nfeatures = nInputPlane
        if nested.is_table(kernel):
            self.kernel: Any = nested.table([part / part.sum() for part in kernel])
        else:
            self.kernel = kernel / kernel.sum()
        if threshold is not None:
            self.fixedThres = threshold

    def _local_sums(self, images: Tensor) -> Tensor:
        """Weighted sums over the surroundings and all planes, one plane."""
        kernels = nested.elements(self.kernel) if nested.is_table(self.kernel) else [self.kernel]
        for turn, kernel in enumerate(kernels):
            if turn:  # a second kernel sees the sums once per plane
                images = images.expand((images.shape[0], int(self.nfeatures), *images.shape[2:]))
            height, width = kernel.shape
            margins = [width // 2, (width - 1) // 2, height // 2, (height - 1) // 2]
            filters = kernel.to(images.dtype).expand((1, images.shape[1], height, width))
            images = rl.conv2d(rl.pad(images, margins), filters.contiguous())
        return images

    def compute(self, input: Tensor) -> Tensor:
        planes = input.unsqueeze(0) if input.ndim == 2 else input
        images = as_planes(self, planes)
        if images.shape[1] != self.nfeatures:
            raise ValueError(
                f"{self}: expected {self.nfeatures} planes, got {nested.describe(input)}"
            )
        total = self._local_sums(rl.ones_like(images.detach().narrow(0, 0, 1)))
        centred = images - self._local_sums(images) / total
        deviation = rl.sqrt(self._local_sums(centred.square())) / total
        limit = self._limit(deviation)
        deviation = rl.where(deviation > limit, deviation, limit)
        return (centred / deviation).reshape(planes.shape)

    def _limit(self, deviation: Tensor) -> Tensor:
        """What smaller deviations become, one number per image."""
        if self.fixedThres:  # old files have 0 for none
            return rl.full_like(deviation.detach(), float(self.fixedThres))
        means = deviation.detach().mean((1, 2, 3), keepdim=True)
        return means.clamp(1e-3).expand(deviation.shape)


EUCLIDEAN, COSINE = 0, 1  # how files name the distances


@register("nn.SpatialGraph")
class SpatialGraph(Module):
    """How different neighbouring places are: a plane for those at the right, one for those below.

    Args:
        dist: 'euclid' or 'cosine'.
        normalize: divide Euclidean distances by the root of the number of planes; for cosines,
            divide by the lengths.
        connex: 4, the number of neighbours.
    """

    parameter_names = ()

    def __init__(
        self, dist: str = "euclid", normalize: bool | None = None, connex: int = 4
    ) -> None:
        super().__init__()
        distances = {"euclid": EUCLIDEAN, "cosine": COSINE}
        if dist not in distances or connex != 4:
            raise ValueError("nn.SpatialGraph: dist is 'euclid' or 'cosine', connex is 4")
        self.dist = distances[dist]
        self.normalize = int(normalize is None or normalize)
        self.connex = connex

    def compute(self, input: Tensor) -> Tensor:
        images = as_planes(self, input)
        distance = self._euclidean if self.dist == EUCLIDEAN else self._cosine
        edges = []
        for dim, margins in ((3, [0, 1, 0, 0]), (2, [0, 0, 0, 1])):
            size = images.shape[dim]
            first, second = images.narrow(dim, 0, size - 1), images.narrow(dim, 1, size - 1)
            edges.append(rl.pad(distance(first, second), margins))
        return like_input(self, rl.cat(edges, 1), input)

    def _euclidean(self, first: Tensor, second: Tensor) -> Tensor:
        sums = (first - second).square().sum(1, keepdim=True)
        is_zero = sums == 0
        roots = rl.where(is_zero, sums, rl.where(is_zero, 1.0, sums).sqrt())
        return roots / math.sqrt(first.shape[1]) if self.normalize else roots

    def _cosine(self, first: Tensor, second: Tensor) -> Tensor:
        first, second = first + 1e-12, second + 1e-12
        products = (first * second).sum(1, keepdim=True)
        if not self.normalize:
            return first.shape[1] - products
        lengths = first.square().sum(1, keepdim=True) * second.square().sum(1, keepdim=True)
        return 1 - products / lengths.sqrt()


FAR = 1e30  # the distance from what lies outside of the second image


@register("nn.SpatialMatching")
class SpatialMatching(TableLayer):
    """The squared distance of every place of one image from those around it in another: {KxHxW,
    KxHxW} to HxWxmaxhxmaxw.

    Args:
        maxw, maxh: size of the window in the second image, by default 11.
        full_output: for all places, with windows around them; otherwise for those whose windows,
            which begin at them, lie inside.
    """

    def __init__(
        self, maxw: int | None = None, maxh: int | None = None, full_output: bool | None = None
    ) -> None:
        super().__init__()
        self.maxw = maxw or 11
        self.maxh = maxh or 11
        self.full_output = int(bool(full_output))

    def compute(self, input: Activation) -> Tensor:
        first, second = self._elements(input, 2)[:2]
        height, width = int(self.maxh), int(self.maxw)
        if self.full_output:
            before = [math.ceil(width / 2) - 1, math.ceil(height / 2) - 1]
            after = [width // 2, height // 2]
            margins = [before[0], after[0], before[1], after[1]]
            inside = rl.pad(rl.ones_like(second.detach().narrow(0, 0, 1)), margins)
            second = rl.pad(second, margins)
        else:
            rows, columns = first.shape[1] - height + 1, first.shape[2] - width + 1
            first = first.narrow(1, 0, rows).narrow(2, 0, columns)
        windows = second.unfold(1, height, 1).unfold(2, width, 1)
        output = (first.unsqueeze(3).unsqueeze(4) - windows).square().sum(0)
        if not self.full_output:
            return output
        is_inside = inside.unfold(1, height, 1).unfold(2, width, 1).squeeze(0) > 0
        return rl.where(is_inside, output, FAR)


@register("nn.SpatialRadialMatching")
class SpatialRadialMatching(TableLayer):
    """The squared distance of every place of one image from those below it in another: {KxHxW,
    KxH2xW} to HxWxmaxh. The second image must reach maxh - 1 rows further.

    Args:
        maxh: how many places.

    >>> import relume as rl
    >>> from relume import legacy_nn as nn
    >>> first, second = rl.zeros(1, 1, 1), rl.tensor([[[1.0], [2.0]]])
    >>> nn.SpatialRadialMatching(2).forward([first, second]).tolist()
    [[[1.0, 4.0]]]
    """

    def __init__(self, maxh: int) -> None:
        super().__init__()
        self.maxh = maxh
        self.gradInput1, self.gradInput2 = new_empty(), new_empty()

    def compute(self, input: Activation) -> Tensor:
        first, second = self._elements(input, 2)[:2]
        count = int(self.maxh)
        rows = first.shape[1] + count - 1 if first.ndim == 3 else 0
        is_right = first.ndim == second.ndim == 3 and second.shape[1] >= rows
        if not is_right or (first.shape[0], first.shape[2]) != (second.shape[0], second.shape[2]):
            raise ValueError(
                f"{self}: expected two images KxHxW and KxH2xW, the second at least {count - 1} "
                f"rows higher, got {nested.describe(input)}"
            )
        windows = second.narrow(1, 0, rows).unfold(1, count, 1)
        return (first.unsqueeze(3) - windows).square().sum(0)


# Linear conversions: rows of the output's planes.
COLOR_MATRICES = {
    "yuv2rgb": [[1, 0, 1.13983], [1, -0.39465, -0.58060], [1, 2.03211, 0]],
    "rgb2yuv": [[0.299, 0.587, 0.114], [-0.14713, -0.28886, 0.436], [0.615, -0.51499, -0.10001]],
    "rgb2y": [[0.299, 0.587, 0.114]],
}


def normed_colors(images: Tensor) -> Tensor:
    """Every colour over the sum of all."""
    return images / (images.sum(1, keepdim=True) + 1e-6)


@register("nn.SpatialColorTransform")
class SpatialColorTransform(Module):
    """Colours in another system.

    Args:
        type: 'yuv2rgb', 'rgb2yuv', 'rgb2y', 'rgb2nrgb' (colours over their sum) or 'rgb2y+nrgb'.
    """

    parameter_names = ()

    def __init__(self, type: str) -> None:
        super().__init__()
        if type not in (*COLOR_MATRICES, "rgb2nrgb", "rgb2y+nrgb"):
            raise ValueError(
                f"nn.SpatialColorTransform: no conversion {type!r}; there are "
                f"{', '.join((*COLOR_MATRICES, 'rgb2nrgb', 'rgb2y+nrgb'))}"
            )
        vars(self)["type"] = type  # a field that hides the method, as in Torch7
        self.islinear = type in COLOR_MATRICES

    def _linear(self, name: str, images: Tensor) -> Tensor:
        matrix = rl.tensor(COLOR_MATRICES[name], dtype=images.dtype)
        return rl.conv2d(images, matrix.unsqueeze(2).unsqueeze(3))

    def compute(self, input: Tensor) -> Tensor:
        images = as_planes(self, input)
        kind = vars(self)["type"]
        if kind in COLOR_MATRICES:
            output = self._linear(kind, images)
        elif kind == "rgb2nrgb":
            output = normed_colors(images)
        elif kind == "rgb2y+nrgb":
            output = rl.cat([self._linear("rgb2y", images), normed_colors(images)], 1)
        else:
            raise NotImplementedError(f"{self}: the conversion {kind} is not implemented")
        return like_input(self, output, input)
