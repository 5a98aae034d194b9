"""Every layer of relume.nn against PyTorch's: names, printing, outputs and gradients."""

import copy
import inspect

import numpy as np
import pytest

import relume as rl
from relume import nn

torch = pytest.importorskip("torch")


def numbers(*shape):
    return np.random.default_rng(sum(shape) + 7).standard_normal(shape)


def indices(high, *shape):
    return np.random.default_rng(3).integers(0, high, shape)


LAYERS = [  # name, arguments, options, inputs
    ("Identity", (5,), {}, [numbers(2, 3)]),
    ("Linear", (4, 3), {}, [numbers(2, 5, 4)]),
    ("Linear", (4, 3), {"bias": False}, [numbers(4)]),
    ("Bilinear", (3, 4, 2), {}, [numbers(5, 3), numbers(5, 4)]),
    ("Flatten", (), {}, [numbers(2, 3, 4)]),
    ("Unflatten", (1, (2, 3)), {}, [numbers(2, 6, 4)]),
    ("Conv1d", (3, 4, 3), {"stride": 2, "padding": 1}, [numbers(2, 3, 9)]),
    ("Conv1d", (4, 6, 3), {"padding": "same", "dilation": 2, "groups": 2}, [numbers(2, 4, 9)]),
    ("Conv2d", (3, 4, 3), {"padding": 1, "padding_mode": "circular"}, [numbers(2, 3, 6, 7)]),
    (
        "Conv2d",
        (3, 4, (3, 2)),
        {"padding": (2, 1), "padding_mode": "reflect"},
        [numbers(2, 3, 6, 7)],
    ),
    ("Conv2d", (4, 4, 3), {"groups": 4, "bias": False}, [numbers(2, 4, 6, 7)]),
    ("Conv3d", (2, 3, 2), {"stride": (1, 2, 1)}, [numbers(2, 2, 4, 5, 6)]),
    ("ConvTranspose1d", (3, 4, 3), {"stride": 2, "output_padding": 1}, [numbers(2, 3, 5)]),
    ("ConvTranspose2d", (4, 6, 3), {"stride": 2, "padding": 1, "groups": 2}, [numbers(2, 4, 5, 4)]),
    ("ConvTranspose3d", (2, 3, 2), {"dilation": 2}, [numbers(1, 2, 3, 4, 3)]),
    ("MaxPool1d", (3,), {"stride": 2, "padding": 1}, [numbers(2, 3, 9)]),
    ("MaxPool2d", (3, 2), {"ceil_mode": True}, [numbers(2, 3, 8, 9)]),
    ("MaxPool3d", (2,), {}, [numbers(2, 3, 4, 5, 6)]),
    ("AvgPool1d", (3,), {"stride": 2, "padding": 1}, [numbers(2, 3, 9)]),
    ("AvgPool2d", (3, 2, 1), {"count_include_pad": False}, [numbers(2, 3, 8, 9)]),
    ("AvgPool3d", (2,), {"divisor_override": 3}, [numbers(2, 3, 4, 5, 6)]),
    ("LPPool1d", (2, 3), {"stride": 2}, [numbers(2, 3, 9)]),
    ("LPPool2d", (3, 2), {}, [abs(numbers(2, 3, 6, 6))]),
    ("AdaptiveAvgPool1d", (4,), {}, [numbers(2, 3, 9)]),
    ("AdaptiveAvgPool2d", ((3, None),), {}, [numbers(2, 3, 7, 5)]),
    ("AdaptiveAvgPool3d", (2,), {}, [numbers(2, 3, 4, 5, 6)]),
    ("AdaptiveMaxPool1d", (4,), {}, [numbers(2, 3, 9)]),
    ("AdaptiveMaxPool2d", ((3, 2),), {}, [numbers(2, 3, 7, 5)]),
    ("AdaptiveMaxPool3d", (2,), {}, [numbers(2, 3, 4, 5, 6)]),
    ("ConstantPad1d", ((1, 2), 3.5), {}, [numbers(2, 3, 4)]),
    ("ConstantPad2d", (1, -1.0), {}, [numbers(2, 3, 4, 5)]),
    ("ConstantPad3d", ((1, 0, 2, 1, 0, 1), 2.0), {}, [numbers(1, 2, 3, 3, 3)]),
    ("ZeroPad1d", (2,), {}, [numbers(2, 3, 4)]),
    ("ZeroPad2d", ((1, 2, 0, 1),), {}, [numbers(2, 3, 4, 5)]),
    ("ZeroPad3d", (1,), {}, [numbers(1, 2, 3, 3, 3)]),
    ("ReflectionPad1d", (2,), {}, [numbers(2, 3, 5)]),
    ("ReflectionPad2d", ((1, 2, 0, 1),), {}, [numbers(2, 3, 4, 5)]),
    ("ReflectionPad3d", (1,), {}, [numbers(1, 2, 3, 3, 3)]),
    ("ReplicationPad1d", ((3, 1),), {}, [numbers(2, 3, 5)]),
    ("ReplicationPad2d", (2,), {}, [numbers(2, 3, 4, 5)]),
    ("ReplicationPad3d", (1,), {}, [numbers(1, 2, 3, 3, 3)]),
    ("CircularPad1d", (2,), {}, [numbers(2, 3, 5)]),
    ("CircularPad2d", ((1, 2, 0, 1),), {}, [numbers(2, 3, 4, 5)]),
    ("CircularPad3d", (1,), {}, [numbers(1, 2, 3, 3, 3)]),
    ("Upsample", (), {"scale_factor": 2}, [numbers(2, 3, 4, 5)]),
    ("Upsample", ((7, 9),), {"mode": "bilinear", "align_corners": True}, [numbers(2, 3, 4, 5)]),
    ("UpsamplingNearest2d", (), {"scale_factor": 3}, [numbers(1, 2, 3, 3)]),
    ("UpsamplingBilinear2d", ((5, 6),), {}, [numbers(1, 2, 3, 3)]),
    ("PixelShuffle", (2,), {}, [numbers(2, 8, 3, 4)]),
    ("PixelUnshuffle", (2,), {}, [numbers(2, 2, 4, 6)]),
    ("ChannelShuffle", (2,), {}, [numbers(2, 6, 3, 3)]),
    ("Unfold", ((2, 3),), {"dilation": 2, "padding": 1, "stride": 2}, [numbers(2, 3, 6, 7)]),
    ("Fold", ((5, 6), 2), {"stride": 1}, [numbers(2, 12, 20)]),
    ("BatchNorm1d", (3,), {}, [numbers(6, 3)]),
    ("BatchNorm1d", (3,), {"momentum": None}, [numbers(6, 3, 4)]),
    ("BatchNorm2d", (3,), {"bias": False}, [numbers(4, 3, 4, 5)]),
    ("BatchNorm2d", (3,), {"affine": False}, [numbers(4, 3, 4, 5)]),
    ("BatchNorm2d", (3,), {"track_running_stats": False}, [numbers(4, 3, 4, 5)]),
    ("BatchNorm3d", (3,), {"eps": 0.1}, [numbers(2, 3, 4, 3, 2)]),
    ("InstanceNorm1d", (3,), {"affine": True}, [numbers(4, 3, 5)]),
    ("InstanceNorm2d", (3,), {"track_running_stats": True}, [numbers(4, 3, 5, 4)]),
    ("InstanceNorm3d", (3,), {}, [numbers(3, 4, 3, 2)]),
    ("LayerNorm", ((4, 5),), {}, [numbers(3, 4, 5)]),
    ("LayerNorm", (5,), {"bias": False}, [numbers(3, 4, 5)]),
    ("RMSNorm", (5,), {"eps": 1e-3}, [numbers(3, 4, 5)]),
    ("GroupNorm", (2, 6), {}, [numbers(3, 6, 4)]),
    ("LocalResponseNorm", (3,), {"alpha": 0.5}, [numbers(2, 5, 3, 3)]),
    ("Embedding", (10, 3), {"padding_idx": 2}, [indices(10, 4, 5)]),
    ("EmbeddingBag", (10, 3), {}, [indices(10, 4, 5)]),
    ("EmbeddingBag", (10, 3), {"mode": "sum"}, [indices(10, 7), np.array([0, 2, 2])]),
    ("EmbeddingBag", (10, 3), {"mode": "max"}, [indices(10, 7), np.array([0, 3])]),
    ("CosineSimilarity", (), {"dim": 1}, [numbers(4, 5), numbers(4, 5) + 0.5]),
    ("PairwiseDistance", (), {"p": 3.0}, [numbers(4, 5), numbers(4, 5) + 0.5]),
    ("ReLU", (), {}, [numbers(3, 4)]),
    ("ReLU6", (), {}, [numbers(3, 4) * 4]),
    ("SELU", (), {}, [numbers(3, 4)]),
    ("SiLU", (), {}, [numbers(3, 4)]),
    ("Mish", (), {}, [numbers(3, 4)]),
    ("Hardswish", (), {}, [numbers(3, 4) * 3]),
    ("Hardsigmoid", (), {}, [numbers(3, 4) * 3]),
    ("Tanh", (), {}, [numbers(3, 4)]),
    ("Sigmoid", (), {}, [numbers(3, 4)]),
    ("LogSigmoid", (), {}, [numbers(3, 4)]),
    ("Softsign", (), {}, [numbers(3, 4)]),
    ("Tanhshrink", (), {}, [numbers(3, 4)]),
    ("ELU", (0.7,), {}, [numbers(3, 4)]),
    ("CELU", (0.7,), {}, [numbers(3, 4)]),
    ("LeakyReLU", (0.2,), {}, [numbers(3, 4)]),
    ("PReLU", (4,), {"init": 0.1}, [numbers(3, 4)]),
    ("GELU", (), {}, [numbers(3, 4)]),
    ("GELU", ("tanh",), {}, [numbers(3, 4)]),
    ("Hardtanh", (-0.5, 1.5), {}, [numbers(3, 4)]),
    ("Softplus", (2.0, 3.0), {}, [numbers(3, 4)]),
    ("Softshrink", (0.3,), {}, [numbers(3, 4)]),
    ("Hardshrink", (0.3,), {}, [numbers(3, 4)]),
    ("Threshold", (0.1, -2.0), {}, [numbers(3, 4)]),
    ("GLU", (1,), {}, [numbers(3, 4)]),
    ("Softmax", (1,), {}, [numbers(3, 4)]),
    ("LogSoftmax", (0,), {}, [numbers(3, 4)]),
    ("Softmin", (1,), {}, [numbers(3, 4)]),
    ("Softmax2d", (), {}, [numbers(2, 3, 4, 5)]),
    ("Dropout", (0.0,), {}, [numbers(3, 4)]),
    ("MultiheadAttention", (6, 2), {}, [numbers(4, 2, 6), numbers(5, 2, 6), numbers(5, 2, 6)]),
    (
        "MultiheadAttention",
        (6, 3),
        {"kdim": 4, "vdim": 5, "batch_first": True, "add_bias_kv": True, "add_zero_attn": True},
        [numbers(2, 4, 6), numbers(2, 3, 4), numbers(2, 3, 5)],
    ),
    ("TransformerEncoderLayer", (6, 2, 10, 0.0), {"batch_first": True}, [numbers(2, 4, 6)]),
    (
        "TransformerEncoderLayer",
        (6, 2, 10, 0.0, "gelu"),
        {"norm_first": True, "bias": False},
        [numbers(2, 4, 6)],
    ),
    ("TransformerDecoderLayer", (6, 2, 10, 0.0), {}, [numbers(4, 2, 6), numbers(3, 2, 6)]),
    ("Transformer", (6, 2, 2, 1, 10, 0.0), {}, [numbers(4, 2, 6), numbers(3, 2, 6)]),
]


