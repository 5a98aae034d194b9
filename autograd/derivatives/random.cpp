// Filling with random numbers forgets what was there: no gradient reaches the old contents.
#include "autograd/derivative.h"

namespace relume {
namespace {

Tensor nothing(Backward& b) { return ops::zeros_like(b.grad()); }

const Derive derive_uniform{"uniform_", {{0, saves_nothing, nothing}}};
const Derive derive_normal{"normal_", {{0, saves_nothing, nothing}}};
const Derive derive_exponential{"exponential_", {{0, saves_nothing, nothing}}};
const Derive derive_cauchy{"cauchy_", {{0, saves_nothing, nothing}}};
const Derive derive_log_normal{"log_normal_", {{0, saves_nothing, nothing}}};
const Derive derive_geometric{"geometric_", {{0, saves_nothing, nothing}}};
const Derive derive_bernoulli{"bernoulli_", {{0, saves_nothing, nothing}}};
const Derive derive_random{"random_", {{0, saves_nothing, nothing}}};

}  // namespace
}  // namespace relume
