"""nn.functional against PyTorch: the same call on both, values and all gradients."""

import numpy as np
import pytest

import relume as rl
import relume.nn.functional as ours

torch = pytest.importorskip("torch")
theirs = torch.nn.functional

_random = np.random.default_rng(7)


def normal(*shape):
    return _random.standard_normal(shape)


def uniform(*shape):
    return _random.uniform(0.05, 0.95, shape)


def labels(classes, *shape):
    return _random.integers(0, classes, shape)


def signs(*shape):
    return _random.choice([-1.0, 1.0], shape)


def converted(library, value):
    """Arrays as tensors: floats as leaves, integers without a gradient."""
    if isinstance(value, np.ndarray):
        floating = value.dtype == np.float64
        return library.tensor(value.copy(), requires_grad=floating)
    return value


def results(library, functional, name, arguments, keywords):
    """The output and the gradients of its weighted sum."""
    inputs = [converted(library, value) for value in arguments]
    options = {key: converted(library, value) for key, value in keywords.items()}
    output = getattr(functional, name)(*inputs, **options)
    found = [output.detach().numpy()]
    leaves = [x for x in [*inputs, *options.values()] if getattr(x, "requires_grad", False)]
    if leaves and output.requires_grad:
        weights = np.asarray(np.cos(np.arange(found[0].size)).reshape(found[0].shape) + 0.1)
        (output * library.tensor(weights)).sum().backward()
        found += [None if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]
    return found


def compare(name, *arguments, tolerance=1e-9, **keywords):
    mine = results(rl, ours, name, arguments, keywords)
    other = results(torch, theirs, name, arguments, keywords)
    assert len(mine) == len(other)
    for a, b in zip(mine, other, strict=True):
        if b is None or a is None:
            assert a is None or not a.any()
            assert b is None or not b.any()
            continue
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


X = normal(3, 4) * 4

ACTIVATIONS = [
    ("relu",), ("relu6",), ("leaky_relu", 0.2), ("elu",), ("elu", 0.5), ("selu",), ("celu",),
    ("celu", 2.5), ("silu",), ("mish",), ("hardtanh",), ("hardtanh", -2.0, 0.5), ("hardswish",),
    ("hardsigmoid",), ("hardshrink",), ("hardshrink", 1.5), ("softshrink",), ("softshrink", 1.0),
    ("tanhshrink",), ("softsign",), ("softplus",), ("softplus", 2.0, 3.0), ("logsigmoid",),
    ("gelu",), ("threshold", 0.5, -1.0), ("rrelu",), ("rrelu", 0.2, 0.3), ("glu",), ("glu", 1),
    ("softmax", 1), ("softmin", 0), ("log_softmax", -1), ("tanh",), ("sigmoid",),
]  # fmt: skip


@pytest.mark.parametrize("case", ACTIVATIONS, ids=str)
def test_activations(case):
    name, *arguments = case
    tolerance = 1e-7 if name == "hardsigmoid" else 1e-9  # PyTorch divides by 6 in float32 there
    compare(name, X, *arguments, tolerance=tolerance)
    extreme = np.array([[-50.0, -3.0, 3.0, 50.0], [-0.0, 0.0, 1e-300, -700.0]])
    compare(name, extreme, *arguments, tolerance=tolerance)


def test_gelu_with_tanh():
    compare("gelu", X, approximate="tanh")


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (2, 3, 4, 5)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.filterwarnings("ignore")
def test_softmax_chooses_a_dimension(name, shape):
    compare(name, normal(*shape))


