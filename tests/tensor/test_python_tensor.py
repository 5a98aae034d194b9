"""What a relume.Tensor is in Python: creation, attributes, operators, argument parsing."""

import copy
import gc
import inspect
import pickle
import weakref

import numpy as np
import pytest

import relume as rl


def test_creation_from_python_data():
    assert rl.tensor([[1, 2], [3, 4]]).dtype == rl.int64
    assert rl.tensor([1.0, 2]).dtype == rl.float32
    assert rl.tensor([True, False]).dtype == rl.bool_
    assert rl.tensor([True, 2]).dtype == rl.int64
    assert rl.tensor(3).shape == ()
    assert rl.tensor([]).shape == (0,)
    assert rl.tensor([[], []]).shape == (2, 0)
    assert rl.tensor([1, 2], dtype="float64").dtype == rl.float64
    assert rl.tensor([1, 2], dtype=np.int16).dtype == rl.int16
    assert rl.tensor(2**62 + 1).item() == 2**62 + 1
    assert rl.tensor(range(3)).tolist() == [0, 1, 2]
    assert rl.tensor([np.float32(1.5), np.int64(2)]).tolist() == [1.5, 2.0]
    assert rl.tensor([rl.tensor(1.0), rl.tensor([2.0])[0]]).tolist() == [1.0, 2.0]
    assert rl.tensor((np.array([1, 2]), [3, 4])).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ([[1, 2], [3]], ValueError, "differ in length"),
        ([[1], 2], ValueError, "differ in depth"),
        ("text", TypeError, "str"),
        ([1, None], TypeError, "NoneType"),
        ({1: 2}, TypeError, "dict"),
        ([2**70], OverflowError, "int"),
        (np.array(["a"]), TypeError, "tensor"),
        (np.array([1], "M8[s]"), ValueError, "dtype .M."),
    ],
)
def test_creation_refuses(data, error, words):
    with pytest.raises(error, match=words):
        rl.tensor(data)


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64"])
def test_numbers_that_do_not_fit_are_refused(name):
    limits = np.iinfo(name)
    assert rl.tensor([limits.min, limits.max], dtype=name).tolist() == [limits.min, limits.max]
    assert rl.tensor([1.9], dtype=name).tolist() == [1]
    for number in (limits.max + 1, limits.min - 1, float("nan"), float("inf"), 1e30):
        with pytest.raises((ValueError, OverflowError)):
            rl.tensor([number], dtype=name)


def test_self_containing_list_is_refused():
    data = []
    data.append(data)
    with pytest.raises(ValueError, match="nested"):
        rl.tensor(data)


def test_attributes():
    t = rl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert (t.shape, t.ndim, t.numel(), t.nbytes, t.itemsize) == ((2, 3), 2, 6, 24, 4)
    assert (t.size(), t.size(-1), t.stride(), t.stride(0)) == ((2, 3), 3, (3, 1), 3)
    assert (t.dim(), t.element_size(), t.storage_offset(), t[1].storage_offset()) == (2, 4, 0, 3)
    assert t.device == "cpu" and t.device.type == "cpu"
    assert t.torch_typename == "torch.FloatTensor"
    assert t.is_contiguous() and not t.T.is_contiguous()
    assert t.T.shape == (3, 2) and t.mT.shape == (3, 2)
    assert t.is_leaf and t.grad is None and t.grad_fn is None and not t.requires_grad
    assert len(t) == 2 and [row.tolist() for row in t] == t.tolist()
    with pytest.raises(IndexError, match="out of range"):
        t.size(2)
    with pytest.raises(AttributeError):
        t.shape = (6,)


def test_identity_of_the_python_object():
    t = rl.tensor([1.0])
    assert rl._C.tensor_from_address(t._address) is t
    address = t._address
    alias = rl._C.tensor_from_address(address)
    assert alias is t and t._reference_count() == 1
    t.grad = rl.tensor([2.0])
    assert t.grad is t.grad


def test_weak_references():
    t = rl.tensor([1.0])
    reference = weakref.ref(t)
    assert reference() is t
    del t
    gc.collect()
    assert reference() is None


class Parameter(rl.Tensor):
    pass


