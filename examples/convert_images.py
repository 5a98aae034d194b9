"""An image classifier for deployment: normalisation folded, half precision, compared by hand.

    python examples/convert_images.py [FOLDER]

Batch normalisation goes into the convolutions before it, and the proof compares with the network as
it was. A comparison with a function of NumPy arrays shows how to check any other program.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import relume as rl
from relume import legacy_nn as nn

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
rl.manual_seed(1)
net = (
    nn.Sequential()
    .add(nn.SpatialConvolution(3, 8, 3, 3, 1, 1, 1, 1))
    .add(nn.SpatialBatchNormalization(8))
    .add(nn.ReLU(True))
    .add(nn.SpatialAveragePooling(32, 32))
    .add(nn.View(8))
    .add(nn.Linear(8, 10))
    .add(nn.LogSoftMax())
    .float()
)
net.forward(rl.randn(16, 3, 32, 32))  # which gives the normalisation its statistics

images = np.random.default_rng(0).normal(size=(4, 3, 32, 32)).astype(np.float32)
print(rl.convert(net, folder / "classifier.onnx", input=images, fold_bn=True))
print(rl.convert(net, folder / "classifier_half.safetensors", input=images, dtype="float16"))
print(rl.convert(net, folder / "classifier_keras.h5", layout="keras"))

scores = net.evaluate().forward(rl.tensor(images)).numpy()
report = rl.compare(folder / "classifier.onnx", lambda x: scores, images)
print(report)
assert report.agrees
