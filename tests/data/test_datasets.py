"""Datasets, samplers and collating."""

import collections
import math

import numpy as np
import pytest

import relume as rl
from relume.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DistributedSampler,
    RandomSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)

Point = collections.namedtuple("Point", "x y")


def test_tensor_dataset():
    dataset = TensorDataset(rl.arange(6).reshape(3, 2), rl.tensor([1.0, 2.0, 3.0]))
    assert len(dataset) == 3
    x, y = dataset[2]
    assert x.tolist() == [4, 5] and y.item() == 3
    with pytest.raises(ValueError, match="first size"):
        TensorDataset(rl.ones(2), rl.ones(3))


def test_datasets_joined():
    both = ConcatDataset([[1, 2], range(10, 13)])
    assert len(both) == 5 and [both[i] for i in range(-5, 5)] == [1, 2, 10, 11, 12] * 2
    with pytest.raises(IndexError, match="out of range"):
        both[5]
    tensors = TensorDataset(rl.arange(2)) + TensorDataset(rl.arange(3))
    assert len(tensors) == 5 and tensors[4][0].item() == 2
    assert list(ChainDataset([[1], [2, 3]])) == [1, 2, 3]
    assert StackDataset([1, 2], "ab")[1] == (2, "b")
    with pytest.raises(ValueError, match="different lengths"):
        StackDataset([1], [1, 2])


def test_random_split_is_a_partition():
    parts = random_split(range(10), [3, 7])
    assert [len(part) for part in parts] == [3, 7]
    assert sorted(x for part in parts for x in part) == list(range(10))
    assert [len(p) for p in random_split(range(7), [0.5, 0.25, 0.25])] == [4, 2, 1]
    same = [list(random_split(range(9), [9], rl.Generator(3))[0]) for _ in range(2)]
    assert same[0] == same[1]
    with pytest.raises(ValueError, match="sum to 4"):
        random_split(range(5), [1, 3])


def test_subset():
    subset = Subset(TensorDataset(rl.arange(10)), [9, 4])
    assert subset[1][0].item() == 4 and len(subset) == 2
    assert [x.item() for (x,) in subset.__getitems__([0, 1])] == [9, 4]


def test_random_sampler():
    assert sorted(RandomSampler(range(8))) == list(range(8))
    more = list(RandomSampler(range(3), num_samples=7))
    assert len(more) == 7 and sorted(more[:3]) == sorted(more[3:6]) == [0, 1, 2]
    drawn = list(RandomSampler(range(4), replacement=True, num_samples=400))
    assert len(drawn) == 400 and set(drawn) == {0, 1, 2, 3}
    a, b = (list(RandomSampler(range(20), generator=rl.Generator(5))) for _ in range(2))
    assert a == b
    with pytest.raises(ValueError, match="num_samples"):
        RandomSampler(range(4), num_samples=0)


def test_other_samplers():
    assert sorted(SubsetRandomSampler([4, 7, 9])) == [4, 7, 9]
    weights = [0.0, 3.0, 1.0]
    drawn = collections.Counter(WeightedRandomSampler(weights, 4000))
    assert drawn[0] == 0
    assert abs(drawn[1] / 4000 - 0.75) < 6 * math.sqrt(0.75 * 0.25 / 4000)
    assert sorted(WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]
    assert len(BatchSampler(range(7), 3, True)) == 2 and len(BatchSampler(range(7), 3, False)) == 3


@pytest.mark.parametrize("drop_last", [False, True])
def test_distributed_samplers_share_out_everything(drop_last):
    samplers = [DistributedSampler(range(11), 3, rank, drop_last=drop_last) for rank in range(3)]
    shares = [list(sampler) for sampler in samplers]
    assert {len(share) for share in shares} == {3 if drop_last else 4}
    together = [x for share in shares for x in share]
    assert len(set(together)) == (9 if drop_last else 11)
    samplers[0].set_epoch(1)
    assert list(samplers[0]) != shares[0]


def test_collate_numbers_arrays_and_containers():
    samples = [
        (1, 2.5, True, "a", np.float32(3), Point(rl.ones(2), [1, 2]), {"k": np.arange(2)}),
        (2, 3.5, False, "b", np.float32(4), Point(rl.zeros(2), [3, 4]), {"k": np.arange(2) + 5}),
    ]
    integer, real, flag, text, single, point, mapping = default_collate(samples)
    assert integer.dtype == rl.int64 and real.dtype == rl.float64 and flag.dtype == rl.bool_
    assert text == ["a", "b"] and single.dtype == rl.float32
    assert isinstance(point, Point) and point.x.shape == (2, 2)
    assert [part.tolist() for part in point.y] == [[1, 3], [2, 4]]
    assert mapping["k"].tolist() == [[0, 1], [5, 6]]


@pytest.mark.parametrize(
    "samples, error, message",
    [
        ([rl.ones(2), rl.ones(3)], RuntimeError, "collate_fn"),
        ([[1], [1, 2]], RuntimeError, "same length"),
        ([object(), object()], TypeError, "object"),
        ([np.array(["a"]), np.array(["b"])], TypeError, "cannot become tensors"),
    ],
)
def test_collate_says_what_it_cannot_join(samples, error, message):
    with pytest.raises(error, match=message):
        default_collate(samples)
