"""DataLoader: what it gives, in this process and from workers, and how it fails."""

import gc
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import relume as rl
from relume.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    get_worker_info,
)


class Squares(Dataset):
    def __init__(self, count=20):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return rl.full((3,), index), index**2


class Stream(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, self.count, step))


class Failing(Squares):
    def __getitem__(self, index):
        if index == 7:
            raise ValueError("sample seven is bad")
        return index


class Deadly(Squares):
    def __getitem__(self, index):
        if index == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


class Slow(Squares):
    def __getitem__(self, index):
        time.sleep(30)


class Noise(Squares):
    def __getitem__(self, index):
        return rl.rand([1]), float(np.random.rand())


class WhoAmI(Squares):
    def __getitem__(self, index):
        return os.getpid()


def flat(loader):
    return [x for batch in loader for x in batch.tolist()]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_come_in_order(workers):
    batches = list(DataLoader(Squares(), batch_size=6, num_workers=workers))
    assert [len(y) for _, y in batches] == [6, 6, 6, 2]
    assert [y for _, ys in batches for y in ys.tolist()] == [i * i for i in range(20)]
    x, y = batches[1]
    assert x.shape == (6, 3) and x.dtype == rl.int64 and y.dtype == rl.int64


@pytest.mark.parametrize("workers", [0, 2])
def test_shuffle_gives_every_sample_once_and_repeats_with_the_seed(workers):
    loader = DataLoader(range(50), batch_size=8, shuffle=True, num_workers=workers)
    rl.manual_seed(4)
    first = flat(loader)
    second = flat(loader)
    rl.manual_seed(4)
    assert flat(loader) == first
    assert first != second and sorted(first) == sorted(second) == list(range(50))


def test_the_order_does_not_depend_on_the_number_of_workers():
    orders = []
    for workers in (0, 1, 2):
        generator = rl.Generator().manual_seed(3)
        loader = DataLoader(
            range(50), batch_size=8, shuffle=True, num_workers=workers, generator=generator
        )
        orders.append([flat(loader), flat(loader)])
    assert orders[0] == orders[1] == orders[2]


@pytest.mark.parametrize("workers", [0, 2])
def test_settings(workers):
    settings = {"num_workers": workers}
    assert len(list(DataLoader(range(10), batch_size=4, drop_last=True, **settings))) == 2
    assert list(DataLoader(range(4), batch_size=None, **settings)) == [0, 1, 2, 3]
    assert flat(DataLoader(range(9), sampler=[3, 1, 8], **settings)) == [3, 1, 8]
    sampler = BatchSampler([5, 6, 7], 2, False)
    batches = DataLoader(range(9), batch_sampler=sampler, **settings)
    assert [batch.tolist() for batch in batches] == [[5, 6], [7]]
    assert len(batches) == 2
    joined = DataLoader(range(6), batch_size=3, collate_fn=sum, **settings)
    assert list(joined) == [3, 12]


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_iterable_dataset(workers):
    loader = DataLoader(Stream(11), batch_size=3, num_workers=workers)
    assert sorted(flat(loader)) == list(range(11))
    dropped = DataLoader(Stream(11), batch_size=3, drop_last=True, num_workers=workers)
    assert all(len(batch) == 3 for batch in dropped)
    single = DataLoader(Stream(4), batch_size=None, num_workers=workers)
    assert sorted(single) == [0, 1, 2, 3]


def test_samples_may_be_anything_that_pickles():
    class Odd(Squares):
        def __getitem__(self, index):
            return {
                "text": "x" * index,
                "array": np.arange(4, dtype=np.float32)[::-1],
                "flags": np.array([True, False]),
                "half": rl.ones(2, dtype=rl.bfloat16),
                "empty": rl.zeros(0, 3),
                "view": rl.arange(1000)[index::100],
            }

    (one,) = DataLoader(Odd(2), batch_size=2, num_workers=1)
    assert one["text"] == ["", "x"]
    assert one["array"].tolist() == [[3, 2, 1, 0]] * 2
    assert one["flags"].dtype == rl.bool_ and one["half"].dtype == rl.bfloat16
    assert one["empty"].shape == (2, 0, 3)
    assert one["view"][1, 0].item() == 1


def test_batches_outlive_their_loader():
    loader = DataLoader(TensorDataset(rl.arange(1000.0)), batch_size=500, num_workers=2)
    batches = [x for (x,) in loader]
    del loader
    gc.collect()
    batches[0].add_(1)  # memory of its own, which may be written
    assert batches[0][0].item() == 1 and batches[1].sum().item() == sum(range(500, 1000))


def test_an_exception_comes_with_the_workers_traceback():
    loader = DataLoader(Failing(), batch_size=2, num_workers=2)
    with pytest.raises(ValueError, match=r"(?s)worker 1.*Traceback.*__getitem__.*seven is bad"):
        list(loader)
    with pytest.raises(ValueError, match=r"^sample seven is bad$"):
        list(DataLoader(Failing(), batch_size=2))


@pytest.mark.parametrize("error", [KeyError("k"), UnicodeDecodeError("utf-8", b"", 0, 1, "bad")])
def test_exceptions_of_any_kind_arrive(error):
    class Raising(Squares):
        def __getitem__(self, index):
            raise error

    with pytest.raises((KeyError, RuntimeError), match=type(error).__name__):
        list(DataLoader(Raising(), num_workers=1))


