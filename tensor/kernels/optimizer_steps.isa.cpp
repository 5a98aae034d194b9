#include "tensor/kernels/optimizer_loops.h"

namespace relume {
namespace RELUME_ISA {
namespace {

inline float root_of(float x) { return __builtin_sqrtf(x); }
inline double root_of(double x) { return __builtin_sqrt(x); }

template <class T>
void sgd(const SgdSettings& settings, int64_t count, const T* gradient, T* parameter, T* momentum) {
  const T sign = settings.maximize ? -1 : 1, decay = static_cast<T>(settings.weight_decay);
  const T rate = static_cast<T>(settings.learning_rate);
  if (!momentum) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) parameter[i] -= rate * (sign * gradient[i] + decay * parameter[i]);
    return;
  }
  const T kept = settings.first ? 0 : static_cast<T>(settings.momentum);
  const T added = settings.first ? 1 : static_cast<T>(1 - settings.dampening);
  const T ahead = static_cast<T>(settings.momentum), plain = settings.nesterov ? 1 : 0;
  if (settings.first) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) momentum[i] = 0;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) {
    const T direction = sign * gradient[i] + decay * parameter[i];
    const T moving = kept * momentum[i] + added * direction;
    momentum[i] = moving;
    parameter[i] -= rate * (plain ? direction + ahead * moving : moving);
  }
}

template <class T>
void adam(const AdamSettings& settings, int64_t count, const T* gradient, T* parameter, T* average,
          T* square_average, T* largest_square) {
  const T sign = settings.maximize ? -1 : 1;
  const T decay = settings.decoupled ? 0 : static_cast<T>(settings.weight_decay);
  const T shrink =
      settings.decoupled ? static_cast<T>(1 - settings.learning_rate * settings.weight_decay) : 1;
  const T beta2 = static_cast<T>(settings.beta2), eps = static_cast<T>(settings.eps);
  const T new1 = static_cast<T>(1 - settings.beta1), new2 = static_cast<T>(1 - settings.beta2);
  const T rate = static_cast<T>(settings.learning_rate / settings.correction1);
  const T root = static_cast<T>(1 / root_of(settings.correction2));
  const auto update = [&](int64_t i, T largest) {
    parameter[i] = parameter[i] * shrink - rate * average[i] / (root_of(largest) * root + eps);
  };
  const auto move = [&](int64_t i) {
    const T direction = sign * gradient[i] + decay * parameter[i];
    average[i] += new1 * (direction - average[i]);
    square_average[i] = beta2 * square_average[i] + new2 * direction * direction;
  };
  if (largest_square) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) {
      move(i);
      const T square = square_average[i], before = largest_square[i];
      largest_square[i] = before > square ? before : square;
      update(i, largest_square[i]);
    }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) {
      move(i);
      update(i, square_average[i]);
    }
  }
}

template <class T>
void rmsprop(const RmspropSettings& settings, int64_t count, const T* gradient, T* parameter,
             T* square_average, T* momentum, T* average) {
  const T sign = settings.maximize ? -1 : 1, decay = static_cast<T>(settings.weight_decay);
  const T alpha = static_cast<T>(settings.alpha), added = static_cast<T>(1 - settings.alpha);
  const T rate = static_cast<T>(settings.learning_rate), eps = static_cast<T>(settings.eps);
  const T kept = static_cast<T>(settings.momentum);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) {
    const T direction = sign * gradient[i] + decay * parameter[i];
    T square = alpha * square_average[i] + added * direction * direction;
    square_average[i] = square;
    if (average) {
      const T mean = average[i] + added * (direction - average[i]);
      average[i] = mean;
      square -= mean * mean;
    }
    T step = direction / (root_of(square) + eps);
    if (momentum) momentum[i] = step = kept * momentum[i] + step;
    parameter[i] -= rate * step;
  }
}

template <class T>
void adagrad(const AdagradSettings& settings, int64_t count, const T* gradient, T* parameter, T* sum) {
  const T sign = settings.maximize ? -1 : 1, decay = static_cast<T>(settings.weight_decay);
  const T rate = static_cast<T>(settings.learning_rate), eps = static_cast<T>(settings.eps);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; i++) {
    const T direction = sign * gradient[i] + decay * parameter[i];
    const T total = sum[i] + direction * direction;
    sum[i] = total;
    parameter[i] -= rate * direction / (root_of(total) + eps);
  }
}

template <class T>
constexpr OptimizerLoopsOf<T> kLoops{sgd<T>, adam<T>, rmsprop<T>, adagrad<T>};

}  // namespace

extern const OptimizerLoops optimizer_loops;
const OptimizerLoops optimizer_loops{kLoops<float>, kLoops<double>};

}  // namespace RELUME_ISA
}  // namespace relume