def flat(result):
    return [y for y in (result if isinstance(result, tuple) else (result,)) if y is not None]


def ids(entry):
    return "-".join([entry[0], *(str(v) for v in entry[1]), *map(str, entry[2].values())])


def both(name, arguments, options):
    """Our layer and PyTorch's, in double precision, with PyTorch's weights."""
    torch.manual_seed(1)
    theirs = getattr(torch.nn, name)(*arguments, **options).double()
    ours = getattr(nn, name)(*arguments, **options).double()
    with torch.no_grad():
        for parameter in theirs.parameters():  # zeros and ones would hide mistakes
            parameter.add_(torch.randn_like(parameter) * 0.1)
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict(state)
    return ours, theirs


def run(lib, layer, arrays):
    """Outputs, and gradients of inputs and parameters of a weighted sum."""
    make = rl.tensor if lib is rl else torch.tensor
    inputs = [make(a) for a in arrays]
    for x, a in zip(inputs, arrays, strict=True):
        if a.dtype.kind == "f":
            x.requires_grad_()
    outputs = flat(layer(*inputs))
    total = sum((y * make(numbers(*y.shape))).sum() for y in outputs)
    if total.requires_grad:
        total.backward()
    leaves = [*inputs, *layer.parameters()]
    gradients = [None if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]
    return [y.detach().numpy() for y in outputs], gradients


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", LAYERS, ids=ids)
def test_layer(entry):
    name, arguments, options, arrays = entry
    ours, theirs = both(name, arguments, options)
    if not name.startswith("Transformer"):
        assert repr(ours) == repr(theirs)
    for training in (True, False):
        ours.train(training)
        theirs.train(training)
        mine, other = run(rl, ours, arrays), run(torch, theirs, arrays)
        for a, b in zip(mine[0] + mine[1], other[0] + other[1], strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-10)
    for (key, a), b in zip(ours.state_dict().items(), theirs.state_dict().values(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-7, atol=1e-10, err_msg=key)


TARGETS = np.array([1, 0, 3])
LOSSES = [
    ("L1Loss", {}, [numbers(3, 4), numbers(3, 4) + 0.3]),
    ("MSELoss", {"reduction": "sum"}, [numbers(3, 4), numbers(3, 4) + 0.3]),
    ("MSELoss", {"size_average": False}, [numbers(3, 4), numbers(3, 4) + 0.3]),
    ("SmoothL1Loss", {"beta": 0.5}, [numbers(3, 4), numbers(4, 3).T]),
    ("HuberLoss", {"delta": 0.5}, [numbers(3, 4), numbers(4, 3).T]),
    ("NLLLoss", {"ignore_index": 0}, [numbers(3, 4), TARGETS]),
    ("CrossEntropyLoss", {}, [numbers(3, 4), TARGETS]),
    ("CrossEntropyLoss", {"weight": [1.0, 2.0, 3.0, 0.5]}, [numbers(3, 4), TARGETS]),
    ("CrossEntropyLoss", {"label_smoothing": 0.1, "reduction": "none"}, [numbers(3, 4), TARGETS]),
    ("CrossEntropyLoss", {}, [numbers(2, 4, 5), indices(4, 2, 5)]),
    ("BCELoss", {}, [np.abs(np.sin(numbers(3, 4))), np.abs(np.cos(numbers(3, 4)))]),
    ("BCEWithLogitsLoss", {"pos_weight": [2.0] * 4}, [numbers(3, 4), numbers(3, 4) > 0]),
    ("KLDivLoss", {"reduction": "batchmean"}, [numbers(3, 4), np.abs(numbers(3, 4))]),
    ("KLDivLoss", {"log_target": True}, [numbers(3, 4), numbers(3, 4) - 1]),
    ("PoissonNLLLoss", {"full": True}, [numbers(3, 4), np.abs(numbers(3, 4)) * 4]),
    ("GaussianNLLLoss", {}, [numbers(3, 4), numbers(3, 4) + 1, np.abs(numbers(3, 4)) + 0.1]),
    ("HingeEmbeddingLoss", {"margin": 0.5}, [numbers(3, 4), np.sign(numbers(3, 4))]),
    ("MarginRankingLoss", {"margin": 0.5}, [numbers(4), numbers(4)[::-1], np.sign(numbers(4))]),
    ("CosineEmbeddingLoss", {}, [numbers(3, 4), numbers(4, 3).T, np.array([1, -1, 1])]),
    ("SoftMarginLoss", {}, [numbers(3, 4), np.sign(numbers(3, 4))]),
    ("MultiMarginLoss", {"p": 2}, [numbers(3, 4), TARGETS]),
    ("MultiLabelMarginLoss", {}, [numbers(2, 4), np.array([[3, 0, -1, 1], [2, -1, -1, -1]])]),
    ("MultiLabelSoftMarginLoss", {}, [numbers(3, 4), numbers(3, 4) > 0]),
    ("TripletMarginLoss", {"swap": True}, [numbers(3, 4), numbers(4, 3).T, numbers(3, 4) + 1]),
    ("TripletMarginWithDistanceLoss", {}, [numbers(3, 4), numbers(4, 3).T, numbers(3, 4) + 1]),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", LOSSES, ids=lambda e: "-".join([e[0], *map(str, e[1].values())]))
def test_loss(entry):
    name, options, arrays = entry
    results = []
    for lib in (rl, torch):
        make = rl.tensor if lib is rl else torch.tensor
        settings = {k: make(v).double() if isinstance(v, list) else v for k, v in options.items()}
        loss = getattr(nn if lib is rl else torch.nn, name)(**settings).double()
        input = make(arrays[0].copy()).requires_grad_()
        rest = [make(a.copy()) for a in arrays[1:]]
        rest = [x.double() if a.dtype.kind == "b" else x for x, a in zip(rest, arrays[1:])]  # noqa: B905
        value = loss(input, *rest)
        value.sum().backward()
        results.append((value.detach().numpy(), input.grad.numpy()))
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-7, atol=1e-10)


def test_ctc_loss():
    log_probs = np.log(np.abs(np.random.default_rng(0).dirichlet(np.ones(5), (12, 2))))
    targets = np.array([[1, 2, 2, 4], [3, 1, 0, 0]])
    results = []
    for lib, module in ((rl, nn), (torch, torch.nn)):
        make = rl.tensor if lib is rl else torch.tensor
        x = make(log_probs).requires_grad_()
        value = module.CTCLoss()(x, make(targets), make([12, 9]), make([4, 2]))
        value.backward()
        results.append((value.detach().numpy(), x.grad.numpy()))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-10)


