#include "tensor/random.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/error.h"
#include "tensor/thread_state.h"

// Fusing a multiplication with an addition changes the last bit of uniform(low, high), and with
// it the weights of every freshly initialised network.
#pragma GCC optimize("fp-contract=off")
#pragma STDC FP_CONTRACT OFF

namespace relume {

namespace {

constexpr double kPi = 3.14159265358979323846;

// Parameters of MT19937 (Matsumoto and Nishimura, 1998).
constexpr int kWordCount = 624;
constexpr int kShift = 397;
constexpr uint32_t kTwist = 0x9908b0df;
constexpr uint32_t kUpperBit = 0x80000000;
constexpr uint32_t kSeedMultiplier = 1812433253;

// One word of the next block, from the old word, its successor and the one kShift ahead.
inline uint32_t twist(uint32_t word, uint32_t successor, uint32_t ahead) {
  uint32_t mixed = (word & kUpperBit) | (successor & ~kUpperBit);
  return ahead ^ (mixed >> 1) ^ (successor & 1 ? kTwist : 0);
}

// The bytes of torch.getRNGState(). A word takes eight bytes there (a C long), `left` counts
// down to the next refill, and a generator that was just seeded has left 1 and next 0.
struct TorchState {
  uint64_t initial_seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t words[kWordCount];
  double normal_angle;
  double normal_height;
  double normal_radius;
  int32_t normal_is_cached;
  int32_t padding;
};
static_assert(sizeof(TorchState) == kGeneratorStateBytes, "Torch7's layout");

}  // namespace

void Generator::manual_seed(uint64_t seed) {
  initial_seed_ = seed;
  words_[0] = static_cast<uint32_t>(seed);
  for (int i = 1; i < kWords; ++i) {
    words_[i] = kSeedMultiplier * (words_[i - 1] ^ (words_[i - 1] >> 30)) + i;
  }
  position_ = kJustSeeded;
  normal_angle_ = normal_height_ = normal_radius_ = 0;
  normal_is_cached_ = false;
}

uint64_t Generator::seed() {
  uint64_t value;
  try {
    value = std::random_device()();
  } catch (const std::exception&) {  // no source of entropy here
    value = std::chrono::steady_clock::now().time_since_epoch().count();
  }
  manual_seed(value);
  return value;
}

void Generator::refill() {
  uint32_t* w = words_.data();
  for (int i = 0; i < kWords - kShift; ++i) w[i] = twist(w[i], w[i + 1], w[i + kShift]);
  for (int i = kWords - kShift; i < kWords - 1; ++i) {
    w[i] = twist(w[i], w[i + 1], w[i + kShift - kWords]);
  }
  w[kWords - 1] = twist(w[kWords - 1], w[0], w[kShift - 1]);
  position_ = 0;
}

uint32_t Generator::random() {
  if (position_ >= kWords) refill();
  uint32_t y = words_[position_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680;
  y ^= (y << 15) & 0xefc60000;
  return y ^ (y >> 18);
}

uint64_t Generator::random_below(uint64_t count) { return random() % count; }

double Generator::uniform(double low, double high) { return uniform() * (high - low) + low; }

double Generator::normal(double mean, double std) {
  if (!normal_is_cached_) {
    normal_angle_ = uniform();
    normal_height_ = uniform();
    normal_radius_ = std::sqrt(-2.0 * std::log(1.0 - normal_height_));
  }
  normal_is_cached_ = !normal_is_cached_;
  double angle = 2.0 * kPi * normal_angle_;
  double direction = normal_is_cached_ ? std::cos(angle) : std::sin(angle);
  return normal_radius_ * direction * std + mean;
}

double Generator::exponential(double rate) { return -1.0 / rate * std::log(1.0 - uniform()); }

double Generator::cauchy(double median, double scale) {
  return median + scale * std::tan(kPi * (uniform() - 0.5));
}

double Generator::log_normal(double mean, double std) { return std::exp(normal(mean, std)); }

double Generator::geometric(double p) {
  return std::floor(std::log(1.0 - uniform()) / std::log(p)) + 1;
}

void Generator::get_state(uint8_t* bytes) const {
  TorchState state{};
  bool just_seeded = position_ == kJustSeeded;
  state.initial_seed = initial_seed_;
  state.left = just_seeded ? 1 : kWords - position_ + 1;
  state.seeded = 1;
  state.next = just_seeded ? 0 : position_;
  std::copy(words_.begin(), words_.end(), state.words);
  state.normal_angle = normal_angle_;
  state.normal_height = normal_height_;
  state.normal_radius = normal_radius_;
  state.normal_is_cached = normal_is_cached_;
  std::memcpy(bytes, &state, sizeof state);
}

void Generator::set_state(const uint8_t* bytes, std::size_t count) {
  check(count == kGeneratorStateBytes, "expected a generator state of ", kGeneratorStateBytes,
        " bytes, got ", count, "; use a value that get_rng_state() returned");
  TorchState state;
  std::memcpy(&state, bytes, sizeof state);
  bool just_seeded = state.left == 1 && state.next == 0;
  bool valid = state.left >= 1 && state.left <= kWords && state.seeded &&
               (just_seeded || state.next == static_cast<uint64_t>(kWords - state.left + 1));
  check(valid, "these ", kGeneratorStateBytes,
        " bytes are no generator state; use a value that get_rng_state() returned");
  initial_seed_ = state.initial_seed;
  for (int i = 0; i < kWords; ++i) words_[i] = static_cast<uint32_t>(state.words[i]);
  position_ = just_seeded ? kJustSeeded : static_cast<int>(state.next);
  normal_angle_ = state.normal_angle;
  normal_height_ = state.normal_height;
  normal_radius_ = state.normal_radius;
  normal_is_cached_ = state.normal_is_cached != 0;
}

namespace {

// The generator of the thread that draws first, which is the one that imports relume.
Generator& first_generator() {
  // Never destroyed: threads may still draw while the process exits. Held across fork(), so
  // that a child never inherits it locked by a thread that it does not have.
  static Generator* generator = [] {
    auto* made = new Generator();
    pthread_atfork([] { first_generator().mutex().lock(); },
                   [] { first_generator().mutex().unlock(); },
                   [] { first_generator().mutex().unlock(); });
    return made;
  }();
  return *generator;
}

std::atomic<uint32_t> thread_count{0};
// Touched while the library loads, by the thread that imports relume.
const std::thread::id first_thread = (first_generator(), std::this_thread::get_id());

// The generator of any other thread. Its sequence follows from the first one's seed and from how
// many threads have drawn before, so that a program that seeds and starts its threads in order
// draws the same numbers again.
std::unique_ptr<Generator> make_thread_generator() {
  constexpr uint64_t kGoldenRatio = 0x9e3779b9;  // spreads neighbouring seeds
  return std::make_unique<Generator>(first_generator().initial_seed() + kGoldenRatio * ++thread_count);
}

}  // namespace

Generator& default_generator() {
  if (std::this_thread::get_id() == first_thread) return first_generator();
  thread_local const std::unique_ptr<Generator> generator = make_thread_generator();
  return *generator;
}

Generator& current_generator() {
  Generator* chosen = thread_state().generator;
  return chosen ? *chosen : default_generator();
}

Generator* use_generator(Generator* generator) {
  return std::exchange(thread_state().generator, generator);
}

void check_probability(double p) {
  check(p >= 0 && p <= 1, "expected a probability between 0 and 1, got ", p);
}

void check_positive(const char* what, double value) {
  check(value > 0, "expected ", what, " > 0, got ", value);
}

void check_geometric(double p) { check(p > 0 && p < 1, "expected p with 0 < p < 1, got ", p); }

namespace {

// Running sums of one row, divided by their total, so that a uniform draw picks an index.
class CumulativeDistribution {
 public:
  void assign(const std::vector<double>& weights) {
    sums_.resize(weights.size());
    double total = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) sums_[i] = total += weights[i];
    check(total > 0 && std::isfinite(total), "expected probabilities with a positive sum, got a sum of ",
          total);
    for (double& sum : sums_) sum /= total;
    sums_.back() = 1;  // whatever rounding made of it
  }

  // The first index whose running sum reaches `position`.
  int64_t find(double position) const {
    auto found = std::lower_bound(sums_.begin(), sums_.end(), position);
    return std::min<int64_t>(found - sums_.begin(), static_cast<int64_t>(sums_.size()) - 1);
  }

  // Takes an index out and rescales the rest.
  void remove(int64_t index) {
    double weight = sums_[index] - (index > 0 ? sums_[index - 1] : 0);
    double rest = 1 - weight;
    for (int64_t i = 0; i < static_cast<int64_t>(sums_.size()); ++i) {
      sums_[i] = (i >= index ? sums_[i] - weight : sums_[i]) / rest;
    }
  }

 private:
  std::vector<double> sums_;
};

}  // namespace

void multinomial(Generator& generator, const Tensor& probabilities, int64_t count,
                 bool replacement, const Tensor& samples) {
  bool is_matrix = probabilities.ndim() == 2;
  int64_t rows = is_matrix ? probabilities.size(0) : 1;
  int64_t categories = probabilities.size(is_matrix ? 1 : 0);
  std::vector<double> weights(categories);
  CumulativeDistribution distribution;
  int64_t* sample = samples.data_as<int64_t>();
  for (int64_t row = 0; row < rows; ++row) {
    visit(probabilities.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* first = probabilities.data_as<T>() + (is_matrix ? row * probabilities.stride(0) : 0);
      int64_t stride = probabilities.stride(is_matrix ? 1 : 0);
      for (int64_t i = 0; i < categories; ++i) weights[i] = static_cast<double>(first[i * stride]);
    });
    distribution.assign(weights);
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = distribution.find(generator.uniform());
      if (!replacement) distribution.remove(index);
      *sample++ = index;
    }
  }
}

}  // namespace relume
