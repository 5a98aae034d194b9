"""Routines: calls of ops that are noted once and made again for other tensors."""

import pytest

import relume as rl
from relume import _C


def noted(function, *inputs):
    """The routine of a function of tensors, and the places of what it gives."""
    routine = _C.Routine(list(inputs))
    assert routine.start()
    try:
        outputs = function(*inputs)
    finally:
        routine.stop()
    return routine, [routine.place_of(output) for output in outputs]


def test_makes_the_calls_for_other_tensors():
    def function(a, b):
        first, second = rl.unbind(rl.cat([a, b], 0).reshape((2, 3)), 0)
        return first * 2, second.sum(0, keepdim=True)

    routine, places = noted(function, rl.ones(3), rl.ones(3))
    assert routine.finish(places)
    values = routine.run([rl.tensor([1.0, 2, 3]), rl.tensor([4.0, 5, 6])], False)
    assert [values.at(place).tolist() for place in places] == [[2, 4, 6], [15]]


def test_inputs_are_leaves_when_it_is_recorded():
    routine, places = noted(lambda a, b: [a * b], rl.ones(2), rl.ones(2))
    routine.finish(places)
    values = routine.run([rl.tensor([1.0, 2]), rl.tensor([3.0, 4])], True)
    (of_a, of_b), others = values.gradients([values.at(places[0])], [rl.ones(2)], [0, 1], places)
    assert of_a.tolist() == [3, 4]
    assert of_b.tolist() == [1, 2]
    assert others.at(0).tolist() == [1, 1]
    assert not values.off_tape(places[0]).requires_grad


def test_nothing_is_recorded_otherwise():
    routine, places = noted(lambda a: [a * 2], rl.ones(2))
    routine.finish(places)
    leaf = rl.ones(2).requires_grad_()
    assert not routine.run([leaf], False).at(places[0]).requires_grad


def test_inputs_of_other_looks_do_not_fit():
    routine, places = noted(lambda a, _: [a * 2], rl.ones(2, 3), rl.ones(1))
    routine.finish(places)
    one = rl.ones(1)
    assert routine.fits([rl.zeros(2, 3), one])
    for other in (rl.ones(3, 2), rl.ones(3, 2).t(), rl.ones(2, 3, dtype=rl.float64), None):
        assert not routine.fits([other, one])
    assert not routine.fits([rl.ones(2, 3)])


def test_an_argument_may_be_missing():
    weight = rl.ones(2, 3)
    routine = _C.Routine([rl.ones(4, 3), weight, None])
    assert routine.start()
    routine.stop()
    assert routine.fits([rl.ones(4, 3), weight, None])
    assert not routine.fits([rl.ones(4, 3), weight, rl.ones(2)])


@pytest.mark.parametrize(
    "function",
    [
        lambda a: [a + rl.tensor([1.0, 2.0])],  # a tensor from nowhere
        lambda a: [(a * 2).add_(1)],  # changes a tensor
        lambda a: [a * (1 + 2j)],
    ],
    ids=["constant", "in place", "complex"],
)
def test_what_cannot_be_made_again_is_refused(function):
    routine, places = noted(function, rl.ones(2))
    assert not routine.finish([place for place in places if place >= 0])


def test_calls_that_nobody_needs_are_left_out():
    def function(a):
        a.log()  # would be an error for integers
        return [a + 1]

    routine, places = noted(function, rl.ones(2))
    assert routine.finish(places)
    values = routine.run([rl.ones(2)], False)
    assert [values.at(place) is None for place in range(3)] == [False, True, False]


def test_one_listener_at_a_time():
    first, second = _C.Routine([]), _C.Routine([])
    assert first.start()
    assert not second.start()
    with pytest.raises(RuntimeError, match="running already"):
        _C.start_tracing(print)
    first.stop()
    assert second.start()
    second.stop()


def test_a_place_that_is_not_there():
    routine, places = noted(lambda a: [a * 2], rl.ones(2))
    routine.finish(places)
    with pytest.raises(IndexError, match="no place 7"):
        routine.run([rl.ones(2)], False).at(7)
