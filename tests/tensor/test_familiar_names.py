"""Names and forms that NumPy and PyTorch users write, against NumPy and SciPy."""

import array
import copy
import math
import pickle

import numpy as np
import pytest
import scipy.signal

import relume as rl

random = np.random.default_rng(5)
ROW = random.normal(size=7)
MATRIX = random.normal(size=(4, 5))
HOLES = np.where(random.uniform(size=(3, 4)) < 0.3, np.nan, random.normal(size=(3, 4)))


def close(ours, expected, tolerance=1e-12):
    np.testing.assert_allclose(np.asarray(ours), expected, rtol=tolerance, atol=tolerance)


# name: (ours, NumPy's or SciPy's)
SAME = {
    "average": (lambda: rl.average(rl.tensor(MATRIX), 0), lambda: np.average(MATRIX, 0)),
    "average weighted": (
        lambda: rl.average(rl.tensor(MATRIX), 1, rl.arange(5.0)),
        lambda: np.average(MATRIX, 1, np.arange(5.0)),
    ),
    "bartlett": (lambda: rl.bartlett_window(7, False, dtype=rl.double), lambda: np.bartlett(7)),
    "blackman": (lambda: rl.blackman_window(7, False, dtype=rl.double), lambda: np.blackman(7)),
    "hamming": (lambda: rl.hamming_window(7, False, dtype=rl.double), lambda: np.hamming(7)),
    "hann": (lambda: rl.hann_window(7, False, dtype=rl.double), lambda: np.hanning(7)),
    "hann periodic": (
        lambda: rl.hann_window(7, dtype=rl.double),
        lambda: scipy.signal.get_window("hann", 7),
    ),
    "kaiser": (lambda: rl.kaiser_window(7, False, 5.0, dtype=rl.double), lambda: np.kaiser(7, 5.0)),
    "cbrt": (lambda: rl.cbrt(rl.tensor(ROW)), lambda: np.cbrt(ROW)),
    "concatenate": (
        lambda: rl.concatenate([rl.tensor(MATRIX)] * 2, axis=1),
        lambda: np.concatenate([MATRIX] * 2, axis=1),
    ),
    "geomspace": (lambda: rl.geomspace(1, 9, 4, dtype="float64"), lambda: np.geomspace(1, 9, 4)),
    "geomspace below 0": (
        lambda: rl.geomspace(-8, -1, 4, dtype="float64"),
        lambda: np.geomspace(-8, -1, 4),
    ),
    "gradient": (lambda: rl.gradient(rl.tensor(MATRIX))[1], lambda: np.gradient(MATRIX)[1]),
    "gradient of coordinates": (
        lambda: rl.gradient(rl.tensor(ROW), spacing=[rl.tensor(ROW.cumsum() ** 2)], edge_order=2)[
            0
        ],
        lambda: np.gradient(ROW, ROW.cumsum() ** 2, edge_order=2),
    ),
    "interp": (
        lambda: rl.interp(
            rl.tensor(ROW), rl.arange(-1.0, 2.0), rl.tensor([5.0, 1.0, 2.0]).double()
        ),
        lambda: np.interp(ROW, np.arange(-1.0, 2.0), [5.0, 1.0, 2.0]),
    ),
    "interp outside": (
        lambda: rl.interp(rl.tensor([-9.0, 9.0]), rl.arange(2.0), rl.arange(2.0), -1.0, 7.0),
        lambda: np.interp([-9.0, 9.0], np.arange(2.0), np.arange(2.0), -1.0, 7.0),
    ),
    "intersect1d": (
        lambda: rl.intersect1d(rl.tensor([3, 1, 3, 2]), rl.tensor([2, 3, 9])),
        lambda: np.intersect1d([3, 1, 3, 2], [2, 3, 9]),
    ),
    "nanargmax": (lambda: rl.nanargmax(rl.tensor(HOLES)), lambda: np.nanargmax(HOLES)),
    "nanargmin": (lambda: rl.nanargmin(rl.tensor(HOLES), 1), lambda: np.nanargmin(HOLES, 1)),
    "nancumprod": (lambda: rl.nancumprod(rl.tensor(HOLES), 1), lambda: np.nancumprod(HOLES, 1)),
    "nancumsum": (lambda: rl.nancumsum(rl.tensor(HOLES), 0), lambda: np.nancumsum(HOLES, 0)),
    "nanmax": (lambda: rl.nanmax(rl.tensor(HOLES), 0), lambda: np.nanmax(HOLES, 0)),
    "nanmin": (lambda: rl.nanmin(rl.tensor(HOLES)), lambda: np.nanmin(HOLES)),
    "nanprod": (lambda: rl.nanprod(rl.tensor(HOLES), 1), lambda: np.nanprod(HOLES, 1)),
    "nanstd": (
        lambda: rl.nanstd(rl.tensor(HOLES), 1, correction=0),
        lambda: np.nanstd(HOLES, 1),
    ),
    "nanvar": (lambda: rl.nanvar(rl.tensor(HOLES), 1), lambda: np.nanvar(HOLES, 1, ddof=1)),
    "percentile": (
        lambda: rl.percentile(rl.tensor(MATRIX), [10, 90], 1),
        lambda: np.percentile(MATRIX, [10, 90], 1),
    ),
    "polyfit": (
        lambda: rl.polyfit(rl.arange(7.0).double(), rl.tensor(ROW), 3),
        lambda: np.polyfit(np.arange(7.0), ROW, 3),
    ),
    "polyval": (lambda: rl.polyval([2, 0, 1], rl.tensor(ROW)), lambda: np.polyval([2, 0, 1], ROW)),
    "setdiff1d": (
        lambda: rl.setdiff1d(rl.tensor([3, 1, 3]), rl.tensor([2, 3])),
        lambda: np.setdiff1d([3, 1, 3], [2, 3]),
    ),
    "setxor1d": (
        lambda: rl.setxor1d(rl.tensor([3, 1, 3]), rl.tensor([2, 3])),
        lambda: np.setxor1d([3, 1, 3], [2, 3]),
    ),
    "union1d": (
        lambda: rl.union1d(rl.tensor([[3, 1]]), rl.tensor([2, 3])),
        lambda: np.union1d([3, 1], [2, 3]),
    ),
    "unwrap": (
        lambda: rl.unwrap(rl.tensor(9 * MATRIX), dim=0),
        lambda: np.unwrap(9 * MATRIX, axis=0),
    ),
    "vdot": (
        lambda: rl.vdot(rl.tensor(ROW + 1j), rl.tensor(ROW * 1j)),
        lambda: np.vdot(ROW + 1j, ROW * 1j),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_functions_as_numpy_has_them(name):
    ours, expected = SAME[name]
    close(ours(), expected(), 1e-9)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("lengths", [(7, 3), (3, 7), (4, 4), (5, 2), (1, 1)])
def test_convolve_and_correlate(mode, lengths):
    a, v = (random.normal(size=n) + 1j * random.normal(size=n) for n in lengths)
    close(rl.convolve(rl.tensor(a), rl.tensor(v), mode), np.convolve(a, v, mode))
    close(rl.correlate(rl.tensor(a), rl.tensor(v), mode), np.correlate(a, v, mode))


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4)])
def test_places_and_indices(shape):
    places = random.integers(0, math.prod(shape), size=(2, 6))
    indices = rl.unravel_index(rl.tensor(places), shape)
    for ours, expected in zip(indices, np.unravel_index(places, shape), strict=True):
        close(ours, expected)
    close(rl.ravel_multi_index(indices, shape), places)
    with pytest.raises(IndexError, match=r"outside|places 0 to"):
        rl.unravel_index(rl.tensor([math.prod(shape)]), shape)


