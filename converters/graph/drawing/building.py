"""Diagrams from traced graphs and, where a network cannot be run, from its tree of modules."""

from __future__ import annotations

from typing import Any

from relume.converters.graph.drawing.diagram import Box, Diagram, Edge, Group
from relume.converters.graph.model import Graph, Node, Value
from relume.converters.object_tree import memory_of, select
from relume.converters.weights import collect
from relume.legacy_nn.container import Branches, Decorator, Sequential
from relume.legacy_nn.gmodule import gModule
from relume.legacy_nn.module import Module
from relume.legacy_nn.printing import first_line

__all__ = ["diagram_of_graph", "diagram_of_tree"]


def shape_text(value: Value) -> str:
    return " × ".join(str(size) for size in value.shape) or "a number"


def title_of(module: Any) -> str:
    is_known = isinstance(module, Module)
    return first_line(module) if is_known else getattr(module, "torch_typename", "something")


def new_group(path: str, title: str, around: str) -> Group:
    own = path.removeprefix(f"{around}.") if around else path
    return Group(path, title, label=f"{own}: {title}" if own else title)


class Builder:
    """Makes boxes and groups for the layers of a network, by their paths."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self.root = new_group("", title_of(network), "")
        self.groups: dict[str, Group] = {"": self.root}
        self.boxes: dict[Any, Box] = {}
        self.edges: dict[tuple[int, int], Edge] = {}
        self.weights = collect(network)
        self.trained = {memory_of(tensor) for tensor in network.parameters()[0]}

    def group(self, path: str, containers: set[str]) -> Group:
        """The group of a container, in those around it."""
        found = self.groups.get(path)
        if found is None:
            around = path.rpartition(".")[0]
            while around and around not in containers:
                around = around.rpartition(".")[0]
            found = self.groups[path] = new_group(path, self.title(path), around)
            self.group(around, containers).members.append(found)
        return found

    def title(self, path: str) -> str:
        module = select(self.network, path) if path else self.network
        return title_of(module)

    def layer_box(self, path: str) -> Box:
        box = Box(path, self.title(path))
        prefix = f"{path}." if path else ""
        for name, array in self.weights.arrays.items():
            if name.startswith(prefix) and "." not in name[len(prefix) :]:
                is_trained = memory_of(self.weights.tensors[name]) in self.trained
                kind = box.parameters if is_trained else box.buffers
                kind[name[len(prefix) :]] = " × ".join(map(str, array.shape))
                box.count += array.size if is_trained else 0
        for name, first in self.weights.aliases.items():
            if name.startswith(prefix) and "." not in name[len(prefix) :]:
                box.shared[name[len(prefix) :]] = first
        return box

    def connect(self, source: Box, target: Box, shape: str = "") -> None:
        if source is not target:
            self.edges.setdefault((id(source), id(target)), Edge(source, target, shape))

    def diagram(self, warning: str = "") -> Diagram:
        return Diagram(self.root, list(self.edges.values()), warning)


# ---- of what ran ----


def containers_of(graph: Graph) -> set[str]:
    """Paths of the layers that other layers ran in."""
    found = {""}
    for path in graph.layers:
        around = path.rpartition(".")[0]
        while around:
            if around in graph.layers:
                found.add(around)
            around = around.rpartition(".")[0]
    return found


def diagram_of_graph(network: Any, graph: Graph) -> Diagram:
    """One box for each layer that computes, however often it ran."""
    builder = Builder(network)
    containers = containers_of(graph) if len(graph.layers) > 1 else set()
    makers: dict[int, Box] = {}
    for value in graph.inputs:
        box = makers[id(value)] = Box("", value.name, "input", shape_text(value))
        builder.root.members.append(box)
    for block in blocks_of(graph.nodes):
        box = box_of_block(builder, block, containers)
        for node in block:
            for value in node.inputs():
                if id(value) in makers:
                    builder.connect(makers[id(value)], box, shape_text(value))
            makers.update((id(output), box) for output in node.outputs)
    note_passing_layers(builder, graph, makers)
    for number, value in enumerate(graph.outputs, 1):
        name = "output" if len(graph.outputs) == 1 else f"output.{number}"
        box = Box("", name, "output", shape_text(value))
        builder.root.members.append(box)
        if id(value) in makers:
            builder.connect(makers[id(value)], box, shape_text(value))
    return builder.diagram()


def blocks_of(nodes: list[Node]) -> list[list[Node]]:
    """Neighbours of one layer together."""
    blocks: list[list[Node]] = []
    for node in nodes:
        if blocks and blocks[-1][0].layer == node.layer:
            blocks[-1].append(node)
        else:
            blocks.append([node])
    return blocks


def box_of_block(builder: Builder, block: list[Node], containers: set[str]) -> Box:
    path = block[0].layer
    is_container = path in containers
    names = tuple(dict.fromkeys(node.op for node in block))
    key = (path, names) if is_container else path
    box = builder.boxes.get(key)
    if box is not None:
        box.runs += 1
        return box
    if is_container:
        box, group = Box(path, ", ".join(names), "op"), builder.group(path, containers)
    else:
        box, group = builder.layer_box(path), group_around(builder, path, containers)
    box.shape = shape_text(block[-1].outputs[0])
    builder.boxes[key] = box
    group.members.append(box)
    return box


def group_around(builder: Builder, path: str, containers: set[str]) -> Group:
    around = path.rpartition(".")[0]
    while around and around not in containers:
        around = around.rpartition(".")[0]
    return builder.group(around, containers)


def note_passing_layers(builder: Builder, graph: Graph, makers: dict[int, Box]) -> None:
    """Layers without nodes, such as dropout, are told at what they pass on."""
    containers = containers_of(graph)
    for path, values in graph.layer_outputs.items():
        if path in builder.boxes or path in containers or len(values) != 1:
            continue
        box = makers.get(id(values[0]))
        if box is not None:
            box.notes.append(builder.title(path))


# ---- of what is known without running ----


def diagram_of_tree(network: Any, warning: str) -> Diagram:
    """What follows from the containers alone, without shapes."""
    builder = Builder(network)
    source = Box("", "input", "input")
    builder.root.members.append(source)
    ends = add_module(builder, network, "", builder.root, [source])
    target = Box("", "output", "output")
    builder.root.members.append(target)
    for end in ends:
        builder.connect(end, target)
    return builder.diagram(warning)


def add_module(
    builder: Builder, module: Any, path: str, group: Group, sources: list[Box]
) -> list[Box]:
    """Adds a module behind some boxes; the boxes that give its output."""
    children = list(module.children()) if isinstance(module, Module) else []
    if not children or not isinstance(module, (Sequential, Branches, Decorator, gModule)):
        box = builder.layer_box(path)
        group.members.append(box)
        for source in sources:
            builder.connect(source, box)
        return [box]
    inside = group
    if path:
        inside = new_group(path, title_of(module), group.path)
        group.members.append(inside)
    prefix = f"{path}." if path else ""

    def child(number: int, before: list[Box]) -> list[Box]:
        return add_module(
            builder, children[number], f"{prefix}modules.{number + 1}", inside, before
        )

    if isinstance(module, gModule):
        return add_steps(module, children, child, sources)
    if isinstance(module, Branches):
        return [end for number in range(len(children)) for end in child(number, sources)]
    for number in range(len(children)):
        sources = child(number, sources)
    return sources


def add_steps(module: gModule, children: list[Any], child: Any, sources: list[Box]) -> list[Box]:
    """The nodes of a graph of modules."""
    numbers = {id(one): number for number, one in enumerate(children)}
    ends: list[list[Box]] = []
    for step in module.steps():
        before = [box for source in step.sources for box in ends[source]] or sources
        own = step.data.get("module")
        known = own is not None and id(own) in numbers
        ends.append(child(numbers[id(own)], before) if known else before)
    return ends[-1]