REDUCTIONS = ["mean", "sum", "none"]
A, B = normal(4, 5), normal(4, 5)
P, Q = uniform(4, 5), uniform(4, 5)
LOSSES = [
    ("mse_loss", A, B, {}),
    ("mse_loss", A, B, {"weight": P}),
    ("l1_loss", A, B, {}),
    ("l1_loss", A, B, {"weight": P}),
    ("smooth_l1_loss", A, B, {}),
    ("smooth_l1_loss", A, B, {"beta": 0.3}),
    ("smooth_l1_loss", A, B, {"beta": 0.0}),
    ("huber_loss", A, B, {}),
    ("huber_loss", A, B, {"delta": 0.4, "weight": P}),
    ("binary_cross_entropy", P, Q, {}),
    ("binary_cross_entropy", P, Q, {"weight": uniform(4, 5)}),
    ("binary_cross_entropy", np.array([0.0, 1.0, 0.5]), np.array([0.0, 1.0, 1.0]), {}),
    ("binary_cross_entropy_with_logits", A, Q, {}),
    ("binary_cross_entropy_with_logits", A * 50, Q, {"pos_weight": uniform(5)}),
    ("binary_cross_entropy_with_logits", A, Q, {"weight": uniform(5), "pos_weight": uniform(5)}),
    ("kl_div", np.log(P), Q, {}),
    ("kl_div", np.log(P), np.log(Q), {"log_target": True}),
    ("kl_div", np.log(P), (Q > 0.5) * Q, {}),
    ("poisson_nll_loss", A, Q * 5, {}),
    ("poisson_nll_loss", P, Q * 5, {"log_input": False, "full": True}),
    ("gaussian_nll_loss", A, B, {"var": P}),
    ("gaussian_nll_loss", A, B, {"var": uniform(4), "full": True}),
    ("gaussian_nll_loss", A, B, {"var": uniform(4, 1) * 1e-8, "eps": 1e-3}),
    ("hinge_embedding_loss", A, signs(4, 5), {}),
    ("hinge_embedding_loss", A, signs(4, 5), {"margin": 0.2}),
    ("soft_margin_loss", A, signs(4, 5), {}),
    ("soft_margin_loss", A * 300, signs(4, 5), {}),
    ("multi_margin_loss", A, labels(5, 4), {}),
    ("multi_margin_loss", A, labels(5, 4), {"p": 2, "margin": 0.5}),
    ("multi_margin_loss", A[0], labels(5, 1)[0:1].reshape(()), {}),
    ("multilabel_soft_margin_loss", A, (Q > 0.5) * 1.0, {}),
    ("multilabel_soft_margin_loss", A, (Q > 0.5) * 1.0, {"weight": uniform(5)}),
]  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("case", LOSSES, ids=lambda case: case[0])
def test_losses(case, reduction):
    name, input, target, options = case
    if name.startswith(("binary", "multi", "hinge", "soft_margin", "kl", "poisson", "gaussian")):
        # What PyTorch gives no gradient to, or another one, is not asked for.
        target = target if target.dtype != np.float64 else torch_free(target)
    compare_with_constants(name, input, target, reduction=reduction, **options)


def torch_free(array):
    """Marks an array as a constant."""
    return Constant(array)


class Constant:
    def __init__(self, array):
        self.array = array


