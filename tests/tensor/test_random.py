"""Random numbers against what the real Torch7 drew (tests/data/random.t7).

Each golden case is a few lines of Lua. `translate` says the same in terms of the C interface
(scalars, as Lua calls them) and of the registered ops (tensors).
"""

import ctypes
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest

import relume as rl

GOLDEN = Path(__file__).parents[1] / "data" / "random.t7"
DTYPES = {
    "Double": rl.float64,
    "Float": rl.float32,
    "Long": rl.int64,
    "Int": rl.int32,
    "Short": rl.int16,
    "Char": rl.int8,
    "Byte": rl.uint8,
}
core = ctypes.CDLL(rl._C.__file__)
golden = rl.load(GOLDEN)


def c_function(name, result, *arguments):
    function = getattr(core, name)
    function.restype, function.argtypes = result, arguments
    return function


real, integer = ctypes.c_double, ctypes.c_int64
draw_bits = c_function("relume_random", ctypes.c_uint32)
draw_between = c_function("relume_random_between", integer, integer, integer)
draw_uniform = c_function("relume_uniform", real, real, real)
draw_normal = c_function("relume_normal", real, real, real)
draw_exponential = c_function("relume_exponential", real, real)
draw_cauchy = c_function("relume_cauchy", real, real, real)
draw_log_normal = c_function("relume_log_normal", real, real, real)
draw_geometric = c_function("relume_geometric", real, real)
draw_bernoulli = c_function("relume_bernoulli", ctypes.c_int, real)


def draw_random(*bounds):
    if not bounds:
        return draw_bits()
    return draw_between(*((1, *bounds) if len(bounds) == 1 else bounds))


SCALARS = {
    "random": draw_random,
    "uniform": lambda low=0, high=1: draw_uniform(low, high),
    "normal": lambda mean=0, std=1: draw_normal(mean, std),
    "exponential": draw_exponential,
    "cauchy": lambda median=0, scale=1: draw_cauchy(median, scale),
    "logNormal": draw_log_normal,
    "geometric": draw_geometric,
    "bernoulli": lambda p=0.5: draw_bernoulli(p),
}
METHODS = {"logNormal": "log_normal_"}


def fill(tensor, method, arguments):
    """tensor:method(arguments) as Torch7 means it."""
    if method == "random" and arguments:  # both bounds belong to Torch7's range, from 1
        first, last = (1, *arguments) if len(arguments) == 1 else arguments
        return wrapped(tensor.random_(first, last + 1))
    return getattr(tensor, METHODS.get(method, f"{method}_"))(*arguments)


def wrapped(tensor):
    """Torch7 adds the lower bound as an unsigned number: in a floating tensor -3 is 2^64 - 3."""
    if tensor.dtype not in (rl.float32, rl.float64):
        return tensor
    values = tensor.numpy()
    return rl.from_numpy(np.where(values < 0, values + np.array(2.0**64, values.dtype), values))


def numbers(text):
    return [float(n) if "." in n else int(n) for n in re.findall(r"-?[\d.]+", text)]


def translate(source):
    """The result of a golden case's Lua source."""
    if match := re.fullmatch(
        r"local r = {}\nfor i = 1, (\d+) do r\[i\] = torch\.(\w+)\(([^()]*)\) end\nreturn r", source
    ):
        count, name, arguments = match.groups()
        return [SCALARS[name](*numbers(arguments)) for _ in range(int(count))]
    filled = (
        r"torch\.(\w+)Tensor\(([^()]*)\)(:t\(\))?:(\w+)"
        r"\((?:torch\.(\w+)Tensor\(\d+\):fill\()?([^()]*)\)+"
    )
    if match := re.fullmatch(rf"return {filled}", source):
        return fill_case(*match.groups())
    if match := re.fullmatch(rf"local t = {filled}; return {{t, torch.random\(\)}}", source):
        return [fill_case(*match.groups()), draw_bits()]
    return OTHERS[source]()


def fill_case(dtype, shape, transposed, method, probability_dtype, arguments):
    tensor = rl.zeros(numbers(shape), dtype=DTYPES[dtype])
    values = numbers(arguments)
    if probability_dtype:
        values = [rl.full(numbers(shape), values[0], dtype=DTYPES[probability_dtype])]
    return fill(tensor.t() if transposed else tensor, method, values)


def normal_then_seed():
    result = [draw_normal(0, 1)]
    rl.manual_seed(7)
    return [*result, draw_normal(0, 1), draw_normal(0, 1), draw_uniform(0, 1)]


def multinomial(dtype, weights, count, replacement=False):
    return rl.multinomial(rl.tensor(weights, dtype=dtype), count, replacement) + 1