@pytest.mark.parametrize("options", [{}, {"hop_length": 3}, {"normalized": True}])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_short_time_fourier_transform(options, kind):
    signal = random.normal(size=50) + (1j * random.normal(size=50) if kind == "complex" else 0)
    window = np.hanning(10)[:-1]
    hop, length = options.get("hop_length", 4), 16
    padded = np.pad(signal, 8, mode="reflect")
    full = np.zeros(length)
    full[3:12] = window
    pieces = np.stack([padded[i : i + length] * full for i in range(0, 50 + 1, hop)], 1)
    transform = np.fft.rfft if kind == "real" else np.fft.fft
    norm = "ortho" if options.get("normalized") else None
    ours = rl.stft(rl.tensor(signal), length, win_length=9, window=rl.tensor(window), **options)
    close(ours, transform(pieces, axis=0, norm=norm))


@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_the_signal_of_a_transform(center, onesided):
    signal = rl.tensor(random.normal(size=(2, 40)))
    window = rl.hamming_window(8, dtype=rl.float64)
    spectra = rl.stft(signal, 8, window=window, center=center, onesided=onesided)
    back = rl.istft(spectra, 8, window=window, center=center, onesided=onesided, length=40)
    close(back, signal.numpy())


def test_a_transform_has_a_gradient():
    window = rl.hann_window(4, dtype=rl.float64)
    signal = rl.tensor(random.normal(size=12), requires_grad=True)
    assert rl.autograd.gradcheck(lambda x: rl.stft(x, 4, window=window).abs().square(), [signal])


