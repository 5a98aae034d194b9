"""relume.save(compact=True): no more of a storage than somebody looks at."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relume as rl


def compact(value):
    return rl.loads(rl.dumps(value, compact=True))


def stored(tensor) -> int:
    return len(tensor.storage())


def test_a_small_view_of_a_large_storage():
    large = rl.zeros(1_000_000)
    view = large[500:510]
    view.fill_(3)
    assert len(rl.dumps(view)) > 4_000_000
    assert len(rl.dumps(view, compact=True)) < 300
    assert compact(view).tolist() == [3] * 10
    assert stored(compact(view)) == 10


@pytest.mark.parametrize(
    "view",
    [
        lambda m: m[:, 3],
        lambda m: m[::7],
        lambda m: m[2:5, ::3],
        lambda m: m.t()[4:6],
        lambda m: m.as_strided((4, 5), (0, 7), 3),
    ],
    ids=["column", "rows", "block", "transposed", "expanded"],
)
def test_views_with_gaps_are_packed(view):
    matrix = rl.arange(1000).reshape(50, 20)
    part = view(matrix)
    result = compact(part)
    assert result.tolist() == part.tolist()
    assert stored(result) == len(set(np.ravel(part.tolist())))


def test_overlapping_views_go_on_sharing():
    flat = rl.arange(1000)
    first, second = compact([flat[10:20], flat[15:30]])
    assert stored(first) == 20
    first[5] = 77
    assert second[0].item() == 77


def test_overlapping_columns_go_on_sharing():
    matrix = rl.arange(1000).reshape(50, 20)
    left, right = compact([matrix[:, 2:4], matrix[:, 3:6]])
    assert stored(left) == 50 * 4
    assert right.tolist() == matrix[:, 3:6].tolist()
    left[7, 1] = -1
    assert right[7, 0].item() == -1


def test_views_apart_become_storages_apart():
    flat = rl.arange(1000)
    first, second = compact([flat[10:20], flat[500:530]])
    assert (stored(first), stored(second)) == (10, 30)


def test_a_storage_that_is_saved_itself_stays_whole():
    flat = rl.arange(100)
    result = compact({"storage": flat.storage(), "view": flat[3:5]})
    assert len(result.storage) == 100
    assert result.view.storage() is result.storage


def test_flattened_parameters_stay_one_storage():
    from relume import legacy_nn as nn

    net = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Linear(4, 2))
    flat, _ = net.getParameters()
    result = compact({"net": net, "flat": flat})
    assert stored(result.flat) == flat.numel()
    result.flat.fill_(9)
    assert (result.net.get(2).bias == 9).all()


views = st.tuples(
    st.integers(0, 20),
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 8)), min_size=1, max_size=3),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(views, min_size=1, max_size=4))
def test_any_views_keep_values_and_sharing(geometries):
    flat = rl.arange(200)
    originals = [
        flat.as_strided([size for size, _ in steps], [stride for _, stride in steps], offset)
        for offset, steps in geometries
    ]
    results = compact(originals).as_list()
    union = len({value for view in originals for value in np.ravel(view.tolist())})
    storages = {tensor.storage()._address: stored(tensor) for tensor in results}
    spans = sum(storages.values())
    assert union <= spans <= 200
    for original, result in zip(originals, results, strict=True):
        assert result.tolist() == original.tolist()
    # Two places of views are one place of a storage where they were one before, and nowhere else.
    before = [value for view in originals for value in np.ravel(view.tolist())]
    after = [place for tensor in results for place in places(tensor)]
    assert len(set(zip(before, after, strict=True))) == len(set(before)) == len(set(after))


def places(tensor):
    """(storage, position in it) of every element."""
    positions = rl.arange(stored(tensor)).as_strided(
        tensor.shape, tensor.stride(), tensor.storage_offset()
    )
    return [(tensor.storage()._address, position) for position in np.ravel(positions.tolist())]
