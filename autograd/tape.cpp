// Recording: what happens to the tape when an op with inputs that require a gradient runs.
#include <algorithm>
#include <utility>

#include "autograd/anomaly.h"
#include "autograd/op_node.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

// Where a view lies in its base, both relative to the base's first element.
struct Region {
  std::vector<int64_t> shape, strides;
  int64_t offset;

  static Region of(const TensorBody* view) {
    check<NotImplementedError>(view->dtype == view->base->dtype,
                               "a complex tensor and a real view of it cannot both be used on the tape when one of "
                               "them is changed in place; clone the view");
    return {IntSpan(view->shape, view->ndim).vector(), IntSpan(view->strides, view->ndim).vector(),
            view->offset - view->base->offset};
  }

  // May several elements be one place in memory, as in what expand and unfold give?
  bool may_overlap() const {
    std::vector<std::pair<int64_t, int64_t>> steps;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] > 1) steps.emplace_back(std::abs(strides[i]), shape[i]);
    }
    std::sort(steps.begin(), steps.end());
    int64_t reach = 0;
    for (const auto& [step, size] : steps) {
      if (step <= reach) return true;
      reach += step * (size - 1);
    }
    return false;
  }
};

const OpFunction as_strided_gather{"as_strided_gather"}, as_strided_scatter{"as_strided_scatter"},
    as_strided_backward{"as_strided_backward"};

// A node with one or two edges and no op of its own.
class SmallNode : public Node {
 public:
  SmallNode() { edges = storage_; }

 protected:
  Edge storage_[2];
};

// Takes the place of a view's node once its base was changed in place: the view is a
// region of what the base is now.
class RegionNode final : public SmallNode {
 public:
  explicit RegionNode(TensorBody* view)
      : region_(Region::of(view)), base_shape_(IntSpan(view->base->shape, view->base->ndim).vector()),
        dtype_(view->dtype) {
    edge_count = 1;
    storage_[0] = gradient_edge(view->base);
  }

  const char* name() const override { return "view"; }

  void apply(const Tensor* output_gradients, const bool*, Tensor* input_gradients) override {
    if (region_.may_overlap()) {
      input_gradients[0] =
          as_strided_backward(output_gradients[0], base_shape_, region_.shape, region_.strides, region_.offset);
      return;
    }
    const Tensor zeros = full(base_shape_, 0.0, dtype_);
    input_gradients[0] =
        as_strided_scatter(zeros, output_gradients[0], region_.shape, region_.strides, region_.offset);
  }

 private:
  Region region_;
  std::vector<int64_t> base_shape_;
  DType dtype_;
};

// A base after one of its views was changed in place: what it was, with a region replaced.
class OverlayNode final : public SmallNode {
 public:
  OverlayNode(TensorBody* view, Node* change) : region_(Region::of(view)), dtype_(view->dtype) {
    edge_count = 2;
    storage_[0] = gradient_edge(view->base);
    change->retain();
    storage_[1].node = change;
  }

  const char* name() const override { return "in-place change of a view"; }

  void apply(const Tensor* output_gradients, const bool* wanted, Tensor* input_gradients) override {
    const Tensor& gradient = output_gradients[0];
    if (wanted[0]) {
      const Tensor zeros = full(region_.shape, 0.0, dtype_);
      input_gradients[0] = as_strided_scatter(gradient, zeros, region_.shape, region_.strides, region_.offset);
    }
    if (wanted[1]) input_gradients[1] = as_strided_gather(gradient, region_.shape, region_.strides, region_.offset);
  }

 private:
  Region region_;
  DType dtype_;
};

void record_in_place(TensorBody* body, Node* node) {
  TensorBody* base = body->base;
  if (!base) {
    set_node(body, node, 0);
    ++body->generation;
    return;
  }
  check<NotImplementedError>(base->contiguous, "changing a view of a non-contiguous tensor in place while the "
                             "tape records; use contiguous() first");
  Ref<Node> overlay = Ref<Node>::steal(new OverlayNode(body, node));
  remember_forward_place(*overlay);
  set_node(base, overlay.get(), 0);
  ++base->generation;  // this and all other views find their new place when they are next used
  body->requires_grad = true;
}

// Gives every op its row of the table of derivatives. At static initialisation, when both are
// filled, neither is known to be complete.
bool attach_derivatives() {
  for (Op* op : all_ops()) op->derivative = find_derivative(op->name());
  return true;
}

const Derivative& derivative_of(const Op& op) {
  static const bool attached = attach_derivatives();
  (void)attached;
  check<NotImplementedError>(op.derivative != nullptr, op.name(), "() has no derivative");
  return *op.derivative;
}

// Before an in-place op overwrites an argument that its derivative reads, the argument is
// replaced by a copy, which takes its place on the tape too.
void keep_overwritten(Call& call) {
  TensorBody* target = call.outputs[0].body();
  const int count = static_cast<int>(call.op.schema.arguments.size());
  uint32_t wanted = 0;
  for (int i = 0; i < count; ++i) {
    if (call.arguments[i].is_tensor() && wants_gradient(call.body(i))) wanted |= 1u << i;
  }
  const Saves saves = derivative_of(call.op).saves_for(wanted);
  for (int i = 0; i < count; ++i) {
    if (!(saves & (Saves{1} << i)) || !call.arguments[i].is_tensor() || call.body(i) != target) continue;
    if (!call.original.defined()) call.original = ops::clone(call.outputs[0]);
    call.arguments[i] = Value(call.original);
  }
}

void record(Call& call) {
  const Derivative& derivative = derivative_of(call.op);
  bool has_output = false;
  for (int i = 0; i < call.outputs.size(); ++i) has_output |= is_differentiable(call.outputs[i].dtype());
  if (!has_output) return;

  // An op that had nothing to do (contiguous, to_dtype) returned its input: not a new place.
  const bool unchanged = !call.in_place && call.value(0).is_tensor() && call.outputs.size() == 1 &&
                         call.outputs[0].body() == call.body(0);
  if (unchanged) return;

  Ref<Node> node = OpNode::record(call, derivative);
  remember_forward_place(*node);
  if (call.in_place) {
    record_in_place(call.outputs[0].body(), node.get());
    return;
  }
  for (int i = 0; i < call.outputs.size(); ++i) {
    const Tensor& output = call.outputs[i];
    if (is_differentiable(output.dtype())) set_node(output.body(), node.get(), static_cast<uint32_t>(i));
  }
}

const bool hook_set = (set_record_hook(keep_overwritten, record), true);

}  // namespace

Edge gradient_edge(TensorBody* body) {
  TensorBody* base = body->base;
  if (base && body->base_generation != base->generation && base->requires_grad) {
    Ref<Node> region = Ref<Node>::steal(new RegionNode(body));
    remember_forward_place(*region);
    set_node(body, region.get(), 0);
    body->base_generation = base->generation;
  }
  Edge edge;
  if (body->grad_fn) {
    body->grad_fn->retain();
    edge.node = body->grad_fn;
    edge.output_index = body->output_index;
  } else if (body->requires_grad) {
    body->retain();
    edge.leaf = body;
  }
  return edge;
}

}  // namespace relume
