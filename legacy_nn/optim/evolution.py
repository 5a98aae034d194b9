"""Optimisers without gradients: covariance matrix adaptation and differential evolution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import relume as rl
from relume import Tensor
from relume.legacy_nn.optim.settings import Function, Settings, number, prepare


@dataclass
class Rates:
    """What cmaes works out once from the number of parameters and the population."""

    parents: int
    weights: Tensor  # of the parents in the mean, best first; they add up to 1
    effective: float  # how many equally weighted parents they are worth
    for_covariance_path: float
    for_step_path: float
    rank_one: float
    rank_mu: float
    damping: float


def rates_of(dimensions: int, population: int) -> Rates:
    """Hansen's defaults."""
    half = population / 2
    parents = population // 2
    raw = [math.log(half + 0.5) - math.log(rank + 1) for rank in range(parents)]
    weights = rl.tensor(raw, dtype=rl.float64) / sum(raw)
    effective = weights.sum().item() ** 2 / weights.square().sum().item()
    n = dimensions
    rank_one = 2 / ((n + 1.3) ** 2 + effective)
    rank_mu = min(1 - rank_one, 2 * (effective - 2 + 1 / effective) / ((n + 2) ** 2 + effective))
    step = (effective + 2) / (n + effective + 5)
    return Rates(
        parents,
        weights,
        effective,
        (4 + effective / n) / (n + 4 + 2 * effective / n),
        step,
        rank_one,
        rank_mu,
        2 * effective / population + 0.3 + step,
    )


class Distribution:
    """The normal distribution that candidates are drawn from, and how it learns."""

    def __init__(self, mean: Tensor, sigma: float, population: int) -> None:
        n = mean.numel()
        self.mean = mean
        self.sigma = sigma
        self.population = population
        self.rates = rates_of(n, population)
        self.covariance = rl.eye(n, dtype=rl.float64)
        self.axes = rl.eye(n, dtype=rl.float64)
        self.scales = rl.ones(n, dtype=rl.float64)
        self.whitening = rl.eye(n, dtype=rl.float64)  # covariance ** -1/2
        self.covariance_path = rl.zeros(n, dtype=rl.float64)
        self.step_path = rl.zeros(n, dtype=rl.float64)
        self.evaluations = 0
        self.decomposed_at = 0

    def draw(self) -> Tensor:
        """Candidates, one per row."""
        rates, n = self.rates, self.mean.numel()
        pause = self.population / (rates.rank_one + rates.rank_mu) / n / 10
        if self.evaluations - self.decomposed_at > pause:
            self.decomposed_at = self.evaluations
            upper = self.covariance.triu()
            self.covariance = upper + self.covariance.triu(1).t()
            variances, self.axes = rl.linalg.eigh(self.covariance)
            self.scales = variances.sqrt()
            self.whitening = self.axes @ rl.diag(1 / self.scales) @ self.axes.t()
        rows = []
        for _ in range(self.population):
            normal = rl.empty((n,), dtype=rl.float64).normal_() * self.scales
            rows.append(self.mean + (self.axes @ normal) * self.sigma)
        return rl.stack(rows, 0)

    def learn(self, candidates: Tensor) -> None:
        """Moves towards the best candidates, which come first."""
        rates, n = self.rates, self.mean.numel()
        self.evaluations += self.population
        old, best = self.mean, candidates[: rates.parents]
        self.mean = best.t() @ rates.weights
        moved = self.mean - old

        c = rates.for_step_path
        length = math.sqrt(c * (2 - c) * rates.effective) / self.sigma
        self.step_path = self.step_path * (1 - c) + (self.whitening @ moved) * length
        size = self.step_path.square().sum().item() / n
        grown = 1 - (1 - c) ** (2 * self.evaluations / self.population)
        is_short = size / grown < 2 + 4 / (n + 1)

        c = rates.for_covariance_path
        length = math.sqrt(c * (2 - c) * rates.effective) / self.sigma * is_short
        self.covariance_path = self.covariance_path * (1 - c) + moved * length
        lost = rates.rank_one - (1 - is_short) * rates.rank_one * c * (2 - c)
        steps = best - old
        spread = steps.t() @ (steps * rates.weights.unsqueeze(1)) / self.sigma**2
        path = rl.outer(self.covariance_path, self.covariance_path)
        self.covariance = (
            self.covariance * (1 - lost - rates.rank_mu)
            + path * rates.rank_one
            + spread * rates.rank_mu
        )
        faster = rates.for_step_path / rates.damping * (size - 1) / 2
        self.sigma *= math.exp(min(0.6, faster))

    def is_degenerate(self) -> bool:
        """Are its axes too different, or all too short, to go on?"""
        longest, shortest = self.scales.amax().item(), self.scales.amin().item()
        return longest > 1e7 * shortest or self.sigma * longest < 1e-11