@pytest.mark.parametrize(
    "masks",
    [
        {"key_padding_mask": [[False, False, True], [False, True, False]]},
        {"attn_mask": [[False, True, False]] * 4},
        {"attn_mask": [[0.5, -1.0, 0.0]] * 4, "average_attn_weights": False},
        {"attn_mask": [[False, True, False]] * 4, "need_weights": False},
    ],
)
def test_attention_with_masks(masks):
    ours, theirs = both("MultiheadAttention", (6, 2), {"batch_first": True})
    results = []
    for lib, layer in ((rl, ours), (torch, theirs)):
        make = rl.tensor if lib is rl else torch.tensor
        options = {k: make(v) if isinstance(v, list) else v for k, v in masks.items()}
        if "attn_mask" in options and isinstance(masks["attn_mask"][0][0], float):
            options["attn_mask"] = options["attn_mask"].double()
        q, kv = make(numbers(2, 4, 6)), make(numbers(2, 3, 6))
        results.append([y.detach().numpy() for y in flat(layer(q, kv, kv, **options))])
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-7, atol=1e-10)


def test_our_state_loads_into_pytorch():
    ours = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 2))
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3),
        torch.nn.BatchNorm2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(4, 2),
    )
    theirs.load_state_dict({k: torch.from_dlpack(v) for k, v in ours.state_dict().items()})
    x = np.random.default_rng(0).standard_normal((5, 3, 3, 3)).astype("float32")
    a, b = ours(rl.tensor(x)).detach().numpy(), theirs(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


# PyTorch's Hardtanh still takes names that it deprecates.
NO_MATCH = {"Identity", "Hardtanh"}


@pytest.mark.parametrize("name", sorted({entry[0] for entry in LAYERS} | {e[0] for e in LOSSES}))
def test_arguments_have_pytorchs_names_order_and_defaults(name):
    def arguments(module):
        found = inspect.signature(getattr(module, name).__init__).parameters
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        found = [p for p in found.values() if p.kind in named and p.name != "self"]
        return [(p.name, p.default) for p in found]

    if name not in NO_MATCH:
        mine, other = arguments(nn), arguments(torch.nn)
        assert [n for n, _ in mine] == [n for n, _ in other]
        for (argument, a), (_, b) in zip(mine, other, strict=True):
            assert a == b or callable(b), argument


def test_first_values_have_pytorchs_distribution():
    rl.manual_seed(0)
    torch.manual_seed(0)
    for make in (
        lambda m: m.Linear(400, 300),
        lambda m: m.Conv2d(16, 64, 5),
        lambda m: m.ConvTranspose2d(64, 16, 5),
        lambda m: m.Embedding(300, 300),
        lambda m: m.Bilinear(30, 30, 30),
        lambda m: m.MultiheadAttention(120, 4, add_bias_kv=True),
    ):
        ours, theirs = make(nn), make(torch.nn)
        for (key, a), b in zip(
            ours.state_dict().items(), theirs.state_dict().values(), strict=True
        ):
            a, b = a.numpy(), b.numpy()
            if a.size < 100:  # too few to tell
                continue
            assert abs(a.std() - b.std()) <= 0.2 * b.std(), key
            assert abs(abs(a).max() - abs(b).max()) <= 0.35 * abs(b).max(), key


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_reparametrizations(name):
    results = []
    torch.manual_seed(0)
    theirs = getattr(torch.nn.utils, name)(torch.nn.Linear(4, 3).double())
    ours = getattr(nn.utils, name)(nn.Linear(4, 3).double())
    assert sorted(ours.state_dict()) == sorted(theirs.state_dict())
    ours.load_state_dict(copy.deepcopy(theirs.state_dict()))
    for lib, layer in ((rl, ours), (torch, theirs)):
        make = rl.tensor if lib is rl else torch.tensor
        for _ in range(3):
            y = layer(make(numbers(5, 4)))
        y.sum().backward()
        gradients = dict(layer.named_parameters())
        results.append(
            [y.detach().numpy()] + [gradients[k].grad.numpy() for k in sorted(gradients)]
        )
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-12)