def compare_with_constants(name, *arguments, **keywords):
    def wrap(library, functional):
        constants = {k: v for k, v in keywords.items() if isinstance(v, np.ndarray)}
        plain = {k: v for k, v in keywords.items() if k not in constants}
        fixed = {k: library.tensor(v) for k, v in constants.items()}
        inputs = [library.tensor(a.array) if isinstance(a, Constant) else a for a in arguments]
        return results(library, functional, name, inputs, {**plain, **fixed})

    for a, b in zip(wrap(rl, ours), wrap(torch, theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


C = normal(6, 4)
CLASS_WEIGHTS = uniform(4)
CROSS_ENTROPIES = [
    (C, labels(4, 6), {}),
    (C, labels(4, 6), {"weight": CLASS_WEIGHTS}),
    (C, np.array([0, 1, 2, 3, 1, 1]), {"ignore_index": 1}),
    (C, np.array([0, -100, 2, 3, 1, -100]), {"weight": CLASS_WEIGHTS}),
    (C, labels(4, 6), {"label_smoothing": 0.2}),
    (C, np.array([0, -100, 2, 3, 1, -100]), {"label_smoothing": 0.3, "weight": CLASS_WEIGHTS}),
    (C[0], labels(4, 1).reshape(()), {}),
    (normal(2, 3, 4), labels(3, 2, 4), {"weight": uniform(3), "label_smoothing": 0.1}),
    (normal(2, 3, 4, 2), labels(3, 2, 4, 2), {}),
    (C, uniform(6, 4), {}),
    (C, uniform(6, 4), {"weight": CLASS_WEIGHTS, "label_smoothing": 0.2}),
    (normal(2, 3, 4), uniform(2, 3, 4), {}),
    (C[0], uniform(4), {}),
]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("case", range(len(CROSS_ENTROPIES)))
def test_cross_entropy(case, reduction):
    input, target, options = CROSS_ENTROPIES[case]
    if target.dtype == np.float64:
        target = Constant(target)
    compare_with_constants("cross_entropy", input, target, reduction=reduction, **options)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("case", [0, 1, 2, 3, 6, 8])
def test_nll_loss(case, reduction):
    input, target, options = CROSS_ENTROPIES[case]
    compare_with_constants("nll_loss", input, target, reduction=reduction, **options)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_multilabel_margin_loss(reduction):
    target = np.array([[1, 3, -1, 0, 2], [4, -1, 1, 1, 1], [-1, 0, 0, 0, 0], [0, 1, 2, 3, 4]])
    compare_with_constants("multilabel_margin_loss", A, target, reduction=reduction)
    compare_with_constants("multilabel_margin_loss", A[0], target[0], reduction=reduction)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_losses_of_pairs(reduction):
    settings = {"reduction": reduction}
    c = normal(4, 5)
    compare_with_constants("margin_ranking_loss", A[0], B[0], Constant(signs(5)), **settings)
    compare_with_constants(
        "margin_ranking_loss", A, B, Constant(signs(4, 5)), margin=0.7, **settings
    )
    compare_with_constants("cosine_embedding_loss", A, B, Constant(signs(4)), **settings)
    compare_with_constants(
        "cosine_embedding_loss", A, B, Constant(signs(4)), margin=0.3, **settings
    )
    compare_with_constants("cosine_embedding_loss", A[0], B[0], Constant(signs()), **settings)
    compare("triplet_margin_loss", A, B, c, **settings)
    compare("triplet_margin_loss", A, B, c, margin=3.0, p=1, swap=True, **settings)
    compare("triplet_margin_with_distance_loss", A, B, c, margin=2.0, swap=True, **settings)


def test_batchmean():
    compare_with_constants("kl_div", np.log(P), Constant(Q), reduction="batchmean")


@pytest.mark.filterwarnings("ignore")
def test_the_older_arguments():
    for settings in ({"size_average": False}, {"reduce": False}, {"size_average": True}):
        compare("mse_loss", A, B, **settings)


def test_distances():
    compare("cosine_similarity", A, B)
    compare("cosine_similarity", normal(4, 1, 5), normal(3, 5), -1)
    for p in (2.0, 1.0, 3.5, float("inf")):
        compare("pairwise_distance", A, B, p)
        compare("pdist", normal(5, 3), p)
    compare("pairwise_distance", A, B[0], 2.0, 0.1, True)
    compare("normalize", A)
    compare("normalize", normal(2, 3, 4), 1.5, 2)
    compare("bilinear", A, normal(4, 3), normal(2, 5, 3), normal(2))
    compare("bilinear", normal(2, 4, 5), normal(2, 4, 3), normal(2, 5, 3))


@pytest.mark.parametrize("p", [2.0, 1.0, 0.0, 0.7, 3.0, float("inf")])
@pytest.mark.parametrize("rows", [(4, 3), (30, 2), (2, 40)])
def test_cdist(rows, p):
    a, b = normal(2, rows[0], 5), normal(1, rows[1], 5)
    mine = [rl.tensor(x, requires_grad=True) for x in (a, b)]
    other = [torch.tensor(x, requires_grad=True) for x in (a, b)]
    out, expected = rl.cdist(*mine, p), torch.cdist(*other, p)
    np.testing.assert_allclose(out.detach().numpy(), expected.detach().numpy(), atol=1e-9)
    out.sin().sum().backward()
    expected.sin().sum().backward()
    for x, y in zip(mine, other, strict=True):
        np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), atol=1e-8)


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout", "dropout2d"])
def test_dropout_has_the_same_values_where_it_keeps(name):
    """The random numbers differ; the two values that an element can take do not."""
    x = np.ones((2, 50, 3, 3))
    mine = getattr(ours, name)(rl.tensor(x), 0.3, True).numpy()
    other = getattr(theirs, name)(torch.tensor(x), 0.3, True).numpy()
    np.testing.assert_allclose(np.unique(mine.round(9)), np.unique(other.round(9)))


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5), (4, 2, 3, 5)])
def test_layer_norm(shape):
    for count in range(1, len(shape)):
        last = shape[-count:]
        compare("layer_norm", normal(*shape) + 3, last)
        compare("layer_norm", normal(*shape), last, normal(*last), normal(*last), 0.1)
        compare("layer_norm", normal(*shape), last, normal(*last))
        compare("layer_norm", normal(*shape), last, None, normal(*last))
        compare("rms_norm", normal(*shape), last)
        compare("rms_norm", normal(*shape), last, normal(*last), 0.1)


@pytest.mark.parametrize("shape", [(3, 6), (2, 6, 4), (2, 6, 40), (2, 6, 3, 5)])
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm(shape, groups):
    compare("group_norm", normal(*shape) + 2, groups)
    compare("group_norm", normal(*shape), groups, normal(6), normal(6), 0.1)


@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 3, 4, 5)])
def test_instance_norm(shape):
    compare("instance_norm", normal(*shape))
    compare("instance_norm", normal(*shape), None, None, normal(3), normal(3), True, 0.1, 0.01)
    statistics = [normal(3), uniform(3)]
    mine = [rl.tensor(x) for x in statistics]
    other = [torch.tensor(x) for x in statistics]
    x = normal(*shape)
    for use_input in (True, False):
        a = ours.instance_norm(rl.tensor(x), *mine, None, None, use_input, 0.3)
        b = theirs.instance_norm(torch.tensor(x), *other, None, None, use_input, 0.3)
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-9)
        for p, q in zip(mine, other, strict=True):
            np.testing.assert_allclose(p.numpy(), q.numpy(), atol=1e-9)


