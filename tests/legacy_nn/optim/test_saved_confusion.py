"""A ConfusionMatrix in a file."""

import relume as rl
from relume.legacy_nn import optim


def test_a_confusion_matrix_in_a_checkpoint_counts_on(tmp_path):
    confusion = optim.ConfusionMatrix(["cat", "dog"])
    for prediction, target in ((1, 1), (2, 1), (2, 2)):
        confusion.add(prediction, target)
    confusion.updateValids()
    rl.save(rl.Table({"confusion": confusion, "epoch": 3}), tmp_path / "checkpoint.t7")
    loaded = rl.load(tmp_path / "checkpoint.t7").confusion
    assert isinstance(loaded, optim.ConfusionMatrix)
    assert str(loaded) == str(confusion)
    loaded.add(1, 2)
    assert loaded.mat.tolist() == [[1, 1], [1, 1]]


def test_what_lua_wrote():
    with rl.bridge.Lua() as lua:
        text = lua.execute(
            "local optim = require 'optim'\n"
            "local c = optim.ConfusionMatrix({'cat', 'dog'})\n"
            "c:add(1, 1) c:add(2, 1)\n"
            "return torch.serialize(c)"
        )
    data = text if isinstance(text, bytes) else text.encode("latin-1")
    confusion = rl.loads(data)
    assert isinstance(confusion, optim.ConfusionMatrix)
    assert confusion.mat.tolist() == [[1, 1], [0, 0]]
    assert confusion.classes == ["cat", "dog"]