def test_a_window_with_gaps_cannot_be_undone():
    spectra = rl.stft(rl.ones(32), 8, hop_length=8, window=rl.hann_window(8), center=False)
    with pytest.raises(ValueError, match="uncovered"):
        rl.istft(spectra, 8, hop_length=8, window=rl.hann_window(8), center=False)


def test_views_of_another_type_share_the_memory():
    x = rl.tensor([1.0, -2.0])
    bits = x.view(rl.int32)
    close(bits, np.array([1.0, -2.0], "f").view("i4"))
    bits[0] = 0
    assert x[0].item() == 0.0
    close(rl.arange(4).view("uint8"), np.arange(4).view("u1"))
    close(
        rl.arange(6, dtype="int16").reshape(3, 2).view("int32"),
        np.arange(6, dtype="i2").reshape(3, 2).view("i4"),
    )
    with pytest.raises(ValueError, match="whole number"):
        rl.arange(3, dtype="int16").view("int32")
    with pytest.raises(ValueError, match="contiguous"):
        rl.zeros(4, 4).T.view("uint8")


def test_indexing_by_ranges_and_backwards():
    x = rl.tensor(MATRIX)
    close(x[range(1, 4, 2)], MATRIX[range(1, 4, 2)])
    close(x[:, range(2)], MATRIX[:, range(2)])
    close(rl.stack(list(reversed(x))), MATRIX[::-1])
    x[range(2)] = 0
    assert x[:2].abs().sum().item() == 0


def test_einsum_of_numbered_dimensions():
    a, b = random.normal(size=(3, 4)), random.normal(size=(2, 4, 5))
    ours = rl.einsum(rl.tensor(a), [0, 1], rl.tensor(b), [..., 1, 2], [..., 0, 2])
    close(ours, np.einsum(a, [0, 1], b, [..., 1, 2], [..., 0, 2]))
    close(rl.einsum(rl.tensor(a), [1, 0]), np.einsum(a, [1, 0]))


def test_arrays_are_forced_out_of_the_tape():
    x = rl.tensor([1.5], requires_grad=True)
    close((x * 2).numpy(force=True), [3.0])
    close(rl.tensor([1.5], dtype="bfloat16").numpy(force=True), [1.5])


def test_the_default_type():
    try:
        rl.set_default_dtype(rl.double)
        assert rl.get_default_dtype() is rl.float64
        made = [rl.tensor(0.5), rl.zeros(2), rl.rand(2), rl.arange(3) / 2, rl.tensor([4]).sqrt()]
        made += [rl.linspace(0, 1, 3), rl.tensor([2]).mean(dtype=rl.float64), rl.arange(3) * 0.5]
        made += [rl.distributions.Normal(0.0, 1.0).sample(), rl.linalg.vector_norm(rl.tensor([3]))]
        assert {x.dtype for x in made} == {rl.float64}
        assert rl.tensor(1j).dtype is rl.complex128
        with pytest.raises(TypeError, match="float32 or float64"):
            rl.set_default_dtype(rl.int64)
    finally:
        rl.set_default_dtype(rl.float32)
    assert rl.zeros(1).dtype is rl.float32


def test_memory_of_buffers():
    numbers = array.array("h", [1, 2, 3])
    t = rl.frombuffer(numbers, dtype=rl.short, count=2, offset=2)
    t[0] = 9
    assert numbers.tolist() == [1, 9, 3]
    with pytest.raises(ValueError, match="read-only"):
        rl.frombuffer(b"abcd", dtype=rl.float32)
    with pytest.raises(ValueError, match="whole number"):
        rl.frombuffer(bytearray(3), dtype=rl.short)
    assert rl.frombuffer(bytearray(b"\x80?"), dtype=rl.bfloat16).item() == 1.0