def test_what_cannot_be_pickled_is_an_error_not_a_hang():
    class Unpicklable(Squares):
        def __getitem__(self, index):
            return lambda: index

    with pytest.raises(Exception, match="pickle"):
        list(DataLoader(Unpicklable(), num_workers=1, collate_fn=list))


def test_a_dead_worker_is_noticed():
    with pytest.raises(RuntimeError, match="killed by SIGKILL"):
        list(DataLoader(Deadly(), batch_size=2, num_workers=2))


def test_timeout():
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"within 0\.5 seconds"):
        list(DataLoader(Slow(), num_workers=1, timeout=0.5))
    assert time.monotonic() - start < 20


def test_workers_are_seeded_apart_and_again_the_same():
    def draw():
        rl.manual_seed(11)
        loader = DataLoader(Noise(8), batch_size=2, num_workers=2)
        return [(x.reshape(-1).tolist(), y.tolist()) for x, y in loader]

    first = draw()
    assert first == draw()
    numbers = [x for xs, ys in first for x in xs + ys]
    assert len(set(numbers)) == len(numbers)


def test_numpy_and_relume_draw_apart_in_a_worker():
    class Both:
        def __len__(self):
            return 6

        def __getitem__(self, index):
            return np.random.rand(2), rl.rand(2, dtype=rl.float64)

    rl.manual_seed(2)
    loader = DataLoader(Both(), batch_size=2, num_workers=2)
    numbers = [x for a, b in loader for x in (*a.reshape(-1).tolist(), *b.reshape(-1).tolist())]
    assert len({round(x, 6) for x in numbers}) == len(numbers) == 24


def test_worker_info_and_init():
    class Info(Squares):
        def __getitem__(self, index):
            info = get_worker_info()
            return info.id, info.num_workers, info.dataset.mark

    def init(worker):
        get_worker_info().dataset.mark = worker * 10

    batches = list(DataLoader(Info(4), batch_size=1, num_workers=2, worker_init_fn=init))
    assert [[x.item() for x in batch] for batch in batches[:2]] == [[0, 2, 0], [1, 2, 10]]
    assert get_worker_info() is None


@pytest.mark.parametrize("persistent", [False, True])
def test_persistent_workers(persistent):
    loader = DataLoader(WhoAmI(4), num_workers=2, persistent_workers=persistent)
    first, second = set(flat(loader)), set(flat(loader))
    assert len(first) == 2 and (first == second) == persistent


def test_a_pass_may_be_left_before_its_end():
    loader = DataLoader(Squares(100), batch_size=2, num_workers=2, persistent_workers=True)
    for _, y in loader:
        assert y.tolist() == [0, 1]
        break
    assert sum(len(y) for _, y in loader) == 100


def test_out_of_order():
    loader = DataLoader(range(30), batch_size=3, num_workers=3, in_order=False)
    assert sorted(flat(loader)) == list(range(30))


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_ways_to_start_processes(method):
    dataset = TensorDataset(rl.arange(6))
    loader = DataLoader(dataset, batch_size=3, num_workers=1, multiprocessing_context=method)
    assert [x.tolist() for (x,) in loader] == [[0, 1, 2], [3, 4, 5]]


def test_workers_end_with_their_parent():
    script = """
import os, time
from relume.data import DataLoader
loader = DataLoader(range(1000), num_workers=2, persistent_workers=True)
iterator = iter(loader)
next(iterator)
print(*[process.pid for process in iterator.pool.processes], flush=True)
os._exit(1)  # without any clean-up
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 2, done.stderr
    end = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{pid}") and not _is_zombie(pid) for pid in pids):
        assert time.monotonic() < end, "a worker outlives its parent"
        time.sleep(0.2)


def _is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_interrupt_ends_the_workers():
    script = """
import os, time
from relume.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self): return 100
    def __getitem__(self, index):
        time.sleep(0.1)
        return index
iterator = iter(DataLoader(Slow(), num_workers=2))
next(iterator)
processes = iterator.pool.processes
try:
    print("ready", flush=True)
    for _ in iterator: pass
except KeyboardInterrupt:
    pass
del iterator  # the interrupt may have come between two batches
print("interrupted", any(p.is_alive() for p in processes), flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does
    out, _ = process.communicate(timeout=60)
    assert out == "interrupted False\n"


def test_nothing_is_left_open():
    def count():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    def use():
        for _ in DataLoader(Squares(), batch_size=4, num_workers=2):
            pass

    use()
    before = count()
    for _ in range(3):
        use()
    assert count() <= before


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"num_workers": -1}, "num_workers"),
        ({"batch_size": 0}, "batch_size"),
        ({"shuffle": True, "sampler": [1]}, "sampler"),
        ({"batch_sampler": [[1]], "drop_last": True}, "batch_sampler"),
        ({"persistent_workers": True}, "num_workers"),
        ({"prefetch_factor": 2}, "num_workers"),
        ({"timeout": -1}, "timeout"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(range(4), **settings)


def test_an_iterable_dataset_has_its_own_order():
    with pytest.raises(ValueError, match="IterableDataset"):
        DataLoader(Stream(4), shuffle=True)
    with pytest.raises(TypeError):
        len(DataLoader(Stream(4)))
