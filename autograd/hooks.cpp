#include "autograd/hooks.h"

#include "tensor/ops.h"

namespace relume {

HookId next_hook_id() {
  static std::atomic<HookId> last{0};
  return ++last;
}

Tensor TensorHooks::retained() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return retained_;
}

void TensorHooks::set_retained(Tensor gradient) {
  // What was kept before dies after the lock is gone: it may own a long graph.
  std::lock_guard<std::mutex> lock(mutex_);
  std::swap(retained_, gradient);
}

void TensorHooks::add_retained(const Tensor& gradient) {
  const Tensor before = retained();
  // The user owns what is kept: it shares memory with no gradient that is still on its way.
  set_retained(before.defined() ? before + gradient : ops::clone(gradient));
}

TensorHooks& hooks_of(TensorBody* body) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (!body->hooks) body->hooks = new TensorHooks;
  return *body->hooks;
}

}  // namespace relume
