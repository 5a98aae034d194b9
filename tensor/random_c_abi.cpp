// The random numbers of the C interface.
#include <cstring>
#include <exception>
#include <mutex>

#include "tensor/c_abi.h"
#include "tensor/random.h"
#include "tensor/thread_state.h"

using relume::Generator;

namespace {

Generator* unwrap(relume_generator* generator) { return reinterpret_cast<Generator*>(generator); }
relume_generator* wrap(Generator* generator) { return reinterpret_cast<relume_generator*>(generator); }

// Calls `draw` with the calling thread's generator, locked.
template <class Draw>
auto with_generator(Draw draw) {
  Generator& generator = relume::current_generator();
  std::lock_guard<std::mutex> lock(generator.mutex());
  return draw(generator);
}

}  // namespace

relume_generator* relume_generator_new(void) {
  try {
    return wrap(new Generator());
  } catch (const std::exception& error) {
    relume::thread_state().last_error = error.what();
    return nullptr;
  }
}

void relume_generator_free(relume_generator* generator) {
  if (relume::thread_state().generator == unwrap(generator)) relume::use_generator(nullptr);
  delete unwrap(generator);
}

relume_generator* relume_generator_use(relume_generator* generator) {
  return wrap(relume::use_generator(unwrap(generator)));
}

void relume_manual_seed(uint64_t seed) {
  with_generator([=](Generator& g) { g.manual_seed(seed); });
}
uint64_t relume_seed(void) {
  return with_generator([](Generator& g) { return g.seed(); });
}
uint64_t relume_initial_seed(void) {
  return with_generator([](Generator& g) { return g.initial_seed(); });
}

size_t relume_rng_state_size(void) { return relume::kGeneratorStateBytes; }
void relume_get_rng_state(void* bytes) {
  with_generator([=](Generator& g) { g.get_state(static_cast<uint8_t*>(bytes)); });
}
int relume_set_rng_state(const void* bytes, size_t count) {
  try {
    with_generator([=](Generator& g) { g.set_state(static_cast<const uint8_t*>(bytes), count); });
    return 0;
  } catch (const std::exception& error) {
    relume::thread_state().last_error = error.what();
    return -1;
  }
}

uint32_t relume_random(void) {
  return with_generator([](Generator& g) { return g.random(); });
}
int64_t relume_random_between(int64_t first, int64_t last) {
  uint64_t count = static_cast<uint64_t>(last) - static_cast<uint64_t>(first) + 1;
  return with_generator([=](Generator& g) {
    return first + static_cast<int64_t>(count ? g.random_below(count) : g.random());
  });
}
double relume_uniform(double low, double high) {
  return with_generator([=](Generator& g) { return g.uniform(low, high); });
}
double relume_normal(double mean, double std) {
  return with_generator([=](Generator& g) { return g.normal(mean, std); });
}
double relume_exponential(double rate) {
  return with_generator([=](Generator& g) { return g.exponential(rate); });
}
double relume_cauchy(double median, double scale) {
  return with_generator([=](Generator& g) { return g.cauchy(median, scale); });
}
double relume_log_normal(double mean, double std) {
  return with_generator([=](Generator& g) { return g.log_normal(mean, std); });
}
double relume_geometric(double p) {
  return with_generator([=](Generator& g) { return g.geometric(p); });
}
int relume_bernoulli(double p) {
  return with_generator([=](Generator& g) { return g.bernoulli(p) ? 1 : 0; });
}
