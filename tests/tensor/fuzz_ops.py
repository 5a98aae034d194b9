"""Calls every public op with arguments of the right kind and any value: python fuzz_ops.py SEED N

Runs in a process of its own, with little memory and a time limit per call, since a bug here is a
crash or a hang. Writes each call to standard error before making it.
"""

import os
import random
import re
import resource
import signal
import sys

import relume as rl

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")  # bounds allocations itself, is slow
MEMORY = 6 << 30
SECONDS_PER_CALL = 300 if SANITIZED else 120  # a busy machine takes its time
NAMED = re.compile(r"[\w.]+(\(\):?|:) ")  # an error says which function it is of
REFUSALS = (TypeError, ValueError, IndexError, RuntimeError, MemoryError, OverflowError)

SHAPES = [(), (0,), (1,), (3,), (2, 3), (3, 3), (2, 0, 3), (1, 2, 4, 4), (2, 2, 3, 4, 5), (4, 1, 1)]
INTEGERS = [0, 1, 2, 3, -1, -2, -3, 5, 100, -100, 2**31, -(2**31), 2**40, 2**63 - 1, -(2**63)]
REALS = [0.0, 1.0, -1.0, 0.5, 2.5, 1e300, float("inf"), float("-inf"), float("nan")]
TEXTS = ["constant", "reflect", "mean", "sum", "none", "", "no such word", "\0"]
DTYPES = [rl.float64, rl.float32, rl.float16, rl.int64, rl.uint8, rl.bool_]


def tensor(choose):
    """A small tensor of any type and layout, NaN and big integers included."""
    shape, dtype = choose(SHAPES), choose(DTYPES)
    value = rl.randn(shape, dtype=rl.float64) * choose([1.0, 0.0, 3.0, 1e10])
    value = value.to(dtype)
    layout = choose(["plain", "plain", "transposed", "reversed", "strided"])
    if value.ndim and layout == "transposed":
        return value.transpose(0, -1)
    if value.ndim and layout == "reversed":
        return value.slice(0, None, None, -1)
    if value.ndim and layout == "strided":
        return value.slice(-1, None, None, 2)
    return value


def integers(choose):
    return [choose(INTEGERS) for _ in range(choose([0, 1, 1, 2, 2, 3, 4]))]


MAKERS = {
    "Tensor": tensor,
    "Tensor[]": lambda choose: [tensor(choose) for _ in range(choose([0, 1, 2, 3]))],
    "Tensor|Scalar": lambda choose: choose([tensor, number])(choose),
    "Scalar": lambda choose: number(choose),
    "int": lambda choose: choose(INTEGERS[:8] * 4 + INTEGERS),
    "int[]": lambda choose: choose([integers, small_integers])(choose),
    "float": lambda choose: choose(REALS),
    "bool": lambda choose: choose([True, False]),
    "dtype": lambda choose: choose(DTYPES),
    "str": lambda choose: choose(TEXTS),
}


def small_integers(choose):
    return [choose([0, 1, 2, 3, -1]) for _ in range(choose([1, 1, 2, 2, 3]))]


def number(choose):
    return choose(choose([INTEGERS, REALS]))


def argument(kind, choose):
    """An argument for a type of the schema; now and then of a wrong one."""
    if kind == "Tensor?[]":
        return [choose([None, tensor(choose)]) for _ in range(choose([0, 1, 2]))]
    if kind.endswith("?") and choose([True, False]):
        return None
    if choose(range(40)) == 0:
        return choose([None, "word", [], object(), [[1]], tensor(choose), 1.5])
    return MAKERS[kind.removesuffix("?")](choose)


def arguments(schema, choose):
    """Positional and keyword arguments for a schema; those with defaults may be left out."""
    text = re.fullmatch(r"\w+\((.*)\) -> .*", schema).group(1)
    parts = [part.strip() for part in re.findall(r"(?:\[[^\]]*\]|[^,\[])+", text)]
    positional, keywords = [], {}
    by_keyword = False
    for part in parts:
        if part == "*":
            by_keyword = True
            continue
        declaration, has_default, _ = part.partition("=")
        kind, name = declaration.split()
        if has_default and choose([True, False]):
            by_keyword = True
            continue
        value = argument(kind, choose)
        if by_keyword:
            keywords["from_" if name == "from" else name] = value
        else:
            positional.append(value)
    return positional, keywords


def shown(value):
    if isinstance(value, rl.Tensor):
        return f"Tensor({tuple(value.shape)}, {tuple(value.stride())}, {value.dtype.name})"
    if isinstance(value, list):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    return repr(value)


def main(seed, count):
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    rl.set_num_threads(1)
    for row in rl._C.registry():
        if "internal" in row["traits"]:
            continue
        generator = random.Random(f"{seed} {row['name']}")
        rl.manual_seed(seed)
        for _ in range(count):
            positional, keywords = arguments(row["schema"], generator.choice)
            text = ", ".join(
                [*map(shown, positional), *(f"{k}={shown(v)}" for k, v in keywords.items())]
            )
            print(f"{row['name']}({text})", file=sys.stderr)
            signal.alarm(SECONDS_PER_CALL)
            try:
                rl._C.ops[row["name"]](*positional, **keywords)
            except REFUSALS as error:
                assert isinstance(error, MemoryError) or NAMED.match(str(error)), f"whose? {error}"
            signal.alarm(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
