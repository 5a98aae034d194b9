// Splits work over the threads of OpenMP's pool. Runs serially when the work is small, inside
// another parallel region, and in a forked child (whose pool died with the parent's threads).
#pragma once
#include <cstdint>

namespace relume {

// Elements of a cheap element-wise op below which a thread costs more than it gives.
constexpr int64_t kParallelGrain = 32768;

int num_threads();
// At least 1; throws ValueError below. Holds for the whole process.
void set_num_threads(int count);

namespace detail {
using RangeFunction = void (*)(const void* context, int64_t begin, int64_t end);
void run_in_parallel(int64_t begin, int64_t end, int64_t grain, RangeFunction function,
                     const void* context);
}  // namespace detail

// Calls `function(first, last)` on parts of [begin, end) that cover it, none smaller than
// `grain` but the last. `function` must not throw.
template <class Function>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const Function& function) {
  if (end - begin <= grain) {
    if (begin < end) function(begin, end);
    return;
  }
  detail::run_in_parallel(
      begin, end, grain,
      [](const void* context, int64_t first, int64_t last) {
        (*static_cast<const Function*>(context))(first, last);
      },
      &function);
}

}  // namespace relume
