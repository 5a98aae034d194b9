"""A small writer of Torch7's ASCII format, for files with objects of any class."""

import relume as rl


class Written:
    """An object as it is to stand in a file.

    Args:
        typename: its class.
        fields: dict.
        version: of the class.
        header: a dict that is written before the fields, or None.
    """

    def __init__(self, typename, fields, version=1, header=None):
        self.typename = typename
        self.fields = fields
        self.version = version
        self.header = header


def ascii_of(value):
    """A file as text: None, booleans, numbers, strings, lists, dicts, double tensors, `Written`
    and (class name, fields)."""
    return _text(value, {})


def _text(value, seen):
    if value is None:
        return "0\n"
    if isinstance(value, bool):
        return f"5\n{int(value)}\n"
    if isinstance(value, (int, float)):
        return f"1\n{value}\n"
    if isinstance(value, str):
        return f"2\n{len(value)}\n{value}\n"
    if isinstance(value, tuple):
        value = Written(*value)
    is_new = id(value) not in seen
    index, _ = seen.setdefault(id(value), (len(seen) + 1, value))  # kept alive: ids stay good
    if isinstance(value, (list, dict)):
        return f"3\n{index}\n" + (_table(value, seen) if is_new else "")
    if not is_new:
        return f"4\n{index}\n"
    if isinstance(value, rl.Tensor):
        return f"4\n{index}\n" + _tensor(value, seen)
    head = f"4\n{index}\n3\nV {value.version}\n{len(value.typename)}\n{value.typename}\n"
    header = "" if value.header is None else _text(value.header, seen)
    return head + header + _text(value.fields, seen)


def _table(value, seen):
    if isinstance(value, list):
        value = dict(enumerate(value, 1))
    items = "".join(_text(key, seen) + _text(entry, seen) for key, entry in value.items())
    return f"{len(value)}\n{items}"


def _tensor(value, seen):
    storage = len(seen) + 1
    seen[("storage", id(value))] = (storage, value)
    sizes, strides = (" ".join(map(str, numbers)) for numbers in (value.shape, value.stride()))
    data = " ".join(repr(x) for x in value.reshape(-1).tolist())
    return (
        f"3\nV 1\n18\ntorch.DoubleTensor\n{value.ndim}\n{sizes}\n{strides}\n1\n"
        f"4\n{storage}\n3\nV 1\n19\ntorch.DoubleStorage\n{value.numel()}\n{data}\n"
    )
