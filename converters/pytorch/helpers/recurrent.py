"""Recurrent layers: cells that take one step per call, and layers that take a sequence.

A sequence is time x batch x features, or a tuple of steps.
"""

import torch
from torch import nn


class Recurrent(nn.Module):
    """The base of layers that take one step of a sequence per call."""

    state = None


def forget(layer):
    """Lets all recurrent layers inside of a layer begin a new sequence."""
    for part in layer.modules():
        if isinstance(part, Recurrent):
            part.state = None


class RecurrentCell(Recurrent):
    """Keeps the states of a cell from step to step. The cell gets the tuple (x,
    *states) and gives the states, the first of which is the output; `sizes` are
    theirs."""

    def __init__(self, cell, *sizes):
        super().__init__()
        self.cell = cell
        self.sizes = sizes

    def forward(self, x):
        if self.state is None:
            self.state = [x.new_zeros(*x.shape[:-1], size) for size in self.sizes]
        states = self.cell((x, *self.state))
        self.state = states if isinstance(states, tuple) else (states,)
        return self.state[0]


def first_tensor(x):
    """The first tensor of nested tuples."""
    while isinstance(x, (tuple, list)):
        x = x[0]
    return x


def zeros_of(shape, like, batch):
    """Zeros of a shape per sample, or a tuple of zeros for a tuple of shapes."""
    if shape and isinstance(shape[0], tuple):
        return tuple(zeros_of(part, like, batch) for part in shape)
    return like.new_zeros(*batch, *shape)


class Recurrence(Recurrent):
    """Gives a layer (x, its output of the step before). `shape` is that of one sample
    of the output, `sample_dims` counts the dimensions of one sample of the input."""

    def __init__(self, layer, shape, sample_dims):
        super().__init__()
        self.layer = layer
        self.shape = shape
        self.sample_dims = sample_dims

    def forward(self, x):
        if self.state is None:
            like = first_tensor(x)
            batch = like.shape[: like.dim() - self.sample_dims]
            weight = next(self.layer.parameters(), like)
            self.state = zeros_of(self.shape, weight.detach(), batch)
        self.state = self.layer((x, self.state))
        return self.state


class SimpleRecurrent(Recurrent):
    """transfer(merge(input(x), feedback(output before))); transfer(start(input(x)))
    first."""

    def __init__(self, start, input, feedback, merge, transfer):
        super().__init__()
        self.start = start
        self.input = input
        self.feedback = feedback
        self.merge = merge
        self.transfer = transfer

    def forward(self, x):
        x = self.input(x)
        if self.state is None:
            x = self.start(x)
        else:
            x = self.merge((x, self.feedback(self.state)))
        self.state = self.transfer(x)
        return self.state


class Sequencer(nn.Module):
    """Applies a layer to every step of a sequence. `remembers` says, for training and
    for evaluation, whether a sequence goes on where the one before ended."""

    def __init__(self, layer, remembers=(False, False)):
        super().__init__()
        self.layer = layer
        self.remembers = remembers

    def forward(self, x):
        if not self.remembers[0 if self.training else 1]:
            forget(self.layer)
        outputs = tuple(self.layer(step) for step in x)
        is_sequence = isinstance(x, torch.Tensor)
        return torch.stack(outputs) if is_sequence else outputs


class Repeater(nn.Module):
    """Gives a layer the same input for a number of steps."""

    def __init__(self, layer, steps):
        super().__init__()
        self.layer = layer
        self.steps = steps

    def forward(self, x):
        forget(self.layer)
        return tuple(self.layer(x) for _ in range(self.steps))


class ShiftedDirections(nn.Module):
    """What the steps before (`ahead`) and the steps after (`behind`) say of each step,
    merged."""

    def __init__(self, ahead, behind, merge):
        super().__init__()
        self.ahead = ahead
        self.behind = behind
        self.merge = merge

    def forward(self, x):
        before, after = self.ahead(x[:-1]), self.behind(x[1:])
        before = (torch.zeros_like(before[0]), *before)
        after = (*after, torch.zeros_like(after[0]))
        return self.merge((before, after))