def round_trip(before, draws, after=lambda: None):
    """Draws twice from one saved state."""
    before()
    state = rl.get_rng_state()
    first = draws()
    after()
    rl.set_rng_state(state)
    return [first, draws()]


def state_keeps_cached_normal():
    first = draw_normal(0, 1)
    a, b = round_trip(lambda: None, lambda: draw_normal(0, 1), lambda: rl.manual_seed(1))
    return [first, a, b, draw_normal(0, 1)]


def two_thousand_draws():
    for _ in range(2000):
        draw_bits()
    return [draw_bits(), draw_uniform(0, 1), draw_normal(0, 1)]


def separate_generator():
    with rl.Generator(42) as generator:
        values = [draw_random(), draw_random(10), draw_uniform(0, 2), draw_normal(0, 1)]
        values.append(rl.zeros(3, dtype=rl.float64).uniform_(-1, 1))
        values.append(rl.zeros(3, dtype=rl.float64).normal_())
        values.append(rl.randperm(4) + 1)
    return [*values, generator.initial_seed(), draw_bits()]


def default_float():
    result = [rl.rand([5]), rl.randn([5]), rl.randperm(5) + 1, rl.zeros(5).uniform_(-1, 1)]
    return [*result, draw_bernoulli(0.5)]


def result_tensors():
    t, u, v = rl.rand([4], dtype=rl.float64), rl.randn([4]), rl.randperm(5) + 1
    return [t, u, v]


WEIGHTS = [1, 2, 3, 4, 0, 5]
ROWS = [[1, 2, 3], [0.5, 0.1, 0.4], [0, 1, 0]]
TWO_ROWS = [[1, 2, 3, 1], [0.5, 0.1, 0.4, 2]]
BY_NAME = {
    "normal, uniform, normal, random, normal": lambda: [
        draw_normal(0, 1),
        draw_uniform(0, 1),
        draw_normal(0, 1),
        draw_bits(),
        draw_normal(0, 1),
        draw_uniform(0, 1),
        draw_normal(0, 1),
    ],
    "manualSeed drops the cached normal": normal_then_seed,
    "tensor normal then scalar normal": lambda: [
        rl.zeros(3, dtype=rl.float64).normal_(),
        draw_normal(0, 1),
        draw_normal(0, 1),
        draw_uniform(0, 1),
    ],
    "scalar normal then tensor normal": lambda: [
        draw_normal(0, 1),
        rl.zeros(5, dtype=rl.float64).normal_(2, 3),
        draw_uniform(0, 1),
    ],
    "logNormal uses the same cache": lambda: [
        draw_log_normal(1, 0.5),
        draw_normal(0, 1),
        draw_log_normal(1, 0.5),
        draw_normal(0, 1),
    ],
    "torch.rand": lambda: rl.rand([3, 5], dtype=rl.float64),
    "torch.randn": lambda: rl.randn([3, 5], dtype=rl.float64),
    "torch.randn 4x5": lambda: rl.randn([4, 5], dtype=rl.float64),
    "torch.randperm": lambda: [*(rl.randperm(n) + 1 for n in (1, 2, 12)), draw_bits()],
    "torch.randperm LongTensor": lambda: rl.randperm(10) + 1,
    "result tensor variants": result_tensors,
    "default FloatTensor": default_float,
    "getRNGState/setRNGState round trip": lambda: round_trip(
        lambda: (draw_bits(), draw_uniform(0, 1)),
        lambda: [draw_bits(), draw_uniform(0, 1), draw_normal(0, 1)],
    ),
    "state keeps the cached normal": state_keeps_cached_normal,
    "state across the 624 boundary": lambda: round_trip(
        lambda: [draw_bits() for _ in range(623)], lambda: [draw_bits() for _ in range(3)]
    ),
    "initialSeed": lambda: (draw_bits(), rl.initial_seed())[1],
    "random after 2000 draws": two_thousand_draws,
    "separate torch.Generator": separate_generator,
}
for name in ("Double", "Float"):
    dtype = DTYPES[name]
    BY_NAME.update(
        {
            f"{name} multinomial with replacement": lambda dtype=dtype: [
                multinomial(dtype, WEIGHTS, 12, True),
                draw_bits(),
            ],
            f"{name} multinomial without replacement": lambda dtype=dtype: [
                multinomial(dtype, WEIGHTS, 5),
                draw_bits(),
            ],
            f"{name} multinomial 2D with replacement": lambda dtype=dtype: multinomial(
                dtype, ROWS, 6, True
            ),
            f"{name} multinomial 2D without replacement": lambda dtype=dtype: multinomial(
                dtype, TWO_ROWS, 3
            ),
            f"{name} multinomial one sample": lambda dtype=dtype: [
                multinomial(dtype, [0.1, 0.2, 0.7], 1).item() for _ in range(8)
            ],
        }
    )
