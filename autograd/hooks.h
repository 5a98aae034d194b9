// What users attach to the tape: functions that see gradients on their way, and may
// replace them.
//
// A hook of a leaf lives on the tensor (TensorHooks); a hook of any other tensor lives on
// the node that made it (NodeExtras), since it belongs to that value even when the tensor
// is changed in place later.
#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace relume {

// Gets the gradient of a tensor; a defined result takes its place.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;
// Gets a leaf after something was added to its `grad`.
using AccumulationHook = std::function<void(const Tensor& leaf)>;

// Names a hook in its list, for removing it.
using HookId = int64_t;
HookId next_hook_id();

// Hooks in the order in which they were added. All threads may use a list at once; who
// calls the hooks works on a copy, so that a hook can add and remove hooks.
template <class Hook>
class HookList {
 public:
  HookId add(Hook hook) {
    std::lock_guard<std::mutex> lock(mutex_);
    hooks_.emplace_back(next_hook_id(), std::move(hook));
    return hooks_.back().first;
  }

  // False when there is none of that id (any more).
  bool remove(HookId id) {
    Hook removed;  // dies after the lock is gone: its destructor may run anything
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto entry = hooks_.begin(); entry != hooks_.end(); ++entry) {
      if (entry->first != id) continue;
      removed = std::move(entry->second);
      hooks_.erase(entry);
      return true;
    }
    return false;
  }

  std::vector<Hook> all() const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Hook> result;
    for (const auto& [id, hook] : hooks_) result.push_back(hook);
    return result;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<HookId, Hook>> hooks_;
};

// What is attached to one tensor. Shared by the tensor and, when it retains its gradient,
// the node that made it: that node must not own the tensor, which owns the node.
class TensorHooks {
 public:
  HookList<GradientHook> on_gradient;           // of a leaf: before the gradient is added
  HookList<AccumulationHook> after_accumulation;  // of a leaf: after it

  // The gradient of a tensor that is no leaf, kept because the user asked for it.
  bool retains_gradient() const { return retains_gradient_; }
  void retain_gradient() { retains_gradient_ = true; }
  Tensor retained() const;
  void set_retained(Tensor gradient);
  void add_retained(const Tensor& gradient);

  void retain() { references_.increment(); }
  void release() {
    if (references_.decrement()) delete this;
  }

 private:
  RefCount references_;
  std::atomic<bool> retains_gradient_{false};
  mutable std::mutex mutex_;
  Tensor retained_;
};

// The hooks of a tensor, made when there are none.
TensorHooks& hooks_of(TensorBody* body);

}  // namespace relume
