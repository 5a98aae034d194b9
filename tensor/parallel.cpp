#include "tensor/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "tensor/error.h"

namespace relume {
namespace {

std::atomic<int> chosen_threads{0};  // 0: as many as OpenMP would use
std::atomic<bool> in_forked_child{false};

// A child that uses the pool of its parent waits for ever for threads that do not exist.
const int fork_handler = pthread_atfork(nullptr, nullptr, [] { in_forked_child = true; });

}  // namespace

int num_threads() {
  if (in_forked_child.load(std::memory_order_relaxed)) return 1;
  const int chosen = chosen_threads.load(std::memory_order_relaxed);
  return chosen > 0 ? chosen : omp_get_max_threads();
}

void set_num_threads(int count) {
  check(count >= 1, "the number of threads must be at least 1, got ", count);
  chosen_threads = count;
}

namespace detail {

void run_in_parallel(int64_t begin, int64_t end, int64_t grain, RangeFunction function,
                     const void* context) {
  const int64_t parts = (end - begin + grain - 1) / std::max<int64_t>(grain, 1);
  const int threads = static_cast<int>(std::min<int64_t>(num_threads(), parts));
  if (threads <= 1 || omp_in_parallel()) {
    function(context, begin, end);
    return;
  }
  // Whole grains per thread, so that parts keep the alignment of their beginnings.
  const int64_t size = (parts + threads - 1) / threads * grain;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; ++part) {
    const int64_t first = begin + part * size;
    const int64_t last = std::min(end, first + size);
    if (first < last) function(context, first, last);
  }
}

}  // namespace detail
}  // namespace relume
