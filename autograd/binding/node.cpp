// `relume.autograd.graph.Node`: a place on the tape, for looking at the graph.
#include "autograd/binding/python_function.h"

namespace relume {
namespace {

// The node of an op, or a leaf, whose "op" adds gradients into its `grad`.
struct NodeView {
  Ref<Node> node;
  Tensor leaf;

  const char* name() const { return node ? node->name() : "accumulate_grad"; }
  const void* identity() const { return node ? static_cast<const void*>(node.get()) : leaf.body(); }
};

nb::tuple next_functions(const NodeView& view) {
  nb::list result;
  for (int i = 0; view.node && i < view.node->edge_count; ++i) {
    const Edge& edge = view.node->edges[i];
    result.append(nb::make_tuple(wrap_edge(edge), edge.output_index));
  }
  return nb::tuple(result);
}

std::vector<Tensor> replacements(nb::handle result, const char* function) {
  std::vector<Tensor> list;
  if (result.is_none()) return list;
  if (is_tensor(result.ptr())) return {unwrap_tensor(result.ptr())};
  check<TypeError>(nb::isinstance<nb::tuple>(result) || nb::isinstance<nb::list>(result), function,
                   " must return None or a tuple of gradients, not ", type_name(result.ptr()));
  for (nb::handle item : result) list.push_back(tensor_or_none(item, function));
  return list;
}

const Ref<Node>& op_node(const NodeView& view) {
  check<Error>(static_cast<bool>(view.node), "accumulate_grad takes no hooks of its own; use "
               "register_hook() or register_post_accumulate_grad_hook() of the tensor");
  return view.node;
}

HookHandle register_hook(const NodeView& view, nb::object function) {
  const Ref<Node>& node = op_node(view);
  const HookId id = node->extras().after.add(
      [function = share_object(std::move(function))](const std::vector<Tensor>& inputs,
                                                     const std::vector<Tensor>& outputs) {
        HoldLock lock;
        return replacements(nb::borrow(function.get())(tuple_of(inputs), tuple_of(outputs)), "a hook of a node");
      });
  return {[node, id] { node->extras().after.remove(id); }};
}

HookHandle register_prehook(const NodeView& view, nb::object function) {
  const Ref<Node>& node = op_node(view);
  const HookId id =
      node->extras().before.add([function = share_object(std::move(function))](const std::vector<Tensor>& outputs) {
        HoldLock lock;
        return replacements(nb::borrow(function.get())(tuple_of(outputs)), "a pre-hook of a node");
      });
  return {[node, id] { node->extras().before.remove(id); }};
}

}  // namespace

nb::object wrap_edge(const Edge& edge) {
  if (edge.node) return nb::cast(NodeView{Ref<Node>::borrow(edge.node), Tensor()});
  if (edge.leaf) return nb::cast(NodeView{nullptr, Tensor::borrow(edge.leaf)});
  return nb::none();
}

void bind_node(nb::module_& module) {
  nb::class_<NodeView>(module, "Node", "A place on the tape: the op that made a tensor, or a leaf's accumulation.")
      .def("name", [](const NodeView& view) { return view.name(); }, "Name of the op.")
      .def_prop_ro("next_functions", next_functions,
                   "Where the gradients of the op's inputs go: pairs (Node or None, number of its output).")
      .def_prop_ro("variable", [](const NodeView& view) { return view.leaf; }, "The leaf, or None for an op.")
      .def("register_hook", register_hook, nb::arg("hook"),
           "hook(grad_inputs, grad_outputs) runs after the op's derivative; a tuple that it returns\n"
           "replaces the gradients of the inputs.")
      .def("register_prehook", register_prehook, nb::arg("hook"),
           "hook(grad_outputs) runs before the op's derivative; a tuple that it returns replaces\n"
           "the gradients of the outputs.")
      .def("__eq__", [](const NodeView& view, nb::object other) {
        NodeView* node = nullptr;
        return nb::try_cast(other, node) && node && node->identity() == view.identity();
      })
      .def("__hash__", [](const NodeView& view) { return reinterpret_cast<std::size_t>(view.identity()) >> 4; })
      .def("__repr__", [](const NodeView& view) { return nb::str(message("<", view.name(), ">").c_str()); });
}

}  // namespace relume
