"""The demo's checkpoint samples the same text in Lua as the real Torch7 did."""

from __future__ import annotations

from pathlib import Path

import relume as rl

ROOT = Path(__file__).parents[2]
CHECKPOINT = ROOT / "examples" / "models" / "shakespeare.t7"
SCRIPT = ROOT / "examples" / "sample_charrnn.lua"


def test_lua_samples_from_the_weights_that_python_loaded():
    expected = (CHECKPOINT.parent / "shakespeare_expected.txt").read_text()
    checkpoint = rl.load(CHECKPOINT)
    written: list[str] = []
    with rl.bridge.Lua() as lua:
        lua.run(SCRIPT, checkpoint, 60, written.append)
        weight = lua.eval("function(c) return c.protos.rnn:findModules('nn.Linear')[1].weight end")(
            checkpoint
        )
    text = "".join(written)
    assert len(text) == 60
    layers = [
        layer for layer in checkpoint.protos.rnn.modules if layer.torch_typename == "nn.Linear"
    ]
    assert weight is layers[0].weight
    if expected:
        assert expected.startswith("ROMEO:" + text)
    with rl.bridge.Lua() as lua:  # reading the file on the Lua side gives the same
        again: list[str] = []
        lua.run(SCRIPT, str(CHECKPOINT), 60, again.append)
    assert "".join(again) == text
