// Random numbers as Torch7 draws them: the Mersenne Twister MT19937 and the distributions on
// top of it, so that a script with torch.manualSeed(123) gives the numbers it gave in 2016.
//
// Python and Lua share one default generator per thread. Tensors are filled in logical (row-major) order,
// one scalar draw per element, whatever their strides and type.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "tensor/tensor.h"

namespace relume {

// Bytes of a generator's state: the layout of Torch7's ByteTensor from torch.getRNGState().
constexpr std::size_t kGeneratorStateBytes = 5048;

// Not synchronised: hold `mutex()` around draws from a generator that threads share.
class Generator {
 public:
  Generator() { seed(); }
  explicit Generator(uint64_t seed) { manual_seed(seed); }

  // Restarts the sequence; drops the cached normal. Only the low 32 bits matter.
  void manual_seed(uint64_t seed);
  // Seeds from the system's entropy and returns that seed.
  uint64_t seed();
  uint64_t initial_seed() const { return initial_seed_; }

  uint32_t random();                            // 32 random bits
  uint64_t random_below(uint64_t count);        // 0 .. count-1
  double uniform() { return random() * (1.0 / 4294967296.0); }  // in [0, 1)
  double uniform(double low, double high);      // in [low, high)
  double normal(double mean, double std);       // Box-Muller; draws for every second call
  double exponential(double rate);
  double cauchy(double median, double scale);
  double log_normal(double mean, double std);   // mean and std of the logarithm
  double geometric(double p);                   // 1, 2, ...
  bool bernoulli(double p) { return uniform() <= p; }

  // Torch7's bytes, in little-endian order.
  void get_state(uint8_t* bytes) const;
  // Throws ValueError for bytes that no generator wrote.
  void set_state(const uint8_t* bytes, std::size_t count);

  std::mutex& mutex() { return mutex_; }

 private:
  static constexpr int kWords = 624;
  static constexpr int kJustSeeded = kWords + 1;

  void refill();

  std::array<uint32_t, kWords> words_;
  int position_ = kJustSeeded;  // of the next unused word; kWords or more: none is left
  uint64_t initial_seed_ = 0;
  // Box-Muller gives normals in pairs: the second one waits here.
  double normal_angle_ = 0;   // both as uniform draws
  double normal_height_ = 0;
  double normal_radius_ = 0;
  bool normal_is_cached_ = false;
  std::mutex mutex_;
};

// The calling thread's generator, shared by Python and Lua. The thread that imports relume has
// the one that Torch7 would have; a thread that is started later gets one of its own.
Generator& default_generator();
// What the calling thread draws from: the default one, unless use_generator() chose another.
Generator& current_generator();
// Makes the calling thread draw from `generator` (null: the default one); returns the old choice.
Generator* use_generator(Generator* generator);

// Parameters of distributions, checked; each throws ValueError with what is allowed.
void check_probability(double p);
void check_positive(const char* what, double value);
void check_geometric(double p);

// Draws `count` indices for each row of `probabilities` (1-d or 2-d, any positive sum) into
// `samples` (int64, contiguous): one uniform draw per index, row after row.
void multinomial(Generator& generator, const Tensor& probabilities, int64_t count,
                 bool replacement, const Tensor& samples);

}  // namespace relume