OTHERS = {case.src: BY_NAME[case.name] for case in golden.cases if case.name in BY_NAME}
# Drawn from a table that the Lua side builds.
CASES = [case for case in golden.cases if "multinomialAlias" not in case.name]
INEXACT = re.compile(r"normal|exponential|cauchy|Normal|state|draws|Generator|default", re.I)


def flat(value):
    """All numbers of a golden value or of ours, in order."""
    if isinstance(value, rl.Table):
        return [n for item in value.as_list() for n in flat(item)]
    if isinstance(value, (list, tuple)):
        return [n for item in value for n in flat(item)]
    if isinstance(value, rl.Tensor):
        return value.numpy().astype(np.float64).ravel().tolist()
    return [float(value)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}, seed {case.seed}")
def test_golden_case(case):
    rl.manual_seed(case.seed)
    ours, theirs = flat(translate(case.src)), flat(case.value)
    if INEXACT.search(case.name):  # libm's log, sqrt, cos and tan
        tolerance = 1e-6 if "Float" in case.name else 1e-14
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    else:
        assert ours == theirs


@pytest.mark.parametrize("case", golden.states.as_list(), ids=lambda c: f"{c.name}, {c.seed}")
def test_state_bytes_of_torch7(case):
    rl.set_rng_state(case.state)
    assert rl.initial_seed() == case.seed
    assert bytes(rl.get_rng_state().tolist()) == bytes(case.state.tolist())
    assert draw_normal(0, 1) == pytest.approx(case.nexts.normal, rel=1e-14)
    assert [draw_bits(), draw_bits()] == case.nexts.random.as_list()
    assert draw_uniform(0, 1) == case.nexts.uniform


def test_state_bytes_after_every_number_of_draws():
    rl.manual_seed(5)
    for _ in range(1300):
        state = rl.get_rng_state()
        expected = draw_bits()
        rl.set_rng_state(state)
        assert bytes(rl.get_rng_state().tolist()) == bytes(state.tolist())
        assert draw_bits() == expected


@pytest.mark.parametrize(
    "state", [rl.zeros(10, dtype=rl.uint8), rl.zeros(5048, dtype=rl.uint8), rl.zeros(5048)]
)
def test_bytes_that_are_no_state_are_refused(state):
    before = bytes(rl.get_rng_state().tolist())
    with pytest.raises((ValueError, TypeError)):
        rl.set_rng_state(state)
    assert bytes(rl.get_rng_state().tolist()) == before


@pytest.mark.parametrize("seed", [-1, 0, 2**32 + 5, 2**64 + 3])
def test_only_the_low_bits_of_a_seed_matter(seed):
    rl.manual_seed(seed)
    ours = draw_bits()
    rl.manual_seed(seed % 2**32)
    assert draw_bits() == ours


def test_known_first_numbers():
    rl.manual_seed(1)
    assert draw_uniform(0, 1) == 0.4170219984371215
    assert draw_normal(0, 1) == pytest.approx(1.5960743299282, rel=1e-13)
    rl.manual_seed(5489)  # the first output of the published MT19937
    assert draw_bits() == 3499211612


