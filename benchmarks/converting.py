"""Converting models: time with proof, and the memory that a large file takes.

    python benchmarks/converting.py [FOLDER] [--gigabytes 2] [--quick]

ResNet-18 on a batch of two images of 224x224 becomes every format, with proof; the target for ONNX
is 10 s. Then a file of linear layers becomes safetensors in pieces, in a process of its own; the
target is a peak of at most 1.2 of the largest tensor and 200 MB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import relume as rl
from relume import legacy_nn as nn

ENDINGS = ("t7", "safetensors", "npz", "h5", "onnx", "py")
SIDE = 8192  # of the weights of a linear layer: 256 MB
STAGES = ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1))

IN_PIECES = """
import re, sys
from relume.converters.conversion import convert
report = convert(*sys.argv[1:])
assert report.verified
print(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
"""


def block(planes_in: int, planes: int, stride: int) -> nn.Module:
    main = (
        nn.Sequential()
        .add(nn.SpatialConvolution(planes_in, planes, 3, 3, stride, stride, 1, 1))
        .add(nn.SpatialBatchNormalization(planes))
        .add(nn.ReLU(True))
        .add(nn.SpatialConvolution(planes, planes, 3, 3, 1, 1, 1, 1))
        .add(nn.SpatialBatchNormalization(planes))
    )
    short = nn.Identity()
    if planes_in != planes:
        short = (
            nn.Sequential()
            .add(nn.SpatialConvolution(planes_in, planes, 1, 1, stride, stride))
            .add(nn.SpatialBatchNormalization(planes))
        )
    branches = nn.ConcatTable().add(main).add(short)
    return nn.Sequential().add(branches).add(nn.CAddTable(True)).add(nn.ReLU(True))


def resnet_18() -> nn.Module:
    net = (
        nn.Sequential()
        .add(nn.SpatialConvolution(3, 64, 7, 7, 2, 2, 3, 3))
        .add(nn.SpatialBatchNormalization(64))
        .add(nn.ReLU(True))
        .add(nn.SpatialMaxPooling(3, 3, 2, 2, 1, 1))
    )
    before = 64
    for planes, stride in STAGES:
        net.add(block(before, planes, stride))
        before = planes
    net.add(nn.SpatialAveragePooling(7, 7, 1, 1)).add(nn.View(512).setNumInputDims(3))
    return net.add(nn.Linear(512, 1000)).float()


def convert_everywhere(folder: Path) -> None:
    rl.save(resnet_18(), folder / "resnet.t7")
    images = np.random.default_rng(0).normal(size=(2, 3, 224, 224)).astype(np.float32)
    for ending in ENDINGS:
        started = time.perf_counter()
        target = folder / f"resnet_as_{ending}.{ending}"
        report = rl.convert(folder / "resnet.t7", target, input=images)
        seconds = time.perf_counter() - started
        print(
            f"ResNet-18 to {report.format:12} {seconds:6.2f} s, differs by {relative(report):.1e}"
        )


def relative(report: rl.ConversionReport) -> float:
    return (report.proofs[0].relative or 0.0) if report.proofs else float("nan")


def convert_large(folder: Path, gigabytes: float) -> None:
    count = max(1, round(gigabytes * 2**30 / (SIDE * SIDE * 4)))
    nn.set_default_tensor_type("torch.FloatTensor")
    net = nn.Sequential()
    for _ in range(count):
        layer = nn.Linear(SIDE, SIDE, False)
        layer.gradWeight = rl.zeros(1)
        net.add(layer)
    rl.save(net, folder / "large.t7")
    del net
    started = time.perf_counter()
    files = [str(folder / name) for name in ("large.t7", "large.safetensors")]
    command = [sys.executable, "-c", IN_PIECES, *files]
    peak = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) / 1024
    seconds = time.perf_counter() - started
    size = (folder / "large.t7").stat().st_size / 2**30
    print(f"{size:.1f} GB to safetensors {seconds:6.2f} s, peak {peak:.0f} MB of memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="where the files go; a temporary one by default")
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--quick", action="store_true", help="see that it runs, without the file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        convert_everywhere(Path(folder))
        if not arguments.quick:
            convert_large(Path(folder), arguments.gigabytes)


if __name__ == "__main__":
    main()
