"""The command `relume`: what it prints, writes and answers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import relume as rl
from relume.command_line import main
from relume.converters import safetensors

DATA = Path(__file__).parents[1] / "data"
MODEL = Path(rl.__file__).parent / "examples" / "models" / "shakespeare.t7"
LEGACY = Path(rl.__file__).parent.parent / "shared" / "legacy_files"


@pytest.fixture
def relume(monkeypatch, capsys):
    """Runs the command; returns (exit code, standard output, standard error)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["relume", *map(str, arguments)])
        monkeypatch.delenv("RELUME_DEBUG", raising=False)
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        return (code, *capsys.readouterr())

    return run


# ---- inspect ----


def test_inspect_shows_classes_settings_and_weights(relume):
    code, out, _ = relume("inspect", MODEL)
    assert code == 0
    assert "protos table of 2" in out
    assert "rnn nn.gModule nInputs=5, verbose=False (240,321 parameters)" in out
    assert "5 nn.Linear weight 512x128, bias 512 (66,048 parameters)" in out
    assert "vocab table of 65: " in out
    assert "\x1b" not in out  # no colours in a pipe


def test_inspect_json(relume):
    code, out, _ = relume("inspect", MODEL, "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["parameters"] == 240_321
    assert answer["classes"]["nn.Linear"] == 5
    by_path = {entry["path"]: entry for entry in answer["objects"]}
    assert by_path["protos.rnn.modules.5.weight"] == {
        "path": "protos.rnn.modules.5.weight",
        "class": "torch.DoubleTensor",
        "dtype": "float64",
        "shape": [512, 128],
        "strides": [128, 1],
        "offset": by_path["protos.rnn.modules.5.weight"]["offset"],
        "parameter": True,
        "storage": by_path["protos.rnn.modules.5.weight"]["storage"],
    }
    assert by_path["opt"]["values"]["rnn_size"] == 128


def test_inspect_says_what_is_shared(relume):
    code, out, _ = relume("inspect", DATA / "t7" / "nn" / "shared_weights.t7")
    assert code == 0
    assert "nn.Linear shared=True, weight same as modules.1.weight" in out
    assert "nn.Sequential (9 parameters)" in out


def test_inspect_depth_and_selection(relume):
    _, out, _ = relume("inspect", MODEL, "--depth", 1, "--select", "protos")
    assert "modules" not in out
    assert "there is more below depth 1" in out
    code, _, err = relume("inspect", MODEL, "--select", "protos.rn")
    assert code == 2
    assert "no 'rn' in protos (table); there is: " in err and "rnn" in err


@pytest.mark.parametrize("path", sorted(DATA.glob("t7/*/*.t7")), ids=lambda p: p.stem)
def test_inspect_survives_every_golden_file(relume, path):
    code, out, err = relume("inspect", path)
    assert (code, bool(out)) == (0, True) or (code == 2 and err.startswith("error: "))
    code, out, _ = relume("inspect", path, "--json")
    assert code == 2 or json.loads(out)["objects"]


@pytest.mark.skipif(not LEGACY.exists(), reason="needs ../shared/legacy_files")
@pytest.mark.parametrize("path", sorted(LEGACY.glob("files/*")), ids=lambda p: p.stem)
def test_inspect_counts_the_parameters_of_legacy_files(relume, path):
    expected = json.loads((LEGACY / "truth" / f"{path.stem}.json").read_text())
    code, out, err = relume("inspect", path, "--json")
    if expected.get("root") is None:  # not a Torch7 file
        assert code == 2 and "not a Torch7 file" in err
    else:
        assert code == 0, err
        assert json.loads(out)["left_over_bytes"] == 0
        assert json.loads(out)["parameters"] == expected["parameters"]


def test_inspect_names_clones_of_one_cell(relume):
    path = DATA / "nngraph" / "lstm_unrolled.t7"
    code, out, _ = relume("inspect", path, "--select", "cases[1].module")
    assert code == 0
    assert "4 clones of one LSTM cell" in out
    assert "cases.1.module" not in out and "1, 2, 3" in out


# ---- run ----


def test_an_npz_of_one_array_is_no_table(relume, tmp_path):
    case = rl.load(DATA / "nn" / "Linear.t7").cases[1]
    np.savez(tmp_path / "x.npz", case.input.numpy())
    arguments = ["--select", "cases.1.module", "--input", tmp_path / "x.npz"]
    code, out, err = relume("run", DATA / "nn" / "Linear.t7", *arguments)
    assert (code, err) == (0, "")
    assert "nn.Linear: output" in out


@pytest.mark.parametrize("name", ["Linear", "SpatialConvolution", "CAddTable", "ConcatTable"])
def test_run_gives_what_torch7_gave(relume, tmp_path, name):
    path = DATA / "nn" / f"{name}.t7"
    case = rl.load(path).cases[1]
    tensors = [case.input] if isinstance(case.input, rl.Tensor) else case.input.as_list()
    given, gets = tmp_path / "x.npz", tmp_path / "y.npz"
    if len(tensors) == 1:
        given, gets = (
            given.with_suffix(".npy"),
            gets if name == "ConcatTable" else tmp_path / "y.npy",
        )
        np.save(given, tensors[0].numpy())
    else:
        np.savez(given, **{f"input{i}": t.numpy() for i, t in enumerate(tensors)})
    code, out, err = relume(
        *["run", path, "--select", "cases.1.module", "--input", given, "--output", gets]
    )
    assert (code, err) == (0, "")
    assert f"nn.{name}: output" in out
    result = np.load(gets)
    results = [result] if isinstance(result, np.ndarray) else [result[key] for key in result.files]
    wanted = [case.output] if isinstance(case.output, rl.Tensor) else case.output.as_list()
    for ours, theirs in zip(results, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-5, atol=1e-6)


def test_run_prints_layers(relume, tmp_path):
    path = DATA / "nn" / "Sequential.t7"
    case = rl.load(path).cases[1]
    np.save(tmp_path / "x.npy", case.input.numpy())
    arguments = ["run", path, "--select", "cases[1].module", "--input", tmp_path / "x.npy"]
    code, out, _ = relume(*arguments, "--layers")
    assert code == 0
    columns = ["path", "layer", "output", "min", "max", "mean", "std", "nan", "inf", "ms"]
    assert out.splitlines()[0].split() == columns
    assert "root.modules[1]" in out
    code, out, _ = relume(*arguments, "--layers", "--json")
    answer = json.loads(out)
    assert answer["output"] == list(case.output.shape)
    assert answer["layers"][-1]["path"] == "root"
    assert answer["layers"][-1]["output"] == answer["output"]
    assert all(isinstance(layer["mean"], float) for layer in answer["layers"])


def test_run_compares_layers_with_those_of_another_run(relume, tmp_path):
    path = DATA / "nn" / "Sequential.t7"
    np.save(tmp_path / "x.npy", rl.load(path).cases[1].input.numpy())
    arguments = ["run", path, "--select", "cases[1].module", "--input", tmp_path / "x.npy"]
    layers = tmp_path / "layers.npz"
    assert relume(*arguments, "--save-layers", layers)[0] == 0
    code, out, _ = relume(*arguments, "--compare", layers)
    assert code == 0 and "outputs agree" in out
    with np.load(layers) as archive:
        arrays = dict(archive)
    arrays["root.modules[2]"] = arrays["root.modules[2]"] + 1
    np.savez(layers, **arrays)
    code, out, _ = relume(*arguments, "--compare", layers)
    assert code == 1
    assert "the first output that differs is that of root.modules[2]: it differs by 1" in out
    marked = [line for line in out.splitlines() if "FIRST" in line]
    assert len(marked) == 1 and marked[0].startswith("root.modules[2]")
    code, _, err = relume(*arguments, "--compare", tmp_path / "x.npy")
    assert code == 2 and ".npz" in err


def test_run_asks_which_network_is_meant(relume, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(3))
    code, _, err = relume("run", DATA / "nn" / "Linear.t7", "--input", tmp_path / "x.npy")
    assert code == 2
    assert "--select cases.1.module" in err
    code, _, err = relume(
        *["run", DATA / "nn" / "Linear.t7", "--select", "cases", "--input", tmp_path / "absent.npy"]
    )
    assert code == 2 and "there is no file" in err


def test_run_of_arrays_that_are_none(relume, tmp_path):
    (tmp_path / "x.npy").write_text("no array")
    code, _, err = relume("run", MODEL, "--input", tmp_path / "x.npy")
    assert code == 2 and "is no .npy or .npz file" in err


# ---- convert ----


def read_npz(path):
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files if name != "relume.json"}