def test_subclass():
    p = Parameter(rl.tensor([1.0, 2.0]))
    p.note = "weights"
    assert isinstance(p, rl.Tensor) and p.note == "weights"
    assert (p + 1).tolist() == [2.0, 3.0] and (1 + p).tolist() == [2.0, 3.0]
    assert type(p + 1) is rl.Tensor
    again = pickle.loads(pickle.dumps(p))
    assert type(again) is Parameter and again.note == "weights" and again.tolist() == [1.0, 2.0]
    del p, again
    gc.collect()


def test_conversions_to_python():
    assert float(rl.tensor([1.5])) == 1.5 and int(rl.tensor(2.9)) == 2
    assert bool(rl.tensor(0.5)) and not bool(rl.tensor([0]))
    assert [10, 20, 30][rl.tensor(1)] == 20
    assert rl.tensor(True).item() is True
    with pytest.raises(ValueError, match="ambiguous"):
        bool(rl.tensor([1, 2]))
    with pytest.raises(TypeError, match="index"):
        [1][rl.tensor(0.0)]
    with pytest.raises(ValueError, match="one element"):
        rl.tensor([1, 2]).item()
    with pytest.raises(ValueError, match="one element"):
        float(rl.tensor([1, 2]))


def test_operators_against_numpy():
    a = np.array([[1.0, -2.0, 3.5], [4.0, 0.5, -6.0]])
    b = np.array([2.0, -3.0, 0.25])
    x, y = rl.from_numpy(a), rl.from_numpy(b)
    cases = {
        "add": (x + y, a + b),
        "sub": (x - y, a - b),
        "mul": (x * y, a * b),
        "div": (x / y, a / b),
        "floor_divide": (x // y, a // b),
        "remainder": (x % y, a % b),
        "pow": (x**2, a**2),
        "radd": (2 + x, 2 + a),
        "rsub": (2 - x, 2 - a),
        "rdiv": (2 / x, 2 / a),
        "rpow": (2**x, 2**a),
        "rfloor": (7 // x, 7 // a),
        "neg": (-x, -a),
        "abs": (abs(x), abs(a)),
        "matmul": (x @ y, a @ b),
        "lt": (x < y, a < b),
        "eq": (x == 0.5, a == 0.5),
        "ge": (x >= 1, a >= 1),
        "reflected": (np.float64(1) <= x, a >= 1),
        "numpy scalar": (x + np.float64(2), a + 2),
        "numpy array": (x * b, a * b),
        "array first": (b * x, b * a),
    }
    for name, (got, expected) in cases.items():
        assert isinstance(got, rl.Tensor), name
        np.testing.assert_allclose(got.numpy(), expected, err_msg=name)


def test_in_place_operators_keep_the_object():
    t = rl.tensor([1.0, 2.0])
    same, memory = t, t.data_ptr()
    t += 1
    t *= rl.tensor([2.0, 3.0])
    t -= 0.5
    t /= 2
    assert t is same and t.data_ptr() == memory
    np.testing.assert_allclose(t.numpy(), [1.75, 4.25])


def test_integer_and_bool_operators():
    a, b = np.array([6, 5, 12]), np.array([3, 1, 10])
    x, y = rl.from_numpy(a), rl.from_numpy(b)
    np.testing.assert_array_equal((x & y).numpy(), a & b)
    np.testing.assert_array_equal((x | 1).numpy(), a | 1)
    np.testing.assert_array_equal((x ^ y).numpy(), a ^ b)
    np.testing.assert_array_equal((~x).numpy(), ~a)
    np.testing.assert_array_equal((~(x > 5)).numpy(), ~(a > 5))
    assert (x / y).dtype == rl.float32
    assert (x + 1.5).dtype == rl.float32
    assert (x > 5).dtype == rl.bool_


def test_unknown_operands_are_left_to_python():
    t = rl.tensor([1.0])
    with pytest.raises(TypeError):
        t + "text"
    with pytest.raises(TypeError):
        _ = t < "text"
    assert (t == "text") is False
    assert (t != None) is True  # noqa: E711
    assert {t: 1}[t] == 1


def test_contains():
    t = rl.tensor([[1.0, 2.0]])
    assert 2 in t and 3 not in t


def test_op_arguments():
    t = rl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert t.reshape(3, 2).shape == t.reshape((3, 2)).shape == rl.reshape(t, [3, 2]).shape == (3, 2)
    assert t.reshape(-1).shape == (6,)
    assert rl.zeros(2, 3).shape == rl.zeros((2, 3)).shape == rl.zeros([2, 3]).shape == (2, 3)
    assert rl.zeros(2, dtype=rl.int64).dtype == rl.int64
    assert rl.zeros(()).shape == ()
    assert t.sum(axis=0, keepdims=True).shape == t.sum(dim=0, keepdim=True).shape == (1, 3)
    assert t.sum(0).tolist() == [5.0, 7.0, 9.0]
    assert t.sum((0, 1)).item() == 21.0
    assert rl.add(input=t, other=t, alpha=2).tolist() == (t * 3).tolist()
    assert rl.add(t, other=1).tolist() == (t + 1).tolist()
    assert t.permute(np.int64(1), rl.tensor(0)).shape == (3, 2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: rl.exp(), TypeError, r"exp\(\) is missing argument 'input'"),
        (lambda t: rl.exp(t, t), TypeError, r"exp\(\) takes at most 1 positional"),
        (lambda t: rl.exp(1.0), TypeError, r"'input' must be Tensor, not float"),
        (lambda t: rl.exp(t, colour=1), TypeError, "no argument 'colour'"),
        (lambda t: rl.add(t, t, other=t), TypeError, "two values for argument 'other'"),
        (lambda t: t.sum(dim="x"), TypeError, "'dim' must be int or a tuple of ints, not str"),
        (lambda t: t.sum(1.5), TypeError, "not float"),
        (lambda t: t.sum(0, 3.5), TypeError, "'keepdim' must be bool"),
        (lambda t: t.sum(5), IndexError, "out of range"),
        (lambda t: rl.cat(t.numpy()), TypeError, "list or tuple of Tensors"),
        (lambda t: rl.cat([t, 1]), TypeError, "item 1 is int"),
        (lambda t: rl.exp(t.numpy()), TypeError, "from_numpy"),
        (lambda t: rl.zeros(2, dtype="quaternion"), ValueError, "quaternion"),
        (lambda t: rl.zeros(2, dtype=1.5), TypeError, "expected a dtype"),
        (lambda t: rl.exp(t, out=[1]), TypeError, "'out' must be Tensor"),
        (lambda t: rl.zeros(-1), ValueError, "negative"),
        (lambda t: rl.Tensor.add_(1, t), TypeError, "must be a Tensor"),
    ],
)
def test_errors_name_function_argument_expected_and_got(call, error, words):
    with pytest.raises(error, match=words):
        call(rl.tensor([1.0, 2.0]))


