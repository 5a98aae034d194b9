// What every function of the C interface does: no exception leaves it.
#pragma once
#include <new>

#include "tensor/registry.h"
#include "tensor/thread_state.h"

namespace relume {

// Runs `function`; turns an exception into `failed` and a message.
template <class Result, class Function>
Result guarded(Result failed, Function function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    thread_state().last_error = "out of memory";
  } catch (const std::exception& error) {
    thread_state().last_error = error.what();
  } catch (...) {
    thread_state().last_error = "unknown error";
  }
  return failed;
}

inline const Op& op_by_id(int id) {
  check<Error>(id >= 0 && id < static_cast<int>(all_ops().size()), "there is no op with number ", id);
  return *all_ops()[id];
}

}  // namespace relume
