"""relume.load on the golden corpus of Torch7 files."""

from __future__ import annotations

import importlib.util
import json
import struct
import sys
from pathlib import Path

import pytest

import relume as rl
from relume.converters import t7

DATA = Path(__file__).parent.parent / "data" / "t7"
FILES = sorted(path for path in DATA.glob("*/*.t7") if path.parent.name != "malformed")
# "ascii_read_as_binary" is malformed only for who is told that it is binary.
MALFORMED = sorted(
    path for path in (DATA / "malformed").glob("*.t7") if path.stem != "ascii_read_as_binary"
)


def load_module(name: str):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


Comparison = load_module("t7_description").Comparison


def expectation(path: Path) -> dict:
    return json.loads(path.with_suffix(".expect.json").read_text())


def name_of(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


class NoClasses(dict):
    """Every class stays a TorchObject."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> type:
        return rl.TorchObject


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_file_holds_what_torch7_says(path):
    expected = expectation(path)
    file = t7.read(path, classes=NoClasses())
    assert file.encoding == expected["format"]
    if expected["format"] == "binary":
        # Without a long in the file nothing tells its size.
        told = any(word in json.dumps(expected["objects"]) for word in ("tensor", "storage", "tds"))
        assert file.long_size == expected["long_size"] or not told
        nil_only = expected["objects"] == [None]
        assert file.byte_order == expected["byte_order"] or nil_only
    assert file.left_over == 0
    assert len(file.objects) == len(expected["objects"])
    comparison = Comparison()
    for described, value in zip(expected["objects"], file.objects, strict=True):
        comparison.same(described, value)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_bytes_load_like_the_file(path):
    expected = expectation(path)
    value = rl.loads(path.read_bytes(), classes=NoClasses())
    Comparison().same(expected["objects"][0], value)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_classes_that_are_known_never_stop_a_load(path):
    rl.load_all(path)


@pytest.mark.parametrize("path", MALFORMED, ids=name_of)
@pytest.mark.parametrize("everything", [False, True], ids=["load", "load_all"])
@pytest.mark.filterwarnings("ignore:.*follow the first object")
def test_malformed_file_is_refused(path, everything):
    expected = expectation(path)
    load = rl.load_all if everything else rl.load
    try:
        value = load(path)
    except rl.FileFormatError as error:
        assert 0 <= error.offset <= path.stat().st_size
        assert error.path.startswith("root")
        assert error.filename == str(path)
        assert path.name in str(error)
    else:
        assert expected["expect"] == "refuse_or_load", expected["about"]
        repr(value)


def test_payload_of_a_class_with_its_own_format():
    value = rl.load(DATA / "classes" / "custom_write.t7")
    assert value.torch_typename == "golden.Raw"
    assert value.payload[:12] == (7).to_bytes(4, "little") + bytes.fromhex("0000000000000c40")


def test_given_class_is_used():
    class Point:
        def _load_fields(self, fields, version):
            self.fields_then = dict(fields)
            self.version = version

    value = rl.load(DATA / "classes" / "instance.t7", classes={"golden.Pt": Point})
    assert type(value) is Point
    assert value.version == 1
    assert value.fields_then["x"] == 1
    assert value.fields_then["y"][1] == 2


def test_given_function_makes_the_object_and_fields_become_attributes():
    class Point:
        pass

    value = rl.load(DATA / "classes" / "instance.t7", classes={"golden.Pt": lambda: Point()})
    assert value.x == 1


def test_children_are_filled_before_their_parents():
    order = []

    class Layer:
        def _load_fields(self, fields, version):
            order.append(self)
            self.modules = fields.get("modules")

    names = ("nn.Sequential", "nn.Linear", "nn.Tanh", "nn.LogSoftMax", "nn.ReLU")
    value = rl.load(DATA / "nn" / "mlp.t7", classes=dict.fromkeys(names, Layer))
    assert order[-1] is value
    assert all(child in order for child in value.modules)
    assert len(set(map(id, order))) == len(order)


def test_wrong_long_size_is_refused_and_right_one_taken():
    path = DATA / "formats" / "binary_long4.t7"
    assert t7.read(path).long_size == 4
    rl.load(path, long_size=4)
    with pytest.raises(rl.FileFormatError):
        rl.load(path, long_size=8)
    with pytest.raises(ValueError, match="4 or 8"):
        rl.load(path, long_size=5)


def test_left_over_bytes_are_told():
    with pytest.warns(UserWarning, match="load_all"):
        assert rl.load(DATA / "formats" / "several_objects.t7") == 1


def test_error_says_where_in_the_tree(tmp_path):
    whole = (DATA / "nn" / "mlp.t7").read_bytes()
    path = tmp_path / "cut.t7"
    path.write_bytes(whole[: whole.rfind(b"weight") + 200])
    with pytest.raises(rl.FileFormatError) as caught:
        rl.load(path)
    assert ".modules[" in caught.value.path
    assert caught.value.kind == "truncated"
    assert str(path) in str(caught.value)


def test_missing_file_and_folder_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        rl.load(tmp_path / "no.t7")
    with pytest.raises(IsADirectoryError):
        rl.load(tmp_path)


def table_around(depth: int, inner: bytes) -> bytes:
    """`depth` tables in each other, each {[1] = next}."""
    one = (1).to_bytes(4, "little")
    key = one + bytes.fromhex("000000000000f03f")
    heads = [
        (3).to_bytes(4, "little") + index.to_bytes(4, "little") + one + key
        for index in range(1, depth + 1)
    ]
    return b"".join(heads) + inner


def test_depth_is_no_limit():
    value = rl.loads(table_around(200_000, (5).to_bytes(4, "little") + (1).to_bytes(4, "little")))
    depth = 0
    while isinstance(value, rl.Table):
        value = value[1]
        depth += 1
    assert depth == 200_000
    assert value is True


def integer(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)


def number(value: float) -> bytes:
    return integer(1) + struct.pack("<d", value)


def text(value: str) -> bytes:
    return integer(2) + integer(len(value)) + value.encode()


def boolean(value: bool) -> bytes:
    return integer(5) + integer(value)


def table_of(pairs: list) -> bytes:
    """A table as Torch7 writes it; keys and values are numbers, strings and booleans."""
    data = integer(3) + integer(1) + integer(len(pairs))
    for pair in pairs:
        for value in pair:
            kinds = {bool: boolean, str: text, int: number, float: number}
            data += kinds[type(value)](value)
    return data


@pytest.mark.parametrize("count", [3, 4095, 4096, 4097, 10_000])
@pytest.mark.parametrize("order", ["up", "down", "mixed", "names first", "names last", "odd"])
def test_keys_of_long_tables(count, order):
    numbers = [(i, i * 10) for i in range(1, count + 1)]
    names = [(f"k{i}", i) for i in range(count)]
    pairs = {
        "up": numbers,
        "down": numbers[::-1],
        "mixed": [pair for both in zip(names, numbers, strict=True) for pair in both],
        "names first": names + numbers,
        "names last": numbers + names,
        "odd": [(2.5, "half"), (True, "true"), (-1, "minus"), (0, "zero"), *numbers, (False, 1)],
    }[order]
    table = rl.loads(table_of(pairs))
    assert len(table) == count
    assert list(table) == [i * 10 for i in range(1, count + 1)]
    assert len(table.items()) == len(pairs)
    assert all(table[key] == value for key, value in pairs)
    assert all(type(key) in (bool, int, float, str) for key in table.keys())  # noqa: SIM118


def test_table_with_holes_and_repeated_keys():
    table = rl.loads(table_of([(4, "d"), (1, "a"), (2, "b"), (1, "again")]))
    assert sorted(table.keys()) == [1, 2, 4]
    assert table[1] == "again"
    assert list(table) == ["again", "b"]
    assert not table.is_list()


@pytest.mark.parametrize("seed", range(4))
def test_damage_is_an_error_and_never_a_crash(seed):
    """Bytes are changed, cut out and repeated at random."""
    import random
    import warnings

    random_ = random.Random(seed)
    small = [path.read_bytes() for path in FILES if path.stat().st_size < 3000]
    loaded = refused = 0
    for _ in range(1000):
        data = bytearray(random_.choice(small))
        for _ in range(random_.randint(1, 4)):
            place = random_.randrange(len(data))
            kind = random_.randrange(5)
            if kind == 0:
                data[place] = random_.randrange(256)
            elif kind == 1:
                data[place] ^= 1 << random_.randrange(8)
            elif kind == 2:
                data[place : place + 4] = random_.choice(
                    [b"\xff\xff\xff\x7f", b"\xff" * 4, bytes(4)]
                )
            elif kind == 3:
                del data[place : place + random_.randint(1, 9)]
            else:
                data[place:place] = data[random_.randrange(len(data)) :][: random_.randint(1, 40)]
            if not data:
                data = bytearray(b"\0")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                repr(rl.loads(bytes(data), classes=NoClasses()))
            loaded += 1
        except rl.FileFormatError:
            refused += 1
    assert loaded > 100
    assert refused > 100


def test_a_number_is_no_path():
    with pytest.raises(TypeError, match="not int"):
        rl.load(3)
