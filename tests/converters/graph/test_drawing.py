"""Drawings of networks: what is in them, where it stands, and that browsers can show it."""

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import relume as rl
from relume import legacy_nn as nn
from relume.command_line import main
from relume.converters.graph.drawing import Group, graph
from relume.converters.graph.drawing.layout import Layout, Passage


def residual():
    main_branch = nn.Sequential().add(nn.Linear(4, 4)).add(nn.Tanh()).add(nn.Linear(4, 4))
    both = nn.ConcatTable().add(main_branch).add(nn.Identity())
    net = nn.Sequential().add(nn.Linear(3, 4)).add(both).add(nn.CAddTable()).add(nn.Dropout())
    return net.float()


def drawn():
    return graph(residual(), input=rl.rand(2, 3))


def ends(drawing):
    return [(edge.source.title, edge.target.title) for edge in drawing.edges]


def test_boxes_groups_edges_and_shapes():
    drawing = drawn()
    linear = [box for box in drawing.root.boxes() if "Linear" in box.title]
    assert [box.path for box in linear] == [
        "modules.1",
        "modules.2.modules.1.modules.1",
        "modules.2.modules.1.modules.3",
    ]
    assert linear[0].parameters == {"weight": "4 × 3", "bias": "4"} and linear[0].count == 16
    assert linear[0].shape == "batch × 4"
    assert [group.label for group in drawing.root.groups()] == [
        "nn.Sequential",
        "modules.2: nn.ConcatTable",
        "modules.1: nn.Sequential",
    ]
    assert ("nn.Linear(3 -> 4)", "nn.CAddTable") in ends(drawing)  # past the branch
    assert ends(drawing)[0] == ("input", "nn.Linear(3 -> 4)")
    assert ends(drawing)[-1] == ("nn.CAddTable", "output")
    assert drawing.root.count == 16 + 2 * 20


def test_layers_that_pass_on_what_they_get_are_told():
    add = next(box for box in drawn().root.boxes() if box.title == "nn.CAddTable")
    assert add.notes == ["nn.Dropout(0.500000)"]


def test_running_statistics_are_no_parameters():
    net = nn.Sequential().add(nn.SpatialConvolution(1, 2, 3, 3))
    net.add(nn.SpatialBatchNormalization(2))
    drawing = graph(net)
    (box,) = [box for box in drawing.root.boxes() if "BatchNorm" in box.title]
    assert box.count == 4 and set(box.buffers) == {"running_mean", "running_var"}
    assert drawing.root.count == sum(p.numel() for p in net.parameters()[0])
    assert "running_mean, a buffer" in drawing.to_html()


def test_shared_parameters_say_whose_they_are():
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.share(first, "weight")
    boxes = list(graph(nn.Sequential().add(first).add(second)).root.boxes())
    assert boxes[2].shared == {"weight": "modules.1.weight"}
    assert "weight is modules.1.weight" in boxes[2].lines and boxes[2].count == 3


def test_what_runs_often_is_drawn_once_with_an_edge_back():
    net = nn.Sequencer(nn.LSTM(3, 2)).float()
    drawing = graph(net, input=[rl.rand(2, 3) for _ in range(3)])
    assert max(box.runs for box in drawing.root.boxes()) == 3
    assert any(route.goes_back for route in Layout(drawing).routes)
    assert 'class="edge back"' in drawing.to_svg()


def test_rows_go_down_and_edges_pass_beside_boxes():
    drawing = drawn()
    layout = Layout(drawing)
    for group in drawing.root.groups():
        rows = layout.rows[id(group)]
        assert sum(not isinstance(item, Passage) for row in rows for item in row) == len(
            group.members
        )
    skipping = next(
        route
        for route in layout.routes
        if (route.edge.source.path, route.edge.target.title) == ("modules.1", "nn.CAddTable")
    )
    assert len(skipping.passages) == 1  # the row of the ConcatTable


def test_networks_that_do_not_run_are_drawn_from_their_tree():
    net = nn.Sequential().add(nn.Linear(3, 4)).add(rl.TorchObject("my.Layer", {}))
    drawing = graph(net)
    assert "without shapes" in drawing.warning
    assert [title for _, title in ends(drawing)] == ["nn.Linear(3 -> 4)", "my.Layer", "output"]