def test_clipping():
    results = []
    for lib, module in ((rl, nn), (torch, torch.nn)):
        make = rl.tensor if lib is rl else torch.tensor
        a, b = make([1.0, 2.0], requires_grad=True), make([[3.0]], requires_grad=True)
        ((a * a).sum() + (b * b * b).sum()).backward()
        norms = [
            module.utils.clip_grad_norm_([a, b], limit, p).item()
            for limit, p in ((10.0, 2.0), (5.0, float("inf")), (4.0, 1.0), (100.0, 2.0))
        ]
        module.utils.clip_grad_value_([a, b], 0.3)
        results.append([*norms, *a.grad.tolist(), *b.grad[0].tolist()])
    np.testing.assert_allclose(*results, rtol=1e-5)


RECURRENT = [
    ("RNN", {"num_layers": 2}),
    ("RNN", {"nonlinearity": "relu", "bidirectional": True, "batch_first": True}),
    ("LSTM", {}),
    ("LSTM", {"num_layers": 2, "bidirectional": True}),
    ("LSTM", {"proj_size": 2, "bias": False, "batch_first": True}),
    ("GRU", {"num_layers": 3}),
    ("GRU", {"bidirectional": True, "bias": False}),
]


def states_for(layer, batch):
    """First states of a recurrent layer, as arrays."""
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    h = numbers(count, *batch, layer.proj_size or layer.hidden_size)
    return (h, numbers(count, *batch, layer.hidden_size)) if layer.mode == "LSTM" else (h,)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, options", RECURRENT)
