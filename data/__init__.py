"""Datasets, samplers and loaders with PyTorch's names and arguments.

>>> import relume as rl
>>> from relume.data import DataLoader, TensorDataset
>>> loader = DataLoader(TensorDataset(rl.ones(10, 3), rl.zeros(10)), batch_size=4, shuffle=True)
>>> [x.shape for x, y in loader]
[(4, 3), (4, 3), (2, 3)]
"""

from relume.data.collate import default_collate, default_convert
from relume.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from relume.data.loader import DataLoader
from relume.data.sampler import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from relume.data.worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
