#include "autograd/node_extras.h"

#include "autograd/node.h"

namespace relume {
namespace {

// Frees what an edge owns at the end of a scope.
struct EdgeOwner {
  Edge edge;
  explicit EdgeOwner(TensorBody* body) : edge(gradient_edge(body)) {}
  ~EdgeOwner() { release_edge(edge); }
  EdgeOwner(const EdgeOwner&) = delete;
  EdgeOwner& operator=(const EdgeOwner&) = delete;
};

}  // namespace

void NodeExtras::add_retaining(uint32_t output, TensorHooks* hooks) {
  std::lock_guard<std::mutex> lock(mutex_);
  retaining_.emplace_back(output, Ref<TensorHooks>::borrow(hooks));
}

void NodeExtras::remove_retaining(TensorHooks* hooks) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto entry = retaining_.begin(); entry != retaining_.end(); ++entry) {
    if (entry->second.get() != hooks) continue;
    retaining_.erase(entry);
    return;
  }
}

void NodeExtras::keep_gradient(uint32_t output, const Tensor& gradient) {
  std::vector<Ref<TensorHooks>> wanting;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [index, hooks] : retaining_) {
      if (index == output) wanting.push_back(hooks);
    }
  }
  for (Ref<TensorHooks>& hooks : wanting) hooks->add_retained(gradient);
}

RemoveHook add_gradient_hook(const Tensor& tensor, GradientHook hook) {
  EdgeOwner place(tensor.body());
  check<Error>(place.edge.wanted(), "register_hook() needs a tensor that requires a gradient");
  if (place.edge.leaf) {
    auto hooks = Ref<TensorHooks>::borrow(&hooks_of(tensor.body()));
    const HookId id = hooks->on_gradient.add(std::move(hook));
    return [hooks, id] { hooks->on_gradient.remove(id); };
  }
  auto node = Ref<Node>::borrow(place.edge.node);
  const HookId id = node->extras().on_output_gradient.add({place.edge.output_index, std::move(hook)});
  return [node, id] { node->extras().on_output_gradient.remove(id); };
}

RemoveHook add_accumulation_hook(const Tensor& leaf, AccumulationHook hook) {
  EdgeOwner place(leaf.body());
  check<Error>(place.edge.leaf != nullptr, "register_post_accumulate_grad_hook() needs a leaf that requires a "
               "gradient; a tensor that an op made has no grad to add to");
  auto hooks = Ref<TensorHooks>::borrow(&hooks_of(leaf.body()));
  const HookId id = hooks->after_accumulation.add(std::move(hook));
  return [hooks, id] { hooks->after_accumulation.remove(id); };
}

void retain_gradient(const Tensor& tensor) {
  EdgeOwner place(tensor.body());
  check<Error>(place.edge.wanted(), "retain_grad() needs a tensor that requires a gradient");
  if (place.edge.leaf) return;  // backward keeps it anyway
  TensorHooks& hooks = hooks_of(tensor.body());
  if (hooks.retains_gradient()) return;
  hooks.retain_gradient();
  place.edge.node->extras().add_retaining(place.edge.output_index, &hooks);
}

namespace {

// Where the gradient of a tensor is kept that is no leaf.
TensorHooks* retaining_hooks(const TensorBody* body) {
  return body->grad_fn && body->hooks && body->hooks->retains_gradient() ? body->hooks : nullptr;
}

}  // namespace

Tensor gradient_of(const TensorBody* body) {
  if (TensorHooks* hooks = retaining_hooks(body)) return hooks->retained();
  return Tensor::borrow(body->grad);
}

void set_gradient(TensorBody* body, Tensor gradient) {
  if (TensorHooks* hooks = retaining_hooks(body)) {
    hooks->set_retained(std::move(gradient));
  } else {
    Tensor::steal(std::exchange(body->grad, gradient.detach_body()));
  }
}

}  // namespace relume