class FastLSTMCell(nn.Module):
    """One step of an LSTM, (x, output, cell) to (output, cell); the gates come in the
    order input, candidate, forget, output."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.from_input = nn.Linear(input_size, 4 * hidden_size)
        self.from_output = nn.Linear(hidden_size, 4 * hidden_size, bias=False)

    def forward(self, x):
        x, output, cell = x
        gates = self.from_input(x) + self.from_output(output)
        written, candidate, kept, shown = gates.chunk(4, -1)
        cell = written.sigmoid() * candidate.tanh() + kept.sigmoid() * cell
        return shown.sigmoid() * cell.tanh(), cell


class StepLSTM(nn.Module):
    """One step of an LSTM, (x, output, cell) to (output, cell); the gates come in the
    order input, forget, output, candidate. The output may be a projection."""

    def __init__(self, input_size, hidden_size, output_size=None, mask_zero=False):
        super().__init__()
        rows = input_size + (output_size or hidden_size)
        self.mask_zero = mask_zero
        self.weight = nn.Parameter(torch.zeros(rows, 4 * hidden_size))
        self.bias = nn.Parameter(torch.zeros(4 * hidden_size))
        if output_size is not None:
            self.projection = nn.Parameter(torch.zeros(hidden_size, output_size))
        self.is_projected = output_size is not None

    def forward(self, x):
        x, output, cell = x
        gates = torch.cat((x, output), -1) @ self.weight + self.bias
        written, kept, shown, candidate = gates.chunk(4, -1)
        cell = written.sigmoid() * candidate.tanh() + kept.sigmoid() * cell
        output = shown.sigmoid() * cell.tanh()
        if self.is_projected:
            output = output @ self.projection
        if self.mask_zero:
            keep = (x != 0).any(-1, keepdim=True)
            output, cell = output * keep, cell * keep
        return output, cell


class StepGRU(nn.Module):
    """One step of gated recurrent units, (x, output) to the output. The reset gate acts
    before the multiplication with the weight, unlike in nn.GRUCell."""

    def __init__(self, input_size, hidden_size, mask_zero=False):
        super().__init__()
        self.mask_zero = mask_zero
        self.weight = nn.Parameter(
            torch.zeros(input_size + hidden_size, 3 * hidden_size)
        )
        self.bias = nn.Parameter(torch.zeros(3 * hidden_size))

    def forward(self, x):
        x, output = x
        size = output.shape[-1]
        gates, candidate = self.weight.split((2 * size, size), 1)
        bias, candidate_bias = self.bias.split((2 * size, size))
        gates = (torch.cat((x, output), -1) @ gates + bias).sigmoid()
        reset, update = gates.chunk(2, -1)
        both = torch.cat((x, reset * output), -1)
        new = (both @ candidate + candidate_bias).tanh()
        output = new + update * (output - new)
        if self.mask_zero:
            output = output * (x != 0).any(-1, keepdim=True)
        return output


class SequenceOf(nn.Module):
    """Lets a cell, (x, *states) to states, run over a sequence. The input may be a
    tuple (*first states, sequence), with the states in reverse."""

    state = None

    def __init__(self, cell, *sizes, batch_first=False, remembers=(False, False)):
        super().__init__()
        self.cell = cell
        self.sizes = sizes
        self.batch_first = batch_first
        self.remembers = remembers

    def forward(self, x):
        *given, x = x if isinstance(x, (tuple, list)) else (x,)
        x = x.transpose(0, 1) if self.batch_first else x
        remembers = self.remembers[0 if self.training else 1]
        states = self.state if remembers else None
        if states is None:
            states = [x.new_zeros(x.shape[1], size) for size in self.sizes]
        states = [*given[::-1], *states[len(given) :]]
        outputs = []
        for step in x:
            states = self.cell((step, *states))
            states = states if isinstance(states, tuple) else (states,)
            outputs.append(states[0])
        self.state = [state.detach() for state in states]
        outputs = torch.stack(outputs)
        return outputs.transpose(0, 1) if self.batch_first else outputs


class LSTM(nn.LSTM):
    """An LSTM over a sequence that gives the outputs only. The input may also be a
    tuple (first cell, first output, sequence) or (first output, sequence)."""

    state = None
    remembers = (False, False)

    def forward(self, x):
        *given, x = x if isinstance(x, (tuple, list)) else (x,)
        batch = x.shape[0 if self.batch_first else 1]
        remembers = self.remembers[0 if self.training else 1]
        cell, hidden = self.state[::-1] if remembers and self.state else (None, None)
        count = self.num_layers * (2 if self.bidirectional else 1)
        if cell is None:
            cell = x.new_zeros(count, batch, self.hidden_size)
            hidden = x.new_zeros(count, batch, self.proj_size or self.hidden_size)
        if given:
            hidden = given[-1].unsqueeze(0)
            cell = given[0].unsqueeze(0) if len(given) == 2 else cell
        y, state = super().forward(x, (hidden, cell))
        self.state = tuple(value.detach() for value in state)
        return y


class GRU(nn.GRU):
    """Gated recurrent units over a sequence, of which only the outputs are given."""

    def forward(self, x):
        return super().forward(x)[0]


class RNN(nn.RNN):
    """A simple recurrent network over a sequence, of which only the outputs are
    given."""

    def forward(self, x):
        return super().forward(x)[0]


class MaskZero(nn.Module):
    """Zeroes what a layer gives for samples that are all zeros; the first tensor of a
    tuple counts. `sample_dims` counts the dimensions of one sample."""

    def __init__(self, layer, sample_dims):
        super().__init__()
        self.layer = layer
        self.sample_dims = sample_dims

    def forward(self, x):
        first = first_tensor(x)
        dims = range(first.dim() - self.sample_dims, first.dim())
        keep = (first != 0).any(dim=tuple(dims)) if dims else first != 0
        return masked(self.layer(x), keep)


def masked(value, keep):
    """A value (or a tuple of them) with zeros for the samples that are not to be
    kept."""
    if isinstance(value, (tuple, list)):
        return tuple(masked(part, keep) for part in value)
    return value * keep.reshape(keep.shape + (1,) * (value.dim() - keep.dim()))


class SumWithNumber(nn.Module):
    """The input plus a number, or the negative of that."""

    def __init__(self, addend, negate=False):
        super().__init__()
        self.addend = addend
        self.negate = negate

    def forward(self, x):
        return -(x + self.addend) if self.negate else x + self.addend


class Flip(nn.Module):
    """Turns a dimension around."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return x.flip(self.dim)


