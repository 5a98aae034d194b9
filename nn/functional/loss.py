"""Losses between an input and a target.

`reduction` is "mean", "sum" or "none" (a loss for every element or sample). `size_average` and
`reduce` are PyTorch's older way to say the same.
"""

from __future__ import annotations

from relume._C import Tensor
from relume.nn.functional._common import ops, reduction_of, warn_of_broadcast


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """`weight * (input - target) ** 2`.

    >>> import relume as rl
    >>> mse_loss(rl.tensor([1.0, 2.0]), rl.tensor([0.0, 4.0]))
    tensor(2.5)
    """
    warn_of_broadcast("mse_loss", input, target)
    return ops["mse_loss"](input, target, reduction_of(size_average, reduce, reduction), weight)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """`weight * |input - target|`.

    >>> import relume as rl
    >>> l1_loss(rl.tensor([1.0, 2.0]), rl.tensor([0.0, 4.0]))
    tensor(1.5)
    """
    warn_of_broadcast("l1_loss", input, target)
    return ops["l1_loss"](input, target, reduction_of(size_average, reduce, reduction), weight)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """`distance ** 2 / (2 * beta)` where the distance is below `beta`, else `distance - beta / 2`.

    Girshick, "Fast R-CNN", 2015.

    >>> import relume as rl
    >>> smooth_l1_loss(rl.tensor([1.0, 2.0]), rl.tensor([0.5, 4.0]), reduction="none")
    tensor([0.125, 1.5  ])
    """
    warn_of_broadcast("smooth_l1_loss", input, target)
    return ops["smooth_l1_loss"](input, target, reduction_of(size_average, reduce, reduction), beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """`distance ** 2 / 2` below a distance of `delta`, else `delta * (distance - delta / 2)`.

    Huber, "Robust estimation of a location parameter", 1964.

    >>> import relume as rl
    >>> huber_loss(rl.tensor([1.0, 2.0]), rl.tensor([0.5, 4.0]), reduction="none")
    tensor([0.125, 1.5  ])
    """
    warn_of_broadcast("huber_loss", input, target)
    return ops["huber_loss"](input, target, reduction, delta, weight)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the log probability of the target class, from unnormalised scores.

    Args:
        input: scores, shape (C), (N, C) or (N, C, d1, ...).
        target: class numbers (0-based) of shape (), (N) or (N, d1, ...), or probabilities of
            the input's shape.
        weight: a factor for each class, shape (C).
        ignore_index: targets with this number do not count.
        label_smoothing: this much of a target's probability is spread over all classes.

    >>> import relume as rl
    >>> cross_entropy(rl.tensor([[0.0, 0.0]]), rl.tensor([1]))
    tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["cross_entropy"](input, target, weight, reduction, ignore_index, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the input at the target class.

    Args:
        input: log probabilities, shape (C), (N, C) or (N, C, d1, ...).
        target: class numbers (0-based), shape (), (N) or (N, d1, ...).
        weight, ignore_index: as in `cross_entropy`.

    >>> import relume as rl
    >>> nll_loss(rl.tensor([[-0.5, -2.0]]), rl.tensor([1]))
    tensor(2.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["nll_loss"](input, target, weight, reduction, ignore_index)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`-(target * log(input) + (1 - target) * log(1 - input))`; logarithms are at least -100.

    >>> import relume as rl
    >>> binary_cross_entropy(rl.tensor([0.5]), rl.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["binary_cross_entropy"](input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of `sigmoid(input)`, without leaving the range of the type.

    Args:
        pos_weight: a factor for the part of positive targets; its shape broadcasts.

    >>> import relume as rl
    >>> binary_cross_entropy_with_logits(rl.tensor([0.0]), rl.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["binary_cross_entropy_with_logits"](input, target, weight, pos_weight, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence `target * (log(target) - input)`.

    Args:
        input: log probabilities.
        target: probabilities, or their logarithms with `log_target`.
        reduction: also "batchmean": the sum over the size of the first dimension.

    >>> import relume as rl
    >>> kl_div(rl.tensor([0.0]), rl.tensor([1.0]), reduction="sum")
    tensor(0.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["kl_div"](input, target, reduction, log_target)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log likelihood of Poisson counts.

    Args:
        input: the rate, or with `log_input` its logarithm.
        full: add Stirling's approximation of the factorial, for targets above 1.
        eps: keeps the logarithm of a rate of 0 finite.

    >>> import relume as rl
    >>> poisson_nll_loss(rl.tensor([0.0]), rl.tensor([3.0]))
    tensor(1.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["poisson_nll_loss"](input, target, log_input, full, eps, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log likelihood of a normal distribution: `(log(var) + distance ** 2 / var) / 2`.

    Args:
        var: the variance: a number, of the input's shape, or of one that broadcasts to it.
        full: add the constant `log(2 * pi) / 2`.
        eps: variances below this count as this.

    Raises:
        ValueError: a variance is negative.

    >>> import relume as rl
    >>> gaussian_nll_loss(rl.tensor([0.0]), rl.tensor([2.0]), rl.tensor([1.0]))
    tensor(2.)
    """
    if not isinstance(var, Tensor):
        var = ops["full_like"](input, float(var))
    return ops["gaussian_nll_loss"](input, target, var, full, eps, reduction)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The input where the target is 1; `max(0, margin - input)` where it is -1.

    >>> import relume as rl
    >>> hinge_embedding_loss(rl.tensor([0.5, 0.25]), rl.tensor([1, -1]), reduction="none")
    tensor([0.5 , 0.75])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return ops["hinge_embedding_loss"](input, target, margin, reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`log(1 + exp(-target * input))` for targets of 1 and -1.

    >>> import relume as rl
    >>> soft_margin_loss(rl.tensor([0.0]), rl.tensor([1.0]))
    tensor(0.6931)
    """
    return ops["soft_margin_loss"](input, target, reduction_of(size_average, reduce, reduction))


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log likelihood of label sequences, over all ways to align them.

    Graves et al., "Connectionist temporal classification", 2006.

    Args:
        log_probs: shape (T, N, C) or (T, C).
        targets: labels: shape (N, S), or all one after the other in shape (sum of lengths).
        input_lengths, target_lengths: shape (N); tensors or sequences of integers.
        blank: the class between labels.
        reduction: "mean" divides every loss by its target's length first.
        zero_infinity: where the input is too short for its target, 0 instead of infinity.

    >>> import relume as rl
    >>> scores = rl.zeros(3, 1, 2).log_softmax(2)
    >>> ctc_loss(scores, rl.tensor([[1]]), rl.tensor([3]), rl.tensor([1]))
    tensor(0.2877)
    """
    lengths = [
        [int(n) for n in (given.flatten().tolist() if isinstance(given, Tensor) else given)]
        for given in (input_lengths, target_lengths)
    ]
    return ops["ctc_loss"](log_probs, targets, *lengths, blank, reduction, zero_infinity)
