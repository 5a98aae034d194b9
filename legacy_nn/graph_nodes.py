"""The nodes and edges that graphs of modules are made of, laid out as nngraph writes them.

In a node the table `data` is what counts: `data.module` is what the node runs, `data.mapindex`
lists the `data` of the nodes whose outputs it gets, in order (and says, for each of them, which
it is), `data.selectindex` says which element of its input a node passes on.
"""

from __future__ import annotations

from typing import Any

from relume.converters.table import Table
from relume.legacy_nn import nested
from relume.legacy_nn.printing import first_line
from relume.legacy_nn.registry import lookup, register


class GraphObject:
    """The base of the objects that a graph is made of; attributes are fields."""

    torch_typename = "graph.Object"

    def _load_fields(self, fields: dict, version: int | None = None) -> None:
        self.__dict__.update(fields)

    def __repr__(self) -> str:
        return f"{self.torch_typename}({self.__dict__.get('id', '')})"


@register("graph.Graph")
class Graph(GraphObject):
    """Nodes and edges."""

    def __init__(self) -> None:
        self.nodes = Table()
        self.edges = Table()


@register("graph.Edge")
class Edge(GraphObject):
    """From one node to another."""

    def __init__(self, source: Any, target: Any) -> None:
        self.__dict__["from"] = source
        self.to = target


@register("graph.Node")
class GraphNode(GraphObject):
    """A node of a graph that is not a network."""


@register("nngraph.Node")
class Node(GraphObject):
    """A node of a network: `nn.Tanh()(node)` makes one, and so does `node - nn.Tanh()`.

    >>> from relume import legacy_nn as nn
    >>> x = nn.Identity()()
    >>> y = x - nn.Linear(3, 2) - nn.Tanh()
    >>> y
    nngraph.Node(nn.Tanh)
    >>> nn.gModule([x], [y])
    nn.gModule
    """

    data: Table
    children: Table
    id: int  # in its graph, once it is in one

    def __init__(self, module: Any = None) -> None:
        self.data = Table()
        for name in ("mapindex", "reverseMap", "annotations"):
            self.data[name] = Table()
        if module is not None:
            self.data["module"] = module
        self.children = Table()
        self.visited = self.marked = False

    @property
    def inputs(self) -> list:
        """The `data` of the nodes whose outputs it gets."""
        return sources_of(self.data)

    def annotate(self, **annotations: Any) -> Node:
        """Notes anything about the node; its `name` stands in errors and drawings.

        >>> from relume import legacy_nn as nn
        >>> nn.Tanh()().annotate(name="hidden")
        nngraph.Node(nn.Tanh, hidden)
        """
        for key, value in annotations.items():
            self.data["annotations"][key] = value
        return self

    def label(self) -> str:
        """What the node runs, and its name if it has one."""
        return label_of(self.data)

    def split(self, count: int) -> tuple[Node, ...]:
        """One node per element of the table that this node gives.

        >>> from relume import legacy_nn as nn
        >>> a, b = nn.Identity()().split(2)
        """
        middle = connect(Node(), [self])
        middle.data["nSplitOutputs"] = count
        parts = []
        for index in range(1, count + 1):
            part = connect(Node(), [middle])
            part.data["selectindex"] = index
            parts.append(part)
        return tuple(parts)

    def __neg__(self) -> Node:
        return layer("MulConstant", -1)(self)

    def __add__(self, other: Node) -> Node:
        return layer("CAddTable")([self, other])

    def __sub__(self, other: Any) -> Node:
        """The node of a module that gets this node's output; of another node, the difference."""
        if isinstance(other, Node):
            return layer("CSubTable")([self, other])
        return other(self)

    def __mul__(self, other: Node) -> Node:
        return layer("CMulTable")([self, other])

    def __truediv__(self, other: Node) -> Node:
        return layer("CDivTable")([self, other])

    def __repr__(self) -> str:
        return f"{self.torch_typename}({self.label()})"


def layer(name: str, *arguments: Any) -> Any:
    """A new layer of nn."""
    cls: Any = lookup(f"nn.{name}")
    return cls(*arguments)


def sources_of(data: Any) -> list:
    """The `data` of the nodes whose outputs a node gets, in order."""
    mapindex = data.get("mapindex")
    return nested.elements(mapindex) if mapindex is not None else []


def name_of(data: Any) -> str | None:
    """The name that a node was annotated with."""
    annotations = data.get("annotations")
    name = annotations.get("name") if isinstance(annotations, Table) else None
    return name.decode("latin-1") if isinstance(name, bytes) else name


