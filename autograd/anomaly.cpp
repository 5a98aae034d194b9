#include "autograd/anomaly.h"

#include <atomic>

#include "autograd/node_extras.h"
#include "tensor/ops.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

std::atomic<bool> is_enabled{false}, checks_nan{true};
std::atomic<DescribePlace> describe_place{nullptr};

thread_local std::string failure;
thread_local Node* node_in_progress = nullptr;  // whose derivative runs in this thread

const OpFunction isnan_op{"isnan"}, any_op{"any"};

std::string place_of(const Node& node) {
  const NodeExtras* extras = node.find_extras();
  if (!extras || extras->forward_place.empty()) {
    return "(not known: it ran before anomaly mode was turned on)\n";
  }
  return extras->forward_place;
}

void check_nan(const Node& node, const bool* wanted, const Tensor* input_gradients) {
  GradMode off(false);
  for (int i = 0; i < node.edge_count; ++i) {
    const Tensor& gradient = input_gradients[i];
    if (!wanted[i] || !gradient.defined() || !is_floating(gradient.dtype())) continue;
    check<Error>(!item_as_int(any_op(isnan_op(gradient))), "the derivative of ", node.name(),
                 "() gave NaN in the gradient of its input ", i, " of shape ", gradient.shape());
  }
}

}  // namespace

AnomalyMode anomaly_mode() { return {is_enabled, checks_nan}; }

void set_anomaly_mode(AnomalyMode mode) {
  is_enabled = mode.enabled;
  checks_nan = mode.check_nan;
}

void set_place_description(DescribePlace describe) { describe_place = describe; }

void remember_forward_place(Node& node) {
  if (!is_enabled.load(std::memory_order_relaxed)) return;
  DescribePlace describe = describe_place;
  if (!describe) return;
  std::string place = describe();
  if (node_in_progress) {
    place += message("as part of the derivative of ", node_in_progress->name(), "(), which ran here:\n",
                     place_of(*node_in_progress));
  }
  node.extras().forward_place = std::move(place);
}

void apply_watched(Node& node, const Tensor* output_gradients, const bool* wanted, Tensor* input_gradients) {
  Node* outer = std::exchange(node_in_progress, &node);
  try {
    node.apply(output_gradients, wanted, input_gradients);
    if (checks_nan) check_nan(node, wanted, input_gradients);
  } catch (...) {
    node_in_progress = outer;
    failure += message("backward failed in ", node.name(), "(), which ran here:\n", place_of(node));
    throw;
  }
  node_in_progress = outer;
}

std::string take_failure() { return std::exchange(failure, std::string()); }

}  // namespace relume