def cmaes(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, list[Any], int]:
    """Minimises by covariance matrix adaptation (Hansen's CMA-ES); gradients are not used.

    Args:
        opfunc: gives f (and anything) at x.
        x: where to start, of any shape; it is not changed.
        config: sigma (the first standard deviation, must be given), maxEval (1000 n^2), ftarget
            (stop at this value), popsize (4 + 3 log n), min_iterations (1), verb_disp (print every
            so many iterations; 0 for never).
        state: read for what config does not say.

    Returns:
        The best parameters (a vector), a list of values (at x, the best of each population, the
        best of all), and the number of evaluations.

    Raises:
        ValueError: no sigma.

    From the optim package of Torch7; random numbers are those of `rl.manual_seed`.

    >>> import relume as rl
    >>> _ = rl.manual_seed(1)
    >>> def sphere(x): return x.square().sum().item(), None
    >>> best, values, _ = cmaes(sphere, rl.tensor([1.0, -2.0]), {"sigma": 0.5, "maxEval": 300})
    >>> values[-1] < 1e-4
    True
    """
    config, state = prepare(config, state)

    def setting(name: str, default: Any = None) -> Any:
        value = config.get(name)
        value = state.get(name) if value is None else value
        return default if value is None else value

    sigma = setting("sigma")
    if sigma is None:
        raise ValueError("cmaes: config needs sigma, the first standard deviation")
    flat = x.detach().reshape((-1,)).to(rl.float64).clone()
    n = flat.numel()
    population = int(setting("popsize", 4 + math.floor(3 * math.log(n))))
    limit, target = float(setting("maxEval", 1e3 * n**2)), setting("ftarget")
    distribution = Distribution(flat, float(sigma), population)
    history: list[Any] = [number(opfunc(x)[0])]
    best, best_value, iteration, is_done = flat, math.inf, 0, False
    while not is_done or iteration < setting("min_iterations", 1):
        iteration += 1
        candidates = distribution.draw()
        values = rl.tensor(
            [number(opfunc(row.reshape(x.shape).to(x.dtype))[0]) for row in candidates],
            dtype=rl.float64,
        )
        values, order = values.sort()
        candidates = candidates.index_select(0, order)
        distribution.learn(candidates)
        lowest, highest = values[0].item(), values[-1].item()
        history.append(lowest)
        if lowest < best_value:
            best, best_value = candidates[0].clone(), lowest
        report(distribution, iteration, lowest, setting("verb_disp", 0))
        is_done = (
            distribution.evaluations >= limit
            or (target is not None and lowest <= target)
            or distribution.is_degenerate()
            or (population > 1 and highest - lowest < 1e-12)
        )
    history.append(best_value)
    return best, history, distribution.evaluations


def report(distribution: Distribution, iteration: int, lowest: float, every: int) -> None:
    """Prints how an iteration went."""
    if every == 0 or (iteration > 2 and iteration % every):
        return
    ratio = (distribution.scales.amax() / distribution.scales.amin()).item()
    widest = distribution.sigma * math.sqrt(distribution.covariance.diagonal().amax().item())
    print(f"{distribution.evaluations}: {ratio:6.1f} {widest:8.1e} {lowest}")


def de(
    opfunc: Function, x: Tensor, config: Settings | None = None, state: Settings | None = None
) -> tuple[Tensor, Tensor]:
    """Minimises by differential evolution; gradients are not used.

    Args:
        opfunc: gives f (and anything) at a vector.
        x: says how many parameters there are, and their type.
        config: popsize (10 n), scaleFactor (usually 0.4 to 1), crossoverRate (0.1 to 0.9), maxFEs
            (evaluations), minRegion (-30) and maxRegion (30), where the first population lies.
        state: not used.

    Returns:
        The best parameters (a vector), and the value of every evaluation.

    Raises:
        ValueError: scaleFactor, crossoverRate or maxFEs is missing.

    From the optim package of Torch7. As there, random numbers are its own and always the same, and
    the search starts from the worst of the first population.

    >>> import relume as rl
    >>> def sphere(x): return x.square().sum().item(), None
    >>> config = {"scaleFactor": 0.5, "crossoverRate": 0.8, "maxFEs": 1000}
    >>> best, values = de(sphere, rl.zeros(2), config)
    >>> sphere(best)[0] < 1e-4
    True
    """
    config, _ = prepare(config, state)
    missing = [n for n in ("scaleFactor", "crossoverRate", "maxFEs") if config.get(n) is None]
    if missing:
        raise ValueError(f"de: config needs {', '.join(missing)}")
    n = x.numel()
    size, limit = int(config.get("popsize") or 10 * n), int(config["maxFEs"])
    low, high = config.get("minRegion", -30), config.get("maxRegion", 30)
    generator = rl.Generator()
    generator.manual_seed(1)
    population = rl.empty((size, n), dtype=x.dtype).uniform_(low, high, generator=generator)
    fitness = [number(opfunc(row)[0]) for row in population]
    values = list(fitness)
    worst = max(range(size), key=fitness.__getitem__)
    best, best_value = population[worst].clone(), fitness[worst]
    while len(values) + 1 < limit:
        children = breed(population, best, config, generator)
        child_fitness = [number(opfunc(row)[0]) for row in children]
        values += child_fitness
        for i, value in enumerate(child_fitness):
            if value <= fitness[i]:
                population[i] = children[i]
                fitness[i] = value
                if value < best_value:
                    best, best_value = children[i].clone(), value
    return best, rl.tensor(values[:limit], dtype=x.dtype)


def breed(population: Tensor, best: Tensor, config: Settings, generator: Any) -> Tensor:
    """One child per member: some of its elements come from the best and a difference of two."""
    size, n = population.shape
    scale, rate = config["scaleFactor"], config["crossoverRate"]
    children = population.clone()
    for i in range(size):
        first = draw_other(generator, size, {i})
        second = draw_other(generator, size, {i, first})
        chosen = generator.random() % n
        for j in range(n):
            # Torch7 compares the member, not the element, with the drawn place.
            if generator.random() / 2**32 < rate or i == chosen:
                children[i, j] = best[j] + scale * (population[first, j] - population[second, j])
    return children


def draw_other(generator: Any, count: int, taken: set[int]) -> int:
    """A number below `count` that is not taken."""
    while (drawn := generator.random() % count) in taken:
        pass
    return drawn
