#include "tensor/kernels/resampling_loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

// What has no weight does not count, be it infinite or NaN.
template <class T>
inline T product(T weight, T value) {
  return weight == T(0) ? T(0) : weight * value;
}

template <class T>
void gather(const T* row, const int32_t* places, const T* weights, int64_t taps, int64_t count, T* result) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) result[i] = product(weights[i], row[places[i]]);
  for (int64_t tap = 1; tap < taps; tap++) {
    const int32_t* tap_places = places + tap * count;
    const T* tap_weights = weights + tap * count;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) result[i] += product(tap_weights[i], row[tap_places[i]]);
  }
}

template <class T>
void set_scaled(const T* row, int64_t count, T factor, T* result) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) result[i] = factor * row[i];
}

template <class T>
void add_scaled(const T* row, int64_t count, T factor, T* result) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) result[i] += factor * row[i];
}

template <class T>
constexpr ResamplingLoopsOf<T> kLoops{gather<T>, set_scaled<T>, add_scaled<T>};

}  // namespace

extern const ResamplingLoops resampling_loops;
const ResamplingLoops resampling_loops{kLoops<float>, kLoops<double>};

}  // namespace RELUME_ISA
}  // namespace relume
