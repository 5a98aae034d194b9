"""Damages files of every readable format and reads them: python fuzz_files.py SEED SECONDS [WORD]

Runs in a process of its own, with bounded memory and a time limit per file, since a bug here is a
crash or a hang. Keeps the file at hand in the folder that it names first, for a look at it. With a
word, damages only files whose names hold it.
"""

import os
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

import relume as rl
from relume.converters.t7.outline import read_outline

SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")  # bounds allocations itself, is slow
MEMORY = 4 << 30
SECONDS_PER_FILE = 300 if SANITIZED else 120  # a busy machine takes its time
DATA = Path(__file__).parents[1] / "data"
LEGACY = Path(__file__).parents[3] / "shared" / "legacy_files" / "files"
LARGEST = 100_000
# A damaged file may also still be one: then what it holds can be looked at.
REFUSALS = (rl.FileFormatError, rl.converters.CannotConvert, MemoryError)

NUMBERS = [0, 1, 2, 3, 7, 8, 127, 128, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62]
NUMBERS += [2**63 - 1, 2**63, 2**64 - 1]
WORDS = [b"-1", b"0", b"1e300", b"nan", b"99999999999999999999", b"-9223372036854775808", b" ", b""]


def originals(folder):
    """Paths of sound files: Torch7's, and one network in each of the other formats."""
    nn = rl.legacy_nn
    net = nn.Sequential().add(nn.SpatialConvolution(1, 2, 3, 3))
    net.add(nn.SpatialBatchNormalization(2)).add(nn.View(-1)).add(nn.Linear(32, 3)).evaluate()
    for ending in (".safetensors", ".npz", ".h5", ".onnx", ".t7"):
        rl.convert(net, folder / f"net{ending}", input=rl.rand(1, 1, 6, 6), verify=False)
    t7 = [path for place in ("t7", "misc", "nn") for path in (DATA / place).rglob("*.t7")]
    legacy = LEGACY.iterdir() if LEGACY.is_dir() else []
    found = sorted([*t7, *legacy]) + sorted(folder.iterdir()) * 20
    return [path for path in found if 0 < path.stat().st_size <= LARGEST]


def place(data, choose):
    """Any position, more often one near the beginning."""
    return choose.randrange(min(len(data), choose.choice([64, 1024, len(data)])) + 1)


def flip(data, choose):
    at = place(data, choose)
    data[at : at + 1] = bytes([choose.randrange(256)])


def overwrite_number(data, choose):
    at, size = place(data, choose), choose.choice([1, 2, 4, 8])
    value = choose.choice(NUMBERS) % 2 ** (8 * size)
    data[at : at + size] = value.to_bytes(size, choose.choice(["little", "big"]))


def overwrite_word(data, choose):
    digits = [i for i in range(len(data)) if 48 <= data[i] < 58]
    if digits:
        at = end = choose.choice(digits)
        while end < len(data) and 48 <= data[end] < 58:
            end += 1
        data[at:end] = choose.choice(WORDS)


def cut(data, choose):
    del data[place(data, choose) :]


def remove(data, choose):
    at = place(data, choose)
    del data[at : at + choose.choice([1, 4, 8, 64])]


def repeat(data, choose):
    at, size = place(data, choose), choose.choice([1, 4, 8, 64, 512])
    data[at:at] = data[at : at + size]


def move(data, choose):
    source, target, size = place(data, choose), place(data, choose), choose.choice([4, 8, 32])
    data[target : target + size] = data[source : source + size]


DAMAGES = [flip, overwrite_number] * 2 + [overwrite_word, cut, remove, repeat, move]


def damaged(path, choose):
    data = bytearray(path.read_bytes())
    for _ in range(choose.choice([1, 1, 2, 3, 10])):
        choose.choice(DAMAGES)(data, choose)
    return bytes(data)


def look_at(found, depth=0):
    """Touches every element of every tensor, prints, and lets networks compute."""
    if isinstance(found, rl.Tensor):
        if found.numel() < 1_000_000:
            found.clone()
        return
    repr(found)
    if isinstance(found, rl.legacy_nn.Module):
        for shape in [(1, 6, 6), (4,)]:
            with suppress(Exception):  # who knows what it still is: it must only not crash
                found.forward(rl.rand(shape))
    parts = found if isinstance(found, dict) else getattr(found, "__dict__", {})
    if depth < 20:
        for part in list(parts.values()):
            look_at(part, depth + 1)


def read(path):
    """Reads a file in each way that there is, and writes what was in it."""
    found = rl.load(path)
    look_at(found)
    if path.suffix not in (".npz", ".h5", ".onnx", ".safetensors"):
        rl.load_all(path)
        read_outline(path)
    with suppress(rl.converters.UnwritableError):
        rl.dumps(found)


def main(seed, seconds, word):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    rl.set_num_threads(1)
    choose = random.Random(seed)
    rl.manual_seed(seed)
    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{seed}-"))
    print(folder, file=sys.stderr, flush=True)
    (folder / "sound").mkdir()
    files = [path for path in originals(folder / "sound") if word in path.name]
    end = time.monotonic() + seconds
    sound = refused = 0
    while time.monotonic() < end:
        source = choose.choice(files)
        path = folder / f"damaged{source.suffix}"
        path.write_bytes(damaged(source, choose))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        signal.alarm(SECONDS_PER_FILE)
        try:
            read(path)
            sound += 1
        except REFUSALS as error:
            assert str(error) or isinstance(error, MemoryError), "an error without a message"
            refused += 1
        signal.alarm(0)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 1 << 20, f"{grown >> 10} MB for {path} of {path.stat().st_size} bytes"
        path.unlink()
    print(f"{sound} read, {refused} refused")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), "".join(sys.argv[3:4]))