def test_out_argument():
    t, out = rl.tensor([1.0, 4.0]), rl.zeros(2)
    assert rl.sqrt(t, out=out) is out and out.tolist() == [1.0, 2.0]
    values, indices = rl.zeros(2), rl.zeros(2, dtype=rl.int64)
    result = rl.sort(t, 0, True, out=(values, indices))
    assert result == (values, indices) or result[0] is values
    assert values.tolist() == [4.0, 1.0] and indices.tolist() == [1, 0]


def test_in_place_methods():
    t = rl.tensor([1.0, 4.0])
    assert t.sqrt_() is t and t.add_(1).mul_(2) is t
    assert t.tolist() == [4.0, 6.0]
    assert t.zero_() is t and t.tolist() == [0.0, 0.0]


def test_max_and_min_in_their_three_meanings():
    a = np.array([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]])
    t = rl.from_numpy(a)
    assert t.max().item() == 7.0 and rl.min(t).item() == 0.0
    values, indices = t.max(1)
    np.testing.assert_array_equal(values.numpy(), a.max(1))
    np.testing.assert_array_equal(indices.numpy(), a.argmax(1))
    values, indices = t.min(axis=0, keepdim=True)
    np.testing.assert_array_equal(values.numpy(), a.min(0, keepdims=True))
    np.testing.assert_array_equal(rl.max(t, t * 0 + 2).numpy(), np.maximum(a, 2))


