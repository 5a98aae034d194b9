// What a thread carries: one 8-byte pointer in thread-local storage, since a shared
// library with large initial-exec thread locals may fail to load.
#pragma once
#include <cstdint>
#include <string>

namespace relume {

struct FreeLists;  // memory.cpp
class Generator;   // random.h
class SavedTensorHooks;  // autograd/saved_tensors.h

struct ThreadState {
  bool grad_mode = true;      // do ops record on the tape?
  bool inference_mode = false;  // no recording, whatever the grad mode says
  bool tracing = false;       // is a tracer listening at the dispatch point?
  uint64_t node_sequence = 0;  // number of tape nodes this thread has made
  FreeLists* free_lists = nullptr;
  SavedTensorHooks* saved_tensor_hooks = nullptr;  // decide what nodes keep of tensors; null: the tensors
  Generator* generator = nullptr;  // what to draw random numbers from; null: the default one
  std::string last_error;     // message of the last failed C ABI call
  ~ThreadState();
};

extern thread_local ThreadState* thread_state_pointer __attribute__((tls_model("initial-exec")));
ThreadState& make_thread_state();

inline ThreadState& thread_state() {
  ThreadState* state = thread_state_pointer;
  return __builtin_expect(state != nullptr, 1) ? *state : make_thread_state();
}

// Sets the calling thread's grad mode for a scope.
class GradMode {
 public:
  explicit GradMode(bool enabled) : previous_(thread_state().grad_mode) {
    thread_state().grad_mode = enabled;
  }
  ~GradMode() { thread_state().grad_mode = previous_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool previous_;
};

}  // namespace relume