def test_embedding():
    numbers = np.array([[0, 3, 3], [1, 0, 2]])
    compare("embedding", numbers, normal(4, 5))
    compare("embedding", numbers, normal(4, 5), padding_idx=3)
    compare("embedding", numbers, normal(4, 5), padding_idx=-1, scale_grad_by_freq=True)
    table = normal(4, 5)
    mine, other = rl.tensor(table), torch.tensor(table)
    a = ours.embedding(rl.tensor(numbers), mine, max_norm=1.0, norm_type=1.5)
    b = theirs.embedding(torch.tensor(numbers), other, max_norm=1.0, norm_type=1.5)
    np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-6)
    np.testing.assert_allclose(mine.numpy(), other.numpy(), atol=1e-6)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode):
    numbers, starts = np.array([0, 3, 3, 1, 2, 0]), np.array([0, 2, 2, 5])
    compare("embedding_bag", numbers, normal(4, 5), starts, mode=mode)
    compare("embedding_bag", numbers, normal(4, 5), starts, mode=mode, padding_idx=3)
    compare("embedding_bag", numbers.reshape(2, 3), normal(4, 5), mode=mode)
    ends = np.array([0, 2, 5, 6])
    compare("embedding_bag", numbers, normal(4, 5), ends, mode=mode, include_last_offset=True)


def test_embedding_bag_with_weights():
    numbers, starts = np.array([0, 3, 3, 1, 2, 0]), np.array([0, 2, 2, 5])
    compare(
        "embedding_bag", numbers, normal(4, 5), starts, mode="sum", per_sample_weights=normal(6)
    )


def test_one_hot():
    numbers = np.array([[0, 3], [1, 1]])
    compare("one_hot", numbers)
    compare("one_hot", numbers, 6)


def through_log_softmax(library, functional, scores, *arguments, **keywords):
    scores = library.tensor(scores, requires_grad=True)
    loss = functional.ctc_loss(scores.log_softmax(-1), *arguments, **keywords)
    (loss * library.ones_like(loss)).sum().backward()
    return loss.detach().numpy(), scores.grad.numpy()


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("blank", [0, 3])
def test_ctc_loss(reduction, blank):
    scores = normal(12, 3, 5)
    targets = np.array([[1, 2, 2, 4], [4, 4, 1, 1], [2, 1, 1, 1]])
    lengths, sizes = [12, 11, 7], [4, 3, 1]
    flat = np.concatenate([row[:n] for row, n in zip(targets, sizes, strict=True)])
    for labels in (targets, flat):
        results = [
            through_log_softmax(
                library, functional, scores, library.tensor(labels), library.tensor(lengths),
                library.tensor(sizes), blank, reduction,
            )
            for library, functional in ((rl, ours), (torch, theirs))
        ]  # fmt: skip
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-10)


def test_ctc_loss_of_targets_that_do_not_fit():
    scores = normal(2, 1, 3)
    for library, functional in ((rl, ours), (torch, theirs)):
        fixed = [library.tensor(x) for x in ([[1, 1]], [2], [2])]
        loss, gradient = through_log_softmax(
            library, functional, scores, *fixed, zero_infinity=True
        )
        assert loss == 0 and not gradient.any()
    assert ours.ctc_loss(rl.tensor(scores), rl.tensor([[1, 1]]), [2], [2]).item() == float("inf")


ATTENTIONS = [
    ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6), {}),
    ((2, 1, 5, 4), (2, 1, 7, 4), (2, 1, 7, 4), {"scale": 0.2}),
    ((5, 4), (7, 4), (7, 3), {}),
    ((2, 150, 8), (2, 150, 8), (2, 150, 8), {"is_causal": True}),
    ((1, 5, 4), (1, 70, 4), (1, 70, 2), {"is_causal": True}),
    ((2, 4, 5, 4), (2, 2, 7, 4), (2, 2, 7, 4), {"enable_gqa": True}),
    ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4), {"attn_mask": normal(5, 7)}),
    ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4), {"attn_mask": normal(2, 3, 5, 7)}),
    ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4), {"attn_mask": normal(2, 1, 5, 7)}),
]


@pytest.mark.parametrize("gradient_of_mask", [False, True])
@pytest.mark.parametrize("case", range(len(ATTENTIONS)))
def test_attention(case, gradient_of_mask):
    query, key, value, options = ATTENTIONS[case]
    inputs = [normal(*shape) for shape in (query, key, value)]
    run = compare if gradient_of_mask else compare_with_constants
    run("scaled_dot_product_attention", *inputs, **options)


def test_attention_with_a_mask_of_what_is_seen():
    seen = np.array(_random.uniform(size=(5, 7)) > 0.5)
    seen[:, 0] = True
    compare_with_constants(
        "scaled_dot_product_attention", normal(2, 5, 4), normal(2, 7, 4), normal(2, 7, 4),
        attn_mask=seen,
    )  # fmt: skip