def read_h5(path):
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            found[name.replace("/", ".")] = item[()]

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


READERS = {"npz": read_npz, "safetensors": lambda path: safetensors.read(path)[0], "h5": read_h5}


@pytest.mark.parametrize("ending", READERS)
def test_convert_writes_weights_under_their_paths(relume, tmp_path, ending):
    path = tmp_path / f"weights.{ending}"
    code, out, _ = relume("convert", MODEL, path)
    assert code == 0
    assert "10 tensors, 240,321 numbers" in out and "equal bit for bit" in out
    layers = rl.load(MODEL).protos.rnn.modules
    arrays = READERS[ending](path)
    linear = [i for i, layer in enumerate(layers, start=1) if layer.torch_typename == "nn.Linear"]
    names = {f"protos.rnn.modules.{i}.{name}" for i in linear for name in ("weight", "bias")}
    assert set(arrays) == names
    for i in linear:
        for name in ("weight", "bias"):
            expected = getattr(layers[i - 1], name).detach().numpy()
            np.testing.assert_array_equal(arrays[f"protos.rnn.modules.{i}.{name}"], expected)
    assert os.listdir(tmp_path) == [path.name]


def test_shared_weights_are_written_once(tmp_path):
    weight = rl.ones([2, 3])
    source = rl.Table({"a": weight, "b": rl.Table({"c": weight, "same view": weight[:]})})
    reports = [rl.convert(source, tmp_path / f"w.{ending}") for ending in READERS]
    for report in reports:
        assert report.tensors == 1
        assert report.aliases == {"b.c": "a", "b.same view": "a"}
    _, metadata = safetensors.read(tmp_path / "w.safetensors")
    assert json.loads(metadata["aliases"]) == reports[0].aliases
    with np.load(tmp_path / "w.npz") as archive:
        assert json.loads(archive["aliases.json"]) == reports[0].aliases
    with h5py.File(tmp_path / "w.h5") as file:
        assert file["a"] == file["b/c"]