@pytest.mark.parametrize("kind", ["uint16", "uint32", "uint64"])
def test_unsigned_arrays_become_wider_or_say_why_not(kind):
    numbers = np.array([0, 2**15, 60000], dtype=kind)
    assert rl.tensor(numbers).tolist() == numbers.tolist()
    with pytest.raises(TypeError, match=r"copy it with relume.tensor"):
        rl.from_numpy(numbers)
    with pytest.raises(AttributeError, match="use int"):
        getattr(rl, kind)


def test_numbers_above_int64_are_refused():
    with pytest.raises(ValueError, match="int64 cannot hold"):
        rl.tensor(np.array([2**63], dtype="uint64"))


def test_printing_options():
    try:
        rl.set_printoptions(precision=2, threshold=4, edgeitems=1)
        assert str(rl.arange(10)) == "tensor([0, ..., 9])"
        assert str(rl.tensor([0.123])) == "tensor([0.12])"
        rl.set_printoptions(sci_mode=True)
        assert str(rl.tensor([1234.5])) == "tensor([1.23e+03])"
        assert rl.get_printoptions()["sci_mode"] is True
    finally:
        rl.set_printoptions(profile="default")
    assert str(rl.tensor([0.123])) == "tensor([0.123])"


def test_generators_go_through_pickle():
    generator = rl.Generator(7)
    generator.uniform()
    again = pickle.loads(pickle.dumps(generator))
    assert [again.uniform() for _ in range(3)] == [generator.uniform() for _ in range(3)]


@pytest.mark.parametrize("weights", [[1.0, -0.5], [np.nan, 1.0], [np.inf, 1.0], [0.0, 0.0]])
def test_weights_without_meaning_are_refused(weights):
    with pytest.raises(ValueError, match=r"weights|positive sum"):
        rl.multinomial(rl.tensor(weights), 1)


def test_bernoulli_draws_ones_as_often_as_it_is_told():
    rl.manual_seed(3)
    assert abs(rl.bernoulli(rl.full((10000,), 0.3)).mean().item() - 0.3) < 0.02
    assert abs(rl.bernoulli(rl.zeros(10000), 0.7).mean().item() - 0.7) < 0.02


def test_names_of_types_and_numbers():
    assert [rl.float, rl.double, rl.half, rl.long, rl.int, rl.short, rl.bool] == [
        rl.float32,
        rl.float64,
        rl.float16,
        rl.int64,
        rl.int32,
        rl.int16,
        rl.bool_,
    ]
    assert (rl.pi, rl.e, rl.inf) == (math.pi, math.e, math.inf) and math.isnan(rl.nan)
    assert rl.ones(2)[rl.newaxis].shape == rl.Size([1, 2])
    assert rl.scalar_tensor(2).dtype is rl.float32


def test_views_of_another_type_go_through_pickle_and_copies():
    z = rl.tensor([1 + 2j, 3])
    for view in (rl.view_as_real(z), rl.tensor([1.0, -2.0]).view(rl.int32)):
        for twin in (pickle.loads(pickle.dumps(view)), copy.deepcopy(view)):
            assert twin.dtype is view.dtype and rl.equal(twin, view)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("jit", "the module itself"),
        ("utils", "relume.data"),
    ],
)
def test_names_that_are_absent_say_what_to_use(name, instead):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; use .*{instead}"):
        getattr(rl, name)


def test_argsort_takes_the_names_of_both_worlds():
    x = rl.tensor([[3, 1], [2, 4]])
    assert rl.argsort(x, axis=0).tolist() == x.argsort(dim=0).tolist() == [[1, 0], [0, 1]]


def test_nothing_is_no_tensor():
    with pytest.raises(TypeError, match="cannot make a tensor of NoneType"):
        rl.tensor(None)


def test_a_script_that_chooses_a_device_chooses_the_cpu():
    assert not rl.accelerator.is_available() and rl.accelerator.device_count() == 0
    assert rl.accelerator.current_accelerator() is None
    assert not rl.backends.mps.is_available() and not rl.backends.cudnn.is_available()
    rl.backends.cudnn.benchmark = True