def test_graphs_of_modules_without_running():
    x = nn.Identity()()
    left, right = nn.Linear(3, 2)(x), nn.Linear(3, 2)(x)
    net = nn.gModule([x], [nn.CAddTable()([left, right])])
    net.add(rl.TorchObject("my.Layer", {}))
    titles = ends(graph(nn.Sequential().add(net).add(rl.TorchObject("my.Layer", {}))))
    assert titles.count(("nn.Linear(3 -> 2)", "nn.CAddTable")) == 2


def test_a_given_input_that_does_not_fit_is_an_error():
    with pytest.raises(ValueError, match="Linear"):
        graph(residual(), input=rl.rand(2, 5))


# ---- forms ----


def test_svg_is_well_formed_and_nothing_overlaps():
    root = ElementTree.fromstring(drawn().to_svg())
    name = "{http://www.w3.org/2000/svg}rect"
    boxes = [r for r in root.iter(name) if r.get("class") != "group"]
    assert len(boxes) == 7  # five layers, input and output
    places = [[float(box.get(key)) for key in ("x", "y", "width", "height")] for box in boxes]
    for number, (x, y, width, height) in enumerate(places):
        for u, v, _, _ in places[:number]:
            assert not (x <= u < x + width and y <= v < y + height)


def test_text_of_users_is_escaped():
    class Angle(nn.Tanh):
        def __str__(self):
            return "<script>&"

    drawing = graph(nn.Sequential().add(Angle()), input=rl.rand(1, 2))
    ElementTree.fromstring(drawing.to_svg())
    assert "<script>&" not in drawing.to_html()


@pytest.mark.skipif(not shutil.which("dot"), reason="needs Graphviz")
def test_graphviz_takes_the_text():
    assert "<svg" in drawn().to_svg(graphviz=True)


def test_dot_names_containers_as_clusters():
    text = drawn().to_dot()
    assert text.count("subgraph") == 2 and text.count("->") >= len(drawn().edges)
    assert text.count("{") == text.count("}")


def test_the_page_needs_nothing_else():
    page = drawn().to_html()
    assert not re.search(r'(src|href)="|https?://(?!www\.w3\.org/2000/svg)|@import', page)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    ids = set(re.findall(r' id="(i\d+)"', page))
    assert {edge["source"] for edge in data["edges"]} <= ids
    assert {place for edge in data["edges"] for place in edge["through"]} <= ids


def test_big_networks_begin_closed():
    net = nn.Sequential()
    for _ in range(30):
        part = nn.Sequential()
        for _ in range(5):
            part.add(nn.Linear(2, 2))
        net.add(part)
    page = graph(net.float(), input=rl.rand(1, 2)).to_html()
    assert page.count('class="group closed"') == 30


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs a browser")
def test_a_browser_draws_the_edges(tmp_path):
    path = tmp_path / "net.html"
    drawn().save(path)
    options = "--headless --no-sandbox --disable-gpu --virtual-time-budget=3000 --dump-dom"
    done = subprocess.run(
        ["chromium", *options.split(), path.as_uri()], capture_output=True, text=True, timeout=60
    )
    lines = re.search(r'<g id="lines">(.*?)</g>', done.stdout, re.S)[1]
    assert lines.count("<path") == len(drawn().edges)


# ---- the command ----


def run(capsys, *arguments):
    """What the command line does: exit code and output."""
    import sys

    before, sys.argv = sys.argv, ["relume", *map(str, arguments)]
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    return code, capsys.readouterr()


def test_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rl.save({"net": residual()}, "model.t7")
    code, output = run(capsys, "graph", "model.t7", "--svg", "--dot", "--json")
    assert code == 0 and json.loads(output.out)["files"] == ["model.svg", "model.dot"]
    assert "nn.CAddTable" in (tmp_path / "model.svg").read_text()
    code, output = run(capsys, "graph", "model.t7", "-", "--dot")
    assert output.out.startswith("digraph")
    code, _ = run(capsys, "graph", "model.t7", "page.html", "--select", "net")
    assert code == 0 and (tmp_path / "page.html").exists()
    code, output = run(capsys, "graph", "model.t7", "picture.jpg")
    assert code == 2 and ".svg" in output.err


def test_groups_know_what_is_in_them():
    inner = [group for group in drawn().root.groups() if isinstance(group, Group)][-1]
    assert inner.count == 40 and len(list(inner.boxes())) == 3