def test_views_of_one_storage_stay_apart(tmp_path):
    flat = rl.arange(6.0)
    report = rl.convert(
        {"a": flat[:3], "b": flat[3:], "t": flat.reshape(2, 3).t()}, tmp_path / "w.npz"
    )
    assert report.tensors == 3
    arrays = read_npz(tmp_path / "w.npz")
    assert arrays["b"].tolist() == [3, 4, 5]
    assert arrays["t"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_convert_says_no_where_nothing_is(relume, tmp_path):
    code, _, err = relume("convert", DATA / "t7" / "scalars" / "number_top.t7", tmp_path / "x.npz")
    assert code == 1
    assert "cannot convert" in err
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("out", ["x.pickle", "x", "absent/x.npz"])
def test_convert_to_places_and_formats_that_do_not_exist(relume, tmp_path, out):
    code, _, err = relume("convert", MODEL, tmp_path / out)
    assert code == 2 and err.startswith("error: ")


# ---- the rest ----


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no-such-command"],
        ["inspect"],
        ["inspect", "absent.t7"],
        ["inspect", "."],
        ["inspect", __file__],
        ["inspect", MODEL, "--depth", "-1"],
        ["run", MODEL],
        ["convert", MODEL],
        ["lua", "absent.lua"],
        ["lua", "--cuda=gpu", __file__],
        ["demo", "--length", "0"],
    ],
)
def test_mistakes_are_explained_without_a_traceback(relume, arguments):
    code, out, err = relume(*arguments)
    assert code == 2
    assert "Traceback" not in out + err
    assert err or not arguments


def test_traceback_on_request(relume):
    _, _, err = relume("--traceback", "inspect", "absent.t7")
    assert "Traceback" in err
    os.environ.pop("RELUME_DEBUG", None)


@pytest.mark.parametrize("command", ["inspect", "run", "convert", "lua", "doctor", "demo"])
def test_help_has_an_example(relume, command):
    code, out, _ = relume(command, "--help")
    assert code == 0
    assert f"relume {command} " in out.split("Example:")[1]


def test_closed_pipe():
    command = (
        f"{sys.executable} -c 'from relume.command_line import main; main()' inspect {MODEL} --all"
    )
    result = subprocess.run(
        ["bash", "-c", f"{command} | head -1"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(rl.__file__).parent.parent)}
        if Path(rl.__file__).parent.name == "relume"
        else None,
    )
    assert result.stdout == "table of 8\n"
    assert result.stderr == ""


def test_version(relume):
    code, out, _ = relume("--version")
    assert (code, out) == (0, f"relume {rl.__version__}\n")


def test_the_package_itself_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "relume", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith(rl.__version__)


def test_lua_maps_cuda_to_the_cpu_and_leaves_the_script_its_options(relume, tmp_path):
    script, seen = tmp_path / "script.lua", tmp_path / "seen.txt"
    script.write_text(
        "require 'cutorch'\n"
        "local file = io.open(arg[1], 'w')\n"
        "file:write(torch.rand(2):cuda():type(), ' ', arg[2])\n"
        "file:close()"
    )
    code, _, _ = relume("lua", "--cuda=cpu", script, seen, "--cuda=0")
    assert (code, seen.read_text()) == (0, "torch.FloatTensor --cuda=0")