REFUSED = {
    "uniform of integers": lambda: rl.zeros(3, dtype=rl.int32).uniform_(),
    "negative std": lambda: rl.zeros(3).normal_(0, -1),
    "rate of zero": lambda: rl.zeros(3).exponential_(0),
    "probability above one": lambda: rl.zeros(3).bernoulli_(1.5),
    "probabilities above one": lambda: rl.zeros(3).bernoulli_(rl.tensor([0.5, 2.0, 0.5])),
    "NaN probability": lambda: rl.zeros(3).bernoulli_(float("nan")),
    "geometric of one": lambda: rl.zeros(3).geometric_(1.0),
    "empty range": lambda: rl.zeros(3).random_(5, 5),
    "range beyond exact numbers": lambda: rl.zeros(3).random_(0, 2**60),
    "integers from rand": lambda: rl.rand([3], dtype=rl.int64),
    "negative permutation": lambda: rl.randperm(-1),
    "more samples than categories": lambda: rl.multinomial(rl.ones(3), 4),
    "no samples": lambda: rl.multinomial(rl.ones(3), 0),
    "no categories": lambda: rl.multinomial(rl.ones(0), 1),
    "probabilities without a sum": lambda: rl.multinomial(rl.zeros(3), 1),
    "NaN among probabilities": lambda: rl.multinomial(rl.tensor([1.0, float("nan")]), 1),
    "probabilities of three dimensions": lambda: rl.multinomial(rl.ones([2, 2, 2]), 1),
    "probability as a number": lambda: rl.multinomial(rl.tensor(1.0), 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_parameters_without_meaning_are_refused(name):
    with pytest.raises((ValueError, TypeError)):
        REFUSED[name]()


def test_strides_do_not_change_what_is_drawn():
    expected = rl.zeros([4, 6, 5], dtype=rl.float64)
    rl.manual_seed(3)
    expected.normal_()
    strided = rl.zeros([10, 6, 8], dtype=rl.float64).transpose(0, 2)[::2, :, 1::2]
    assert strided.shape == (4, 6, 5)
    rl.manual_seed(3)
    strided.normal_()
    np.testing.assert_array_equal(strided.numpy(), expected.numpy())


@pytest.mark.parametrize("dtype", [rl.float16, rl.bfloat16, rl.bool_])
def test_types_that_torch7_has_not(dtype):
    values = rl.zeros(1000, dtype=dtype).bernoulli_(0.25).to(rl.float32)
    assert set(values.tolist()) == {0.0, 1.0}
    assert 150 < values.sum().item() < 350


def test_empty_tensors_draw_nothing():
    rl.manual_seed(1)
    rl.zeros([0, 3]).uniform_()
    assert rl.randperm(0).shape == (0,)
    assert draw_uniform(0, 1) == 0.4170219984371215


def test_no_gradient_passes_a_fill():
    x = rl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y.uniform_()
    (y * 3).sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


def in_thread(function):
    """The result of a function that runs in a thread of its own."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_each_thread_has_a_default_generator_of_its_own():
    rl.manual_seed(9)
    expected = [draw_bits() for _ in range(4)]
    rl.manual_seed(9)
    drawn = [draw_bits(), draw_bits()]

    def elsewhere():
        rl.manual_seed(9)
        return [draw_bits() for _ in range(4)]

    assert in_thread(elsewhere) == expected
    assert [*drawn, draw_bits(), draw_bits()] == expected


def test_threads_begin_at_different_places():
    begin = [in_thread(rl.initial_seed) for _ in range(3)]
    assert len({*begin, rl.initial_seed()}) == 4


def test_threads_share_a_named_generator_without_losing_draws():
    expected = rl.Generator(9)
    expected = sorted(expected.random() for _ in range(40_000))
    shared = rl.Generator(9)
    drawn = [[] for _ in range(4)]

    def draw(into):
        for _ in range(10_000):
            into.append(shared.random())

    threads = [threading.Thread(target=draw, args=(into,)) for into in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(n for part in drawn for n in part) == expected


DRAWING = {
    "rand": lambda g: rl.rand(3, generator=g),
    "randn": lambda g: rl.randn(3, generator=g),
    "randperm": lambda g: rl.randperm(3, generator=g),
    "normal_": lambda g: rl.zeros(3).normal_(generator=g),
    "bernoulli_": lambda g: rl.zeros(3).bernoulli_(0.5, generator=g),
    "multinomial": lambda g: rl.multinomial(rl.ones(3), 2, generator=g),
    "poisson": lambda g: rl.poisson(rl.ones(3), generator=g),
}


@pytest.mark.parametrize("name", DRAWING)
def test_functions_draw_from_the_generator_they_are_given(name):
    before = rl.get_rng_state()
    first, second = (DRAWING[name](rl.Generator(5)) for _ in range(2))
    assert rl.equal(first, second)
    assert rl.equal(rl.get_rng_state(), before)
    rl.manual_seed(5)
    assert rl.equal(DRAWING[name](None), first)


def test_something_else_than_a_generator_is_refused():
    with pytest.raises(TypeError, match=r"'generator' must be a relume\.Generator, not int"):
        rl.rand(3, generator=5)
    with pytest.raises(TypeError, match="no argument 'generator'"):
        rl.zeros(3, generator=rl.Generator(5))


def test_a_forked_child_can_draw():
    stop = threading.Event()

    def fill_forever():
        tensor = rl.zeros(100_000)
        while not stop.is_set():
            tensor.normal_()

    thread = threading.Thread(target=fill_forever)
    thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                draw_bits()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("std", [-1.0, rl.tensor([1.0, -1.0])])
def test_normal_refuses_negative_deviations(std):
    with pytest.raises(ValueError, match="std >= 0"):
        rl.normal(rl.zeros(2), std)


def test_a_seeded_generator_in_one_expression():
    drawn = rl.rand(2, generator=rl.Generator(device="cpu").manual_seed(5))
    rl.manual_seed(5)
    assert rl.equal(rl.rand(2), drawn)