def norms(states):
    """The norm of every row, as a column."""
    return states.square().sum(1, keepdim=True).sqrt()


class StabilizedNorms(torch.autograd.Function):
    """Gives back the states of a step; adds the gradient of beta * mean((norm - norm of
    the step before)^2)."""

    @staticmethod
    def forward(ctx, states, before, beta):
        ctx.save_for_backward(states, before)
        ctx.beta = beta
        return states.clone()

    @staticmethod
    def backward(ctx, gradient):
        states, before = ctx.saved_tensors
        factor = (norms(states) - norms(before)) * (2 * ctx.beta / states.shape[0])
        of_states = states * (factor / norms(states))
        return gradient + of_states, -before * (factor / norms(before)), None


class NormStabilizer(Recurrent):
    """Gives back its input; training keeps the norms of neighbouring steps close."""

    def __init__(self, beta):
        super().__init__()
        self.beta = beta

    def forward(self, x):
        before, self.state = self.state, x
        if before is None or not self.training:
            return x
        return StabilizedNorms.apply(x, before, self.beta)


class SequenceDropout(Recurrent):
    """Drops elements while training. The mask may last for a whole sequence, and be one
    for all samples of a batch."""

    def __init__(self, p, lasts=False, one_for_all=False, scales=True):
        super().__init__()
        self.p = p
        self.lasts = lasts
        self.one_for_all = one_for_all
        self.scales = scales

    def forward(self, x):
        if not self.training:
            return x if self.scales else x * (1 - self.p)
        if self.state is None or not self.lasts:
            mask = torch.empty_like(x[:1] if self.one_for_all else x)
            mask.bernoulli_(1 - self.p)
            self.state = mask / (1 - self.p) if self.scales else mask
        return x * self.state


class VanillaStep(nn.Module):
    """One step of a simple recurrent layer, (x, state) to the state."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(input_size + hidden_size, hidden_size))
        self.bias = nn.Parameter(torch.zeros(hidden_size))

    def forward(self, x):
        return (torch.cat(x, -1) @ self.weight + self.bias).tanh()
