// A node of the tape whose derivative is a Python function: relume.autograd.Function.
#include "autograd/anomaly.h"
#include "autograd/binding/python_function.h"
#include "tensor/ops.h"

namespace relume {
namespace {

class CustomNode final : public Node {
 public:
  // `backward(gradients, needed, address)` takes the gradients of the outputs (None where
  // nobody gave one), which inputs need one and the address of this node, and returns a list
  // with the gradients of the inputs. `backward.release()` frees what it has saved.
  CustomNode(std::string name, nb::object backward, const std::vector<Tensor>& inputs, int outputs)
      : name_(std::move(name)), backward_(backward.release().ptr()), edge_memory_(inputs.size()),
        input_shapes_(inputs.size()) {
    edges = edge_memory_.data();
    edge_count = static_cast<int>(inputs.size());
    output_count = outputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      edges[i] = gradient_edge(inputs[i].body());
      input_shapes_[i] = {inputs[i].shape().vector(), inputs[i].dtype()};
    }
  }

  // The edges live in a member, so they go before ~Node looks for them.
  ~CustomNode() override {
    for (Edge& edge : edge_memory_) release_edge(edge);
    edge_count = 0;
  }

  const char* name() const override { return name_.c_str(); }

  void apply(const Tensor* output_gradients, const bool* wanted, Tensor* input_gradients) override {
    // A Python exception passes through the engine as it is, and is raised again, with its
    // traceback, where backward() was called.
    HoldLock lock;
    call(output_gradients, wanted, input_gradients);
  }

  void release_saved() override {
    HoldLock lock;
    nb::borrow(backward_).attr("release")();
  }

 protected:
  void destroy() override {
    // Releasing the edges may destroy a long chain; that is done without the lock held here.
    if (Py_IsInitialized()) {
      HoldLock lock;
      Py_CLEAR(backward_);
    }
    delete this;
  }

 private:
  struct Input {
    std::vector<int64_t> shape;
    DType dtype;
  };

  void call(const Tensor* output_gradients, const bool* wanted, Tensor* input_gradients) {
    nb::list gradients;
    for (int i = 0; i < output_count; ++i) gradients.append(nb::cast(output_gradients[i]));
    nb::list needed;
    for (int i = 0; i < edge_count; ++i) needed.append(nb::bool_(wanted[i]));
    nb::object results = nb::borrow(backward_)(gradients, needed, reinterpret_cast<std::uintptr_t>(this));
    check<TypeError>(nb::isinstance<nb::list>(results) && nb::len(results) == static_cast<std::size_t>(edge_count),
                     name_, ".backward() must return one gradient per input of forward()");
    nb::list list = nb::borrow<nb::list>(results);
    for (int i = 0; i < edge_count; ++i) {
      if (wanted[i]) input_gradients[i] = checked_gradient(list[i], i);
    }
  }

  Tensor checked_gradient(nb::object gradient, int i) const {
    if (gradient.is_none()) return Tensor();
    check<TypeError>(is_tensor(gradient.ptr()), name_, ".backward(): the gradient of tensor input ", i,
                     " must be a Tensor or None, not ", type_name(gradient.ptr()));
    Tensor tensor = unwrap_tensor(gradient.ptr());
    check(tensor.shape() == IntSpan(input_shapes_[i].shape), name_, ".backward(): the gradient of tensor input ", i,
          " has shape ", tensor.shape(), ", the input has shape ", IntSpan(input_shapes_[i].shape));
    if (tensor.dtype() == input_shapes_[i].dtype) return tensor;
    return ops::to_dtype(tensor, input_shapes_[i].dtype);
  }

  std::string name_;
  PyObject* backward_;
  std::vector<Edge> edge_memory_;
  std::vector<Input> input_shapes_;
};

// Puts `outputs` on the tape behind a new node. The tensors must be fresh.
void attach(const char* name, nb::object backward, nb::list inputs, nb::list outputs) {
  std::vector<Tensor> input_list;
  for (nb::handle input : inputs) input_list.push_back(unwrap_tensor(input.ptr()));
  Ref<Node> node = Ref<Node>::steal(
      new CustomNode(name, backward, input_list, static_cast<int>(nb::len(outputs))));
  remember_forward_place(*node);
  uint32_t index = 0;
  for (nb::handle item : outputs) {
    TensorBody* body = unwrap(item.ptr());
    if (is_differentiable(body->dtype)) {
      set_node(body, node.get(), index);
      ++body->generation;  // views of a tensor that forward changed in place find their place anew
    }
    ++index;
  }
}

// A saved output where it stands on the tape. Only while the node's backward runs.
Tensor saved_output(Tensor saved, std::uintptr_t address, uint32_t index) {
  return output_of(saved, reinterpret_cast<CustomNode*>(address), index);
}

// A saved input, in the same way, that was packed off the tape.
Tensor saved_input(Tensor saved, std::uintptr_t address, uint32_t index) {
  const Edge& edge = reinterpret_cast<CustomNode*>(address)->edges[index];
  return edge.node ? output_of(saved, edge.node, edge.output_index) : saved;
}

}  // namespace

void bind_custom_function(nb::module_& module) {
  module.def("attach_custom_function", attach);
  module.def("output_of_custom_function", saved_output);
  module.def("input_of_custom_function", saved_input);
}

}  // namespace relume
