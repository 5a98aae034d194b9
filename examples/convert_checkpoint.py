"""A char-rnn checkpoint of 2016 for today's tools, each file with proof.

    python examples/convert_checkpoint.py [CHECKPOINT.t7] [FOLDER]

The whole checkpoint becomes safetensors, from which the same objects can be made again; its network
becomes ONNX and PyTorch source. A page beside each file says how far both sides agree.
"""

import sys
import tempfile
from pathlib import Path

import relume as rl

HERE = Path(__file__).parent
checkpoint = Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "models" / "shakespeare.t7")
folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())

for name, options in {
    "checkpoint.safetensors": {},
    "network.onnx": {"select": "protos.rnn"},
    "network.py": {"select": "protos.rnn", "gradients": True},
}.items():
    report = rl.convert(checkpoint, folder / name, layers=True, **options)
    report.save((folder / name).with_suffix(".html"))
    print(report, end="\n\n")

again = rl.load(folder / "checkpoint.safetensors")
print(f"from {folder / 'checkpoint.safetensors'}: {again.protos.rnn.torch_typename}, trained with")
print({name: again.opt[name] for name in ("rnn_size", "num_layers", "learning_rate", "dropout")})
