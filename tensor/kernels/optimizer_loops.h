// What one step of an optimizer does to a run of elements, per instruction set
// (optimizer_steps.isa.cpp). A null state is one that these settings do not use.
#pragma once
#include <cstdint>

namespace relume {

struct SgdSettings {
  double learning_rate, momentum, dampening, weight_decay;
  bool nesterov, maximize, first;  // first: the momentum has no value yet
};

// Adam, AdamW (decoupled weight decay) and their AMSGrad forms.
struct AdamSettings {
  double learning_rate, beta1, beta2, eps, weight_decay;
  double correction1, correction2;  // 1 - beta^step
  bool decoupled, maximize;
};

struct RmspropSettings {
  double learning_rate, alpha, eps, weight_decay, momentum;
  bool maximize;
};

struct AdagradSettings {
  double learning_rate, eps, weight_decay;  // the learning rate after its decay
  bool maximize;
};

template <class T>
struct OptimizerLoopsOf {
  void (*sgd)(const SgdSettings& settings, int64_t count, const T* gradient, T* parameter, T* momentum);
  void (*adam)(const AdamSettings& settings, int64_t count, const T* gradient, T* parameter, T* average,
               T* square_average, T* largest_square);
  void (*rmsprop)(const RmspropSettings& settings, int64_t count, const T* gradient, T* parameter,
                  T* square_average, T* momentum, T* average);
  void (*adagrad)(const AdagradSettings& settings, int64_t count, const T* gradient, T* parameter, T* sum);
};
struct OptimizerLoops {
  OptimizerLoopsOf<float> float32;
  OptimizerLoopsOf<double> float64;
};

}  // namespace relume
