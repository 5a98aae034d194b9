"""What layers, losses and poolings compute, written out with NumPy."""

import itertools
import math

import numpy as np
from scipy import special
from scipy.spatial import distance


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, dim):
    return special.softmax(x, dim)


# ---- windows ----


def sizes(value, count):
    return (value,) * count if isinstance(value, int) else tuple(value)


def windows(length, kernel, stride, padding, ceil_mode, dilation=1):
    """For every output the places that a window covers, those in the padding included."""
    extent = dilation * (kernel - 1) + 1
    room = length + 2 * padding - extent
    count = (math.ceil(room / stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (count - 1) * stride >= length + padding:
        count -= 1  # a window that starts in the padding behind
    starts = [i * stride - padding for i in range(count)]
    return [[start + dilation * k for k in range(kernel)] for start in starts]


def pooled(x, count, covers, function):
    """A function of the elements under every window; `covers` lists places by dimension."""
    lead = x.shape[: x.ndim - count]
    out = np.empty((*lead, *map(len, covers)))
    for place in itertools.product(*(range(len(c)) for c in covers)):
        inside = [
            [p for p in covers[d][i] if 0 <= p < x.shape[x.ndim - count + d]]
            for d, i in enumerate(place)
        ]
        part = x[(..., *np.ix_(*inside))].reshape(*lead, -1)
        out[(..., *place)] = function(part, [covers[d][i] for d, i in enumerate(place)])
    return out


def average_pool(count):
    def pool(x, kernel, stride=None, padding=0, ceil_mode=False, include_pad=True, divisor=None):
        kernel, padding = sizes(kernel, count), sizes(padding, count)
        stride = kernel if stride is None else sizes(stride, count)
        shape = x.shape[x.ndim - count :]
        covers = [
            windows(n, k, s, p, ceil_mode)
            for n, k, s, p in zip(shape, kernel, stride, padding, strict=True)
        ]

        def mean(part, places):
            if divisor is not None:
                return part.sum(-1) / divisor
            if not include_pad:
                return part.mean(-1)
            # Places beyond the padding do not count.
            inside = [
                sum(place < n + p for place in dim)
                for dim, n, p in zip(places, shape, padding, strict=True)
            ]
            return part.sum(-1) / math.prod(inside)

        return pooled(x, count, covers, mean)

    return pool


def max_pool(count, with_indices):
    def pool(x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False):
        kernel, padding = sizes(kernel, count), sizes(padding, count)
        stride = kernel if stride is None else sizes(stride, count)
        shape = x.shape[x.ndim - count :]
        covers = [
            windows(n, k, s, p, ceil_mode, d)
            for n, k, s, p, d in zip(
                shape, kernel, stride, padding, sizes(dilation, count), strict=True
            )
        ]
        values = pooled(x, count, covers, lambda part, places: part.max(-1))
        return (values, places_of(x, values, count)) if with_indices else values

    return pool


def places_of(x, values, count):
    """Where each value is in the last dimensions: the samples' elements all differ."""
    lines = x.reshape(*x.shape[: x.ndim - count], -1)
    found = values.reshape(*values.shape[: values.ndim - count], -1)
    return (lines[..., None, :] == found[..., None]).argmax(-1).reshape(values.shape)


def adaptive_covers(shape, output):
    return [
        [list(range(n * i // m, -(-n * (i + 1) // m))) for i in range(m)]
        for n, m in zip(shape, output, strict=True)
    ]


def adaptive_average_pool(count):
    def pool(x, output):
        covers = adaptive_covers(x.shape[x.ndim - count :], sizes(output, count))
        return pooled(x, count, covers, lambda part, places: part.mean(-1))

    return pool


def adaptive_max_pool(count):
    def pool(x, output):
        covers = adaptive_covers(x.shape[x.ndim - count :], sizes(output, count))
        values = pooled(x, count, covers, lambda part, places: part.max(-1))
        return values, places_of(x, values, count)

    return pool


def power_pool(count):
    def pool(x, power, kernel, stride=None, ceil_mode=False):
        kernel = sizes(kernel, count)
        stride = kernel if stride is None else sizes(stride, count)
        covers = [
            windows(n, k, s, 0, ceil_mode)
            for n, k, s in zip(x.shape[x.ndim - count :], kernel, stride, strict=True)
        ]
        full = math.prod(kernel)

        def norm(part, places):
            # A window that reaches out counts as if its mean went on.
            return ((part**power).sum(-1) * full / part.shape[-1]) ** (1 / power)

        return pooled(x, count, covers, norm)

    return pool


def max_unpool(count):
    def unpool(x, indices, kernel, stride=None, padding=0, output_size=None):
        kernel, padding = sizes(kernel, count), sizes(padding, count)
        stride = kernel if stride is None else sizes(stride, count)
        shape = x.shape[x.ndim - count :]
        if output_size is None:
            output_size = [
                (n - 1) * s - 2 * p + k
                for n, s, p, k in zip(shape, stride, padding, kernel, strict=True)
            ]
        lead = x.shape[: x.ndim - count]
        out = np.zeros((*lead, math.prod(output_size)))
        np.put_along_axis(out, indices.reshape(*lead, -1), x.reshape(*lead, -1), -1)
        return out.reshape(*lead, *output_size)

    return unpool


def fractional_max_pool(count):
    """Graham, 2015: windows at the floors of an arithmetic progression with a random start."""

    def pool(x, kernel, output, samples):
        kernel, output = sizes(kernel, count), sizes(output, count)
        shape = x.shape[x.ndim - count :]
        values = np.empty((*x.shape[:2], *output))
        for image, channel in np.ndindex(*x.shape[:2]):
            starts = []
            for d in range(count):
                # Of planes the numbers come for the width first, of volumes for the depth first.
                u = float(samples[image, channel, count - 1 - d if count == 2 else d])
                last, many = shape[d] - kernel[d], output[d]
                step = last / (many - 1) if many > 1 else 0
                starts.append([int((i + u) * step) - int(u * step) for i in range(many - 1)])
                starts[-1].append(last)
            covers = [
                [list(range(s, s + k)) for s in own] for own, k in zip(starts, kernel, strict=True)
            ]
            plane = x[image, channel]
            values[image, channel] = pooled(plane, count, covers, lambda part, at: part.max(-1))
        return values, places_of(x, values, count)

    return pool


def roi_pool(x, rois, output, spatial_scale=1.0):
    """Girshick, 2015: the largest element of each cell of a grid over each region."""
    height, width = x.shape[2:]
    values = np.zeros((len(rois), x.shape[1], *output))
    places = np.full(values.shape, -1)
    for n, roi in enumerate(rois):
        image = int(roi[0])
        left, top, right, bottom = (int(np.floor(c * spatial_scale + 0.5)) for c in roi[1:])
        tall, wide = max(1, bottom - top + 1), max(1, right - left + 1)
        for i, j in np.ndindex(*output):
            rows = range(top + i * tall // output[0], top - (-(i + 1) * tall // output[0]))
            columns = range(left + j * wide // output[1], left - (-(j + 1) * wide // output[1]))
            rows = [r for r in rows if 0 <= r < height]
            columns = [c for c in columns if 0 <= c < width]
            if not rows or not columns:
                continue
            for channel, plane in enumerate(x[image]):
                part = plane[np.ix_(rows, columns)]
                r, c = np.unravel_index(part.argmax(), part.shape)
                values[n, channel, i, j] = part[r, c]
                offset = (image * x.shape[1] + channel) * height * width
                places[n, channel, i, j] = offset + rows[r] * width + columns[c]
    return values, places


def unfold(x, kernel, dilation=1, padding=0, stride=1):
    kernel, dilation, padding, stride = (sizes(v, 2) for v in (kernel, dilation, padding, stride))
    wide = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(p, p) for p in padding])
    rows = windows(wide.shape[-2], kernel[0], stride[0], 0, False, dilation[0])
    columns = windows(wide.shape[-1], kernel[1], stride[1], 0, False, dilation[1])
    patches = [wide[(..., *np.ix_(r, c))] for r in rows for c in columns]
    stacked = np.stack([p.reshape(*x.shape[:-3], -1) for p in patches], -1)
    return stacked


def fold(columns, output_size, kernel, dilation=1, padding=0, stride=1):
    """The sum over all windows: the transpose of unfold, by its columns on unit images."""
    lead = columns.shape[:-2]
    channels = columns.shape[-2] // math.prod(sizes(kernel, 2))
    out = np.zeros((*lead, channels, *output_size))
    for place in np.ndindex(channels, *output_size):
        unit = np.zeros((channels, *output_size))
        unit[place] = 1
        mask = unfold(unit, kernel, dilation, padding, stride)
        out[(..., *place)] = (columns * mask).sum((-2, -1))
    return out


def conv_transpose1d(
    x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
):
    batch = x if x.ndim == 3 else x[None]
    ins, outs, kernel = weight.shape
    length = (batch.shape[2] - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1
    length += output_padding
    wide = np.zeros((len(batch), outs * groups, length + 2 * padding))
    for c, k, t in itertools.product(range(ins), range(kernel), range(batch.shape[2])):
        group = c // (ins // groups)
        target = wide[:, group * outs : (group + 1) * outs, t * stride + k * dilation]
        target += batch[:, c, t, None] * weight[c, :, k]
    out = wide[:, :, padding : padding + length]
    out = out if bias is None else out + bias[:, None]
    return out if x.ndim == 3 else out[0]


# ---- normalisation, attention, distances ----


def rms_norm(x, shape, weight=None, eps=None):
    eps = np.finfo(x.dtype).eps if eps is None else eps
    dims = tuple(range(x.ndim - len(sizes(shape, 1)), x.ndim))
    result = x / np.sqrt((x**2).mean(dims, keepdims=True) + eps)
    return result if weight is None else result * weight


def instance_norm(
    x, mean=None, var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    dims = tuple(range(2, x.ndim))

    def by_channel(v):
        return v.reshape(1, -1, *[1] * len(dims))

    if use_input_stats:
        center, spread = x.mean(dims, keepdims=True), x.var(dims, keepdims=True)
    else:
        center, spread = by_channel(mean), by_channel(var)
    result = (x - center) / np.sqrt(spread + eps)
    result = result if weight is None else result * by_channel(weight)
    return result if bias is None else result + by_channel(bias)


def attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        times = q.shape[-3] // k.shape[-3]
        k, v = np.repeat(k, times, -3), np.repeat(v, times, -3)
    scores = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    # A query that may look at nothing sees zeros.
    nothing = (scores == -np.inf).all(-1, keepdims=True)
    return softmax(np.where(nothing, 0, scores), -1) * ~nothing @ v


def pairwise_distance(a, b, p=2.0, eps=1e-6, keepdim=False):
    return np.linalg.norm(a - b + eps, p, -1, keepdims=keepdim)


def cdist(a, b, p=2.0):
    return np.linalg.norm(a[..., :, None, :] - b[..., None, :, :], axis=-1, ord=p)


def pdist(x, p=2):
    return distance.pdist(x, "minkowski", p=p)


# ---- losses ----


def reduced(loss, reduction):
    return {"none": lambda x: x, "mean": np.mean, "sum": np.sum}[reduction](loss)


def binary_cross_entropy_with_logits(x, y, weight=None, pos_weight=None, reduction="mean"):
    positive = 1 if pos_weight is None else pos_weight
    loss = -(positive * y * np.log(sigmoid(x)) + (1 - y) * np.log(1 - sigmoid(x)))
    return reduced(loss if weight is None else loss * weight, reduction)


def kl_div(x, y, reduction="mean", log_target=False):
    loss = np.exp(y) * (y - x) if log_target else special.xlogy(y, y) - y * x
    return loss.sum() / len(x) if reduction == "batchmean" else reduced(loss, reduction)


def poisson_nll_loss(x, y, log_input=True, full=False, eps=1e-8, reduction="mean"):
    loss = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    if full:
        stirling = y * np.log(y) - y + 0.5 * np.log(2 * np.pi * y)
        loss = loss + np.where(y > 1, stirling, 0)
    return reduced(loss, reduction)


def gaussian_nll_loss(x, y, var, full=False, eps=1e-6, reduction="mean"):
    var = var[..., None] if var.ndim == x.ndim - 1 else var
    var = np.maximum(var, eps)
    loss = 0.5 * (np.log(var) + (x - y) ** 2 / var) + (0.5 * np.log(2 * np.pi) if full else 0)
    return reduced(loss, reduction)


def hinge_embedding_loss(x, y, margin=1.0, reduction="mean"):
    loss = np.where(y == 1, x, 0) + np.where(y == -1, np.maximum(0, margin - x), 0)
    # A target that is neither counts for both.
    loss = np.where((y != 1) & (y != -1), x + np.maximum(0, margin - x), loss)
    return reduced(loss, reduction)


def multilabel_margin_loss(x, y, reduction="mean"):
    lines, labels = np.atleast_2d(x), np.atleast_2d(y)
    losses = []
    for scores, given in zip(lines, labels, strict=True):
        own = list(itertools.takewhile(lambda label: label >= 0, given))
        others = [c for c in range(len(scores)) if c not in own]
        total = sum(max(0, 1 - (scores[i] - scores[j])) for i in own for j in others)
        losses.append(total / len(scores))
    losses = np.array(losses)
    return reduced(losses if x.ndim == 2 else losses[0], reduction)


def multilabel_soft_margin_loss(x, y, weight=None, reduction="mean"):
    loss = -(y * np.log(sigmoid(x)) + (1 - y) * np.log(sigmoid(-x)))
    return reduced((loss if weight is None else loss * weight).mean(-1), reduction)


def cosine_embedding_loss(a, b, y, margin=0, reduction="mean"):
    cosine = (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return reduced(np.where(y == 1, 1 - cosine, np.maximum(0, cosine - margin)), reduction)


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, reduction="mean"
):
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = np.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced(np.maximum(0, near - far + margin), reduction)


# ---- recurrent ----


def lstm_cell(x, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    h, c = hx
    gates = x @ w_ih.T + h @ w_hh.T + (0 if b_ih is None else b_ih + b_hh)
    i, f, g, o = np.split(gates, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_cell(x, h, w_ih, w_hh, b_ih=None, b_hh=None):
    own = x @ w_ih.T + (0 if b_ih is None else b_ih)
    before = h @ w_hh.T + (0 if b_hh is None else b_hh)
    (r, z, n), (hr, hz, hn) = np.split(own, 3, -1), np.split(before, 3, -1)
    update = sigmoid(z + hz)
    return (1 - update) * np.tanh(n + sigmoid(r + hr) * hn) + update * h


def rnn_cell(function):
    def cell(x, h, w_ih, w_hh, b_ih=None, b_hh=None):
        return function(x @ w_ih.T + h @ w_hh.T + (0 if b_ih is None else b_ih + b_hh))

    return cell


def recurrent(cell, is_lstm=False):
    """Layers of a cell in one or both directions; the samples that have ended keep their state."""

    def run(
        x, hx, params, has_biases=True, layers=1, dropout=0, train=False, bidirectional=False,
        batch_first=False, batch_sizes=None,
    ):  # fmt: skip
        if batch_sizes is None:
            by_time = np.swapaxes(x, 0, 1) if batch_first else x
            steps = list(by_time)
        else:
            steps = np.split(x, np.cumsum(batch_sizes)[:-1])
        directions = 2 if bidirectional else 1
        per = 4 if has_biases else 2
        states = list(zip(*hx, strict=True)) if is_lstm else list(hx)
        last = []
        for layer in range(layers):
            outputs = []
            for direction in range(directions):
                part = layer * directions + direction
                own = params[part * per : (part + 1) * per]
                state = [s.copy() for s in states[part]] if is_lstm else states[part].copy()
                order = range(len(steps))[:: -1 if direction else 1]
                made = [None] * len(steps)
                for t in order:
                    n = len(steps[t])
                    if is_lstm:
                        h, c = cell(steps[t], (state[0][:n], state[1][:n]), *own)
                        state[0][:n], state[1][:n] = h, c
                    else:
                        h = cell(steps[t], state[:n], *own)
                        state[:n] = h
                    made[t] = h
                outputs.append(made)
                last.append(state)
            steps = [np.concatenate(parts, -1) for parts in zip(*outputs, strict=True)]
        if batch_sizes is None:
            output = np.stack(steps, 1 if batch_first else 0)
        else:
            output = np.concatenate(steps)
        if is_lstm:
            return output, *(np.stack(parts) for parts in zip(*last, strict=True))
        return output, np.stack(last)

    return run


tanh_cell, relu_cell = rnn_cell(np.tanh), rnn_cell(lambda x: np.maximum(x, 0))
REFERENCES = {
    "adaptive_avg_pool1d": adaptive_average_pool(1),
    "adaptive_avg_pool2d": adaptive_average_pool(2),
    "adaptive_avg_pool3d": adaptive_average_pool(3),
    "adaptive_max_pool1d": adaptive_max_pool(1),
    "adaptive_max_pool2d": adaptive_max_pool(2),
    "adaptive_max_pool3d": adaptive_max_pool(3),
    "avg_pool1d": average_pool(1),
    "avg_pool2d": average_pool(2),
    "avg_pool3d": average_pool(3),
    "binary_cross_entropy_with_logits": binary_cross_entropy_with_logits,
    "cdist": cdist,
    "bilinear": lambda a, b, weight, bias=0: np.einsum("...i,kij,...j->...k", a, weight, b) + bias,
    "col2im": fold,
    "conv_transpose1d": conv_transpose1d,
    "cosine_embedding_loss": cosine_embedding_loss,
    "feature_alpha_dropout": lambda x, p=0.5, training=False: x,
    "feature_dropout": lambda x, p=0.5, training=True: x,
    "fractional_max_pool2d": fractional_max_pool(2),
    "fractional_max_pool3d": fractional_max_pool(3),
    "gaussian_nll_loss": gaussian_nll_loss,
    "gru": recurrent(gru_cell),
    "gru_cell": gru_cell,
    "hinge_embedding_loss": hinge_embedding_loss,
    "im2col": unfold,
    "instance_norm": instance_norm,
    "kl_div": kl_div,
    "log_softmax": lambda x, dim: special.log_softmax(x, dim),
    "lp_pool1d": power_pool(1),
    "lp_pool2d": power_pool(2),
    "lp_pool3d": power_pool(3),
    "lstm": recurrent(lstm_cell, is_lstm=True),
    "lstm_cell": lstm_cell,
    "margin_ranking_loss": lambda a, b, y, margin=0, reduction="mean": reduced(
        np.maximum(0, margin - y * (a - b)), reduction
    ),
    "max_pool1d": max_pool(1, False),
    "max_pool1d_with_indices": max_pool(1, True),
    "max_pool2d": max_pool(2, False),
    "max_pool2d_with_indices": max_pool(2, True),
    "max_pool3d": max_pool(3, False),
    "max_pool3d_with_indices": max_pool(3, True),
    "max_unpool1d": max_unpool(1),
    "max_unpool2d": max_unpool(2),
    "max_unpool3d": max_unpool(3),
    "multilabel_margin_loss": multilabel_margin_loss,
    "multilabel_soft_margin_loss": multilabel_soft_margin_loss,
    "pairwise_distance": pairwise_distance,
    "pdist": pdist,
    "poisson_nll_loss": poisson_nll_loss,
    "rms_norm": rms_norm,
    "rnn_relu": recurrent(relu_cell),
    "rnn_relu_cell": relu_cell,
    "rnn_tanh": recurrent(tanh_cell),
    "rnn_tanh_cell": tanh_cell,
    "roi_pool": roi_pool,
    "scaled_dot_product_attention": attention,
    "soft_margin_loss": lambda x, y, reduction="mean": reduced(np.log1p(np.exp(-y * x)), reduction),
    "softmax": softmax,
    "softmin": lambda x, dim: softmax(-x, dim),
    "triplet_margin_loss": triplet_margin_loss,
}