def test_types():
    t = rl.tensor([1.7, -2.2])
    assert t.long().tolist() == [1, -2] and t.double().dtype == rl.float64
    assert t.float() is t and t.to(rl.float32) is t and t.to("cpu") is t
    assert t.to("float64").dtype == rl.float64 and t.to(t.long()).dtype == rl.int64
    assert t.type() == "torch.FloatTensor"
    assert t.type("torch.DoubleTensor").dtype == rl.float64
    assert t.half().dtype == rl.float16 and t.bfloat16().dtype == rl.bfloat16
    assert t.new_zeros(2, 3).shape == (2, 3) and t.double().new_ones(2).dtype == rl.float64
    assert t.new_tensor([1]).dtype == rl.float32
    assert t.type_as(rl.tensor(1)).dtype == rl.int64
    with pytest.raises(ValueError, match="no device"):
        t.to("cuda")


def test_dtype_objects():
    assert rl.float32 == np.float32 and np.dtype("float32") == rl.float32.numpy
    assert rl.float32 != rl.float64 and rl.float32 == "float32"
    assert rl.int64.itemsize == 8 and rl.uint8.torch_typename == "torch.ByteTensor"
    assert rl.bfloat16.numpy is None and not rl.int8.is_floating_point
    assert pickle.loads(pickle.dumps(rl.float16)) is rl.float16
    assert copy.deepcopy(rl.float16) is rl.float16
    assert repr(rl.bool_) == "relume.bool"


def test_functions_describe_themselves():
    assert str(inspect.signature(rl.add)).startswith("(input: 'Tensor|Scalar', other")
    assert "add(Tensor|Scalar input" in rl.add.__doc__
    assert rl.add.__name__ == "add" and rl.Tensor.add is rl.add
    assert pickle.loads(pickle.dumps(rl.add))(rl.tensor(1), 1).item() == 2
    for row in rl._C.registry():
        inspect.signature(rl._C.ops[row["name"]])


def test_pickle_and_copy_keep_sharing():
    a = rl.arange(6, dtype=rl.float32)
    b = a[2:4]
    a2, b2 = pickle.loads(pickle.dumps((a, b)))
    assert a2.tolist() == a.tolist() and b2.tolist() == b.tolist()
    assert a2.storage() is b2.storage()
    a3, b3 = copy.deepcopy([a, b])
    b3[0] = 9
    assert a3[2].item() == 9 and a[2].item() == 2
    assert copy.copy(a).data_ptr() == a.data_ptr()
    p = rl.tensor([1.0], requires_grad=True)
    p.grad = rl.tensor([3.0])
    q = copy.deepcopy(p)
    assert q.requires_grad and q.grad.tolist() == [3.0] and q.grad is not p.grad
    with pytest.raises(RuntimeError, match="detach"):
        pickle.dumps(p * 2)
    for kind in (rl.bool_, rl.float16, rl.bfloat16, rl.int8):
        t = rl.tensor([[1, 0], [1, 1]]).to(kind)
        assert pickle.loads(pickle.dumps(t.T)).tolist() == t.T.tolist()


def test_composed_functions():
    t = rl.arange(5)
    assert [p.tolist() for p in t.split(2)] == [[0, 1], [2, 3], [4]]
    assert [p.tolist() for p in rl.split(t, [1, 4])] == [[0], [1, 2, 3, 4]]
    assert rl.split(rl.zeros(2, 4), 3, axis=1)[1].shape == (2, 1)
    assert rl.argsort(rl.tensor([3, 1, 2]), descending=True).tolist() == [0, 2, 1]
    assert rl.equal(t, rl.arange(5)) and not t.equal(rl.arange(4)) and not t.equal(t + 1)
    assert rl.allclose(rl.ones(2), rl.ones(2) + 1e-9) and not rl.ones(2).allclose(rl.zeros(2))
    assert rl.is_tensor(t) and not rl.is_tensor([1])
    with pytest.raises(ValueError, match="at least one"):
        t.split(0)


def test_resize_as_torch7_does():
    t = rl.arange(6)
    assert t.resize_(2, 3) is t and t.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert t.resize_((4,)).tolist() == [0, 1, 2, 3]
    assert t.resize_(10).shape == (10,) and t[:4].tolist() == [0, 1, 2, 3]
    array = t.numpy()
    t.resize_(100_000)
    assert array[:4].tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="tape"):
        rl.ones(2, requires_grad=True).resize_(3)
    with pytest.raises(ValueError):
        t.resize_(-1)
    with pytest.raises(TypeError):
        t.resize_("a")


