"""Graphs as Graphviz source: the text that the real graph package gives for plain graphs."""

from __future__ import annotations

import shutil

import pytest

from relume.bridge import Lua, LuaError


@pytest.fixture(scope="module")
def lua():
    with Lua() as runtime:
        runtime.require("nngraph")
        runtime.execute(
            """
            g = graph.Graph()
            a, b, c = graph.Node('first'), graph.Node('say "b"'), graph.Node(3)
            g:add({graph.Edge(a, b), graph.Edge(b, c)})
            input = nn.Identity()()
            output = nn.Tanh()(nn.Linear(2, 3)(input)):annotate {
               name = 'L1', description = 'level 1', graphAttributes = {color = 'red'},
            }
            net = nn.gModule({input}, {output})
            """
        )
        yield runtime


def test_source_of_a_graph(lua):
    assert lua.eval("g:todot('Title')") == (
        'digraph G {\nlabelloc="t";\nlabel="Title";\nnode [shape = oval]; \n'
        'n1[label="Node1\\nfirst"];\nn2[label="Node2\\nsay \\"b\\""];\nn3[label="Node3\\n3"];\n'
        "n1 -> n2;\nn2 -> n3;\n}"
    )


def test_source_of_a_network_shows_modules_and_annotations(lua):
    source = lua.eval("net.fg:todot()")
    assert '[color=red label="L1 (2)' in source and 'level 1\\nmodule = nn.Tanh"]' in source
    assert "module = nn.Linear(2 -> 3)" in source
    assert source.count(" -> n") == lua.eval("#net.fg.edges")


def test_dot_writes_files(lua, tmp_path):
    lua.execute("graph.dot(net.fg, 'MLP', ...)", str(tmp_path / "mlp"))
    assert (tmp_path / "mlp.dot").read_text().startswith("digraph G {\n")
    assert (tmp_path / "mlp.svg").exists() == (shutil.which("dot") is not None)


@pytest.mark.skipif(shutil.which("dot") is not None, reason="Graphviz is installed")
def test_pictures_need_graphviz(lua, tmp_path):
    with pytest.raises(LuaError, match="Graphviz, whose program 'neato' draws"):
        lua.execute("graph.graphvizFile(g, 'neato', ...)", str(tmp_path / "g.png"))


def test_what_can_be_reached_from_a_node(lua):
    assert lua.execute(
        """
        local part, copy = b:graph(), g:clone()
        local ring = graph.Graph()
        local x, y = graph.Node(1), graph.Node(2)
        ring:add({graph.Edge(x, y), graph.Edge(y, x)})
        return #part.nodes, #part.edges, #copy.nodes, #copy.edges, a:hasCycle(), x:hasCycle()
        """
    ) == (2, 1, 3, 2, False, True)  # fmt: skip
