"""Parametrizations: weights by length and direction, of spectral norm 1, and orthogonal."""

from __future__ import annotations

from typing import Any

import relume as rl
from relume import Tensor
from relume.autograd import no_grad
from relume.nn import functional as F
from relume.nn.module import Module
from relume.nn.utils.parametrize import register_parametrization

_ORTHOGONAL_MAPS = ("matrix_exp", "cayley", "householder")


class _WeightNorm(Module):
    """A direction scaled to a length."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / rl.norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The length and the direction of a weight."""
        return rl.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Splits a weight into length (original0) and direction (original1); Salimans, Kingma, 2016.

    Args:
        dim: over all other dimensions the length is taken; None for one length.

    Returns:
        The module.

    >>> from relume import nn
    >>> sorted(name for name, _ in weight_norm(nn.Linear(3, 2)).named_parameters())[1:]
    ['parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iteration follows."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(f"n_power_iterations must be positive, not {n_power_iterations}")
        self.dim = dim % weight.ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim > 1:
            matrix = self._matrix(weight.detach())
            for buffer, size in zip(("_u", "_v"), matrix.shape, strict=True):
                start = rl.randn(size, dtype=weight.dtype)
                self.register_buffer(buffer, F.normalize(start, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        """The weight with dimension dim as rows."""
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, matrix: Tensor, count: int) -> None:
        with no_grad():
            for _ in range(count):
                self._u.copy_(F.normalize(matrix @ self._v, dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.mT @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        return weight / self._u.clone().dot(matrix @ self._v.clone())

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself: assumed to have a norm of 1."""
        return value


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divides a weight by its largest singular value; Miyato et al., 2018.

    Args:
        n_power_iterations: how often the singular vectors are improved when training reads it.
        dim: which dimension makes the rows; 1 for transposed convolutions, otherwise 0.

    Returns:
        The module.

    >>> import relume as rl
    >>> from relume import nn
    >>> layer = spectral_norm(nn.Linear(3, 3), n_power_iterations=30)
    >>> round(rl.linalg.norm(layer.weight, 2).item(), 3)
    1.0
    """
    if dim is None:
        dim = 1 if getattr(module, "transposed", False) else 0
    weight = getattr(module, name)
    parametrization = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, parametrization)


class _Orthogonal(Module):
    """An orthogonal matrix, or one with orthonormal columns (rows when it is wider than tall)."""

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.orthogonal_map = orthogonal_map
        self.shape = weight.shape
        self.use_trivialization = use_trivialization
        self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.shape[-2] < X.shape[-1]
        free = X.mT if wide else X
        if self.orthogonal_map == "householder":
            Q = _reflected(free)
        else:
            Q = _rotated(free, self.orthogonal_map)
        if self.base is not None:
            Q = self.base @ Q
        return Q.mT if wide else Q

    def right_inverse(self, Q: Tensor) -> Tensor:
        """Free parameters of an orthogonal matrix: with trivialization it becomes the base."""
        if Q.shape != self.shape:
            raise ValueError(f"expected a matrix of shape {self.shape}, not {Q.shape}")
        wide = Q.shape[-2] < Q.shape[-1]
        tall = Q.mT if wide else Q
        rows, columns = tall.shape[-2:]
        if not self.use_trivialization:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    f"the inverse of {self.orthogonal_map!r} needs use_trivialization=True"
                )
            free = _reflectors_of(tall)
            return free.mT if wide else free
        missing = rl.randn((*tall.shape[:-1], rows - columns), dtype=tall.dtype)
        self.base = _orthonormal(rl.cat([tall, missing], -1))
        # The free matrix for which the map gives the identity.
        return rl.eye(*Q.shape[-2:], dtype=Q.dtype).expand(Q.shape) * -1.0


def _rotated(free: Tensor, name: str) -> Tensor:
    """The exponential or the Cayley transform of a skew-symmetric matrix."""
    rows, columns = free.shape[-2:]
    lower = F.pad(free.tril(-1), (0, rows - columns))
    skew = lower - lower.mH
    if name == "matrix_exp":
        return rl.matrix_exp(skew)[..., :columns]
    identity = rl.eye(rows, dtype=free.dtype)
    return rl.linalg.solve(identity - skew / 2, identity + skew / 2)[..., :columns]


def _reflected(free: Tensor) -> Tensor:
    """A product of Householder reflections, whose vectors are below the diagonal."""
    vectors = free.tril(-1)
    tau = 2.0 / (1.0 + vectors.abs().square().sum(-2))
    signs = free.diagonal(0, -2, -1).detach().sign()
    return rl.linalg.householder_product(vectors, tau) * signs.unsqueeze(-2)


def _reflectors_of(Q: Tensor) -> Tensor:
    """The vectors and, on the diagonal, the signs of the reflections that make Q."""
    vectors, tau = rl.geqrf(_orthonormal(Q))
    signs = vectors.diagonal(0, -2, -1).sign()
    # A column that needs no reflection has tau 0, where the vectors' length gives 2.
    signs = rl.where(tau == 0, -signs, signs)
    rows, columns = vectors.shape[-2:]
    return vectors.tril(-1) + F.pad(rl.diag_embed(signs), (0, 0, 0, rows - columns))


def _orthonormal(matrix: Tensor) -> Tensor:
    """The orthonormal columns that the QR decomposition gives, keeping their directions."""
    Q, R = rl.linalg.qr(matrix)
    return Q * R.diagonal(0, -2, -1).sign().unsqueeze(-2)


def orthogonal(
    module: Any,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Any:
    """Keeps a matrix orthogonal; one that is not square gets orthonormal columns or rows.

    Args:
        orthogonal_map: "matrix_exp" (the exponential of a skew matrix), "cayley" or "householder"
            (a product of reflections); when left out, "matrix_exp" for square matrices and
            "householder" for others.
        use_trivialization: keep an orthogonal base, so that matrices can be assigned.

    Returns:
        The module; the weight becomes the orthogonal matrix that QR makes of it.

    >>> import relume as rl
    >>> from relume import nn
    >>> Q = orthogonal(nn.Linear(4, 3)).weight
    >>> bool(((Q @ Q.T - rl.eye(3)).abs() < 1e-5).all())
    True
    """
    weight = getattr(module, name)
    if weight.ndim < 2:
        raise ValueError(f"orthogonal() needs a matrix, not shape {weight.shape}")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.dtype.is_complex else "householder"
    if orthogonal_map not in _ORTHOGONAL_MAPS:
        raise ValueError(
            f"orthogonal_map must be one of {', '.join(_ORTHOGONAL_MAPS)}, not {orthogonal_map!r}"
        )
    if orthogonal_map == "householder" and weight.dtype.is_complex:
        raise ValueError("orthogonal(): the Householder map is of real matrices")
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)