@pytest.mark.parametrize("kind", ["batch", "single", "packed"])
@pytest.mark.parametrize("with_states", [True, False])
def test_recurrent_layer(name, options, kind, with_states):
    ours, theirs = both(name, (3, 4), options)
    assert repr(ours) == repr(theirs)
    lengths, batch = [5, 2, 4], () if kind == "single" else (3,)
    shape = (5, 3) if kind == "single" else (3, 5, 3) if ours.batch_first else (5, 3, 3)
    results = []
    for lib, layer in ((rl, ours), (torch, theirs)):
        make = rl.tensor if lib is rl else torch.tensor
        rnn = nn.utils.rnn if lib is rl else torch.nn.utils.rnn
        x = make(numbers(*shape)).requires_grad_()
        states = [make(s).requires_grad_() for s in states_for(layer, batch)]
        given = (tuple(states) if len(states) > 1 else states[0]) if with_states else None
        input = x
        if kind == "packed":
            input = rnn.pack_padded_sequence(x, lengths, layer.batch_first, enforce_sorted=False)
        output, last = layer(input, given)
        if kind == "packed":
            output, _ = rnn.pad_packed_sequence(output, layer.batch_first)
        outputs = [output, *flat(last)]
        sum((y * make(numbers(*y.shape))).sum() for y in outputs).backward()
        leaves = [x, *(states if with_states else ()), *layer.parameters()]
        results.append([y.detach().numpy() for y in outputs] + [v.grad.numpy() for v in leaves])
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("shape", [(5, 3), (3,)])
def test_recurrent_cell(name, shape):
    ours, theirs = both(name, (3, 4), {})
    assert repr(ours) == repr(theirs)
    results = []
    for lib, cell in ((rl, ours), (torch, theirs)):
        make = rl.tensor if lib is rl else torch.tensor
        state = None
        for step in range(3):
            state = cell(make(numbers(*shape) * (step + 1)), state)
        sum((y * y).sum() for y in flat(state)).backward()
        results.append(
            [y.detach().numpy() for y in flat(state)] + [p.grad.numpy() for p in cell.parameters()]
        )
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_pooling_and_unpooling(dimensions):
    shape = (2, 3, 8, 9, 6)[: 2 + dimensions]
    results = []
    for lib, module in ((rl, nn), (torch, torch.nn)):
        x = (rl.tensor if lib is rl else torch.tensor)(numbers(*shape))
        pool = getattr(module, f"MaxPool{dimensions}d")(2, return_indices=True)
        unpool = getattr(module, f"MaxUnpool{dimensions}d")(2)
        y, where = pool(x)
        results.append([where.numpy(), unpool(y, where, output_size=shape).numpy()])
    for mine, other in zip(*results, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_fractional_max_pooling(dimensions):
    shape = (2, 3, 8, 9, 7)[: 2 + dimensions]
    samples = np.random.default_rng(0).random((2, 3, dimensions))
    results = []
    for lib, module in ((rl, nn), (torch, torch.nn)):
        make = rl.tensor if lib is rl else torch.tensor
        layer = getattr(module, f"FractionalMaxPool{dimensions}d")
        pool = layer(2, output_size=4, _random_samples=make(samples))
        results.append(pool(make(numbers(*shape))).numpy())
    np.testing.assert_array_equal(*results)


def test_pytorchs_weights_come_through_safetensors(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    from relume.converters.safetensors import read

    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    theirs(torch.randn(6, 3))
    safetensors.save_file(theirs.state_dict(), tmp_path / "weights")
    ours = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    ours.load_state_dict(read(tmp_path / "weights")[0])
    for (key, a), b in zip(ours.state_dict().items(), theirs.state_dict().values(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=key)


def test_adaptive_softmax():
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 2.0, head_bias=True).double()
    ours = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 2.0, head_bias=True).double()
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    results = []
    for lib, layer in ((rl, ours), (torch, theirs)):
        make = rl.tensor if lib is rl else torch.tensor
        x = make(numbers(6, 8)).requires_grad_()
        output, loss = layer(x, make([0, 19, 5, 3, 11, 4]))
        loss.backward()
        tensors = [output, loss, layer.log_prob(x), x.grad, *(p.grad for p in layer.parameters())]
        results.append([t.detach().numpy() for t in tensors] + [layer.predict(x).numpy()])
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-8, atol=1e-12)