def label_of(data: Any) -> str:
    """What a node does, in a line."""
    if data.get("module") is not None:
        text = first_line(data["module"])
    elif data.get("selectindex") is not None:
        text = f"element {int(data['selectindex'])}"
    elif data.get("nSplitOutputs") is not None:
        text = f"split into {int(data['nSplitOutputs'])}"
    else:
        text = "output" if sources_of(data) else "input"
    name = name_of(data)
    return f"{text}, {name}" if name else text


# ---- building ----


def connect(node: Node, sources: list[Node]) -> Node:
    """Lets a node get the outputs of others."""
    mapindex = node.data["mapindex"]
    for source in sources:
        if source.data in mapindex:
            raise ValueError(
                f"{node.label()}: gets the output of {source.label()} twice; a graph can pass it "
                "on once: put nn.Identity()(node) in between"
            )
        place = len(mapindex) + 1
        mapindex[place] = source.data
        mapindex[source.data] = place
        link(source, node)
    return node


def link(node: Node, child: Node) -> None:
    """Adds a child to a node, under its place and the other way round."""
    place = len(node.children) + 1
    node.children[place] = child
    node.children[child] = place


def is_node_call(inputs: tuple) -> bool:
    """Are these the arguments of a call that makes a node: nothing, nodes, or a list of them?"""
    if not inputs:
        return True
    first = inputs[0]
    if isinstance(first, (list, tuple)) and first:
        return any(isinstance(element, Node) for element in first)
    return any(isinstance(element, Node) for element in inputs)


def make_node(module: Any, inputs: tuple) -> Node:
    """A node that runs a module on the outputs of other nodes."""
    sources = list(inputs[0]) if inputs and isinstance(inputs[0], (list, tuple)) else list(inputs)
    for place, source in enumerate(sources, 1):
        if not isinstance(source, Node):
            raise TypeError(
                f"{module}: input {place} should be a node, such as nn.Identity()() makes, "
                f"got a {type(source).__name__}"
            )
    return connect(Node(module), sources)


def topological_order(last: Any) -> list[Any]:
    """The `data` tables that lead to `last`, every one after those that it needs."""
    order: list[Any] = []
    seen: set[int] = set()
    stack = [(last, False)]
    while stack:
        data, is_finished = stack.pop()
        if is_finished:
            order.append(data)
            continue
        if id(data) in seen:
            continue
        seen.add(id(data))
        stack.append((data, True))
        stack.extend((source, False) for source in reversed(sources_of(data)))
    return order


# ---- the layout that nngraph writes ----


class Layout:
    """The two graphs of a network: forwards, and the same nodes again backwards.

    Attributes:
        forward, backward: the graphs.
        forward_nodes, backward_nodes: their nodes, each after those that it needs.
    """

    def __init__(self, innode: Node, outnode: Node) -> None:
        nodes = {id(node.data): node for node in reachable(innode)}
        nodes[id(outnode.data)] = outnode
        order = topological_order(outnode.data)
        self.forward_nodes = [nodes[id(data)] for data in order]
        kept = {id(node) for node in self.forward_nodes}
        twins: dict[int, Node] = {}
        for place, node in enumerate(self.forward_nodes):
            node.id = node.data["forwardNodeId"] = len(order) - place
            keep_children(node, kept)
            twins[id(node.data)] = twin_of(node, len(order) - place)
        for node in self.forward_nodes:
            for source in sources_of(node.data):
                link(twins[id(node.data)], twins[id(source)])
                source["reverseMap"][twins[id(node.data)]] = True
        self.backward_nodes = [twins[id(node.data)] for node in reversed(self.forward_nodes)]
        self.forward, self.backward = graph_of(self.forward_nodes), graph_of(self.backward_nodes)


def reachable(first: Node) -> list[Node]:
    """A node and all that get something of it."""
    found: dict[int, Node] = {}
    waiting = [first]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting.extend(nested.elements(node.children))
    return list(found.values())


def keep_children(node: Node, kept: set[int]) -> None:
    """Forgets children that lead to no output: nodes that were made and not used."""
    children = [child for child in nested.elements(node.children) if id(child) in kept]
    node.children = Table()
    node.data["reverseMap"] = Table()
    for child in children:
        link(node, child)


def twin_of(node: Node, place: int) -> Node:
    """The node of the backward graph with the same data."""
    twin = Node()
    twin.data = node.data
    twin.id = place
    return twin


def graph_of(nodes: list[Node]) -> Graph:
    graph = Graph()
    graph.nodes = nested.table(sorted(nodes, key=lambda node: node.id))
    edges = [Edge(node, child) for node in nodes for child in nested.elements(node.children)]
    graph.edges = nested.table(edges)
    return graph