def test_storage():
    t = rl.tensor([[1.0, 2.0], [3.0, 4.0]])
    s = t.storage()
    assert s is t[1].storage() and len(s) == 4 and s.dtype == rl.float32
    assert s.torch_typename == "torch.FloatStorage" and s.tolist() == [1.0, 2.0, 3.0, 4.0]
    s[0] = 9
    assert t[0, 0].item() == 9 and s[0] == 9 and list(s)[1:] == [2.0, 3.0, 4.0]
    assert s.tensor().shape == (4,) and s[-1] == 4.0
    with pytest.raises(IndexError):
        s[4]


def test_printing():
    assert repr(rl.tensor([1.0, 2.5])) == "tensor([1. , 2.5])"
    assert repr(rl.tensor([1, 2])) == "tensor([1, 2])"
    assert repr(rl.tensor([1.0], dtype=rl.float64)) == "tensor([1.], dtype=float64)"
    assert repr(rl.tensor([1.0], requires_grad=True)) == "tensor([1.], requires_grad=True)"
    assert repr(rl.tensor([1.0]).bfloat16()) == "tensor([1.], dtype=bfloat16)"
    assert repr(rl.tensor(3)) == "tensor(3)"
    assert repr(rl.zeros(0, 3)) == "tensor([], shape=(0, 3))"
    assert "..." in repr(rl.zeros(10000))
    assert "grad_fn=<mul>" in repr(rl.tensor([1.0], requires_grad=True) * 2)
    assert f"{rl.tensor(1.25):.1f}" == "1.2"


def test_requires_grad_rules():
    with pytest.raises(RuntimeError, match="floating"):
        rl.tensor([1], requires_grad=True)
    x = rl.tensor([1.0]).requires_grad_()
    assert x.requires_grad and x.requires_grad_(False) is x and not x.requires_grad
    y = rl.tensor([1.0], requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="detach"):
        y.requires_grad = False
    with pytest.raises(ValueError, match="shape"):
        x.grad = rl.zeros(2)
    with pytest.raises(TypeError):
        x.grad = 1.0


def test_data_looks_at_the_same_memory():
    x = rl.tensor([1.0, 2.0], requires_grad=True)
    x.data.add_(1)
    assert x.tolist() == [2.0, 3.0] and not x.data.requires_grad
    x.data = rl.tensor([5.0, 6.0, 7.0])
    assert x.shape == (3,) and x.requires_grad


class Clearing:
    """A number that empties the list which it is in when it is read."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __index__(self):
        self.numbers.clear()
        return 1


@pytest.mark.parametrize("read", [rl.zeros, lambda sizes: rl.ones(1).expand(sizes), rl.tensor])
def test_a_list_may_change_while_it_is_read(read):
    numbers = []
    numbers += [Clearing(numbers), *[1] * 100]
    with pytest.raises((ValueError, TypeError)):  # too many dimensions, or no number
        read(numbers)


def test_the_class_takes_sizes_or_numbers_as_in_pytorch():
    assert rl.Tensor(3, 4).shape == (3, 4) and rl.Tensor(5).shape == (5,)
    assert rl.Tensor().shape == (0,)
    assert rl.Tensor([1, 2]).dtype is rl.float32 and rl.Tensor([1, 2]).tolist() == [1, 2]
    assert rl.Tensor([1, 2], dtype=rl.int64).dtype is rl.int64
    with pytest.raises(ValueError, match="negative"):
        rl.Tensor(3, -1)


def test_classes_of_typed_tensors_make_and_tell_tensors_of_one_type():
    assert rl.LongTensor([1.5, 2]).tolist() == [1, 2]
    assert rl.DoubleTensor(2, 3).shape == (2, 3) and rl.ByteTensor().shape == (0,)
    assert rl.FloatTensor(np.arange(3)).dtype is rl.float32
    assert isinstance(rl.ones(2), rl.FloatTensor) and not isinstance(rl.ones(2), rl.LongTensor)
    assert rl.ones(2).type(rl.BoolTensor).tolist() == [True, True]
    assert rl.HalfTensor(rl.ones(2)).dtype is rl.float16
    with pytest.raises(TypeError, match="data or sizes"):
        rl.FloatTensor([1], [2])
