// Sampling at the points of a grid, its adjoint, and its gradient with respect to the grid.
#include <array>
#include <string_view>
#include <vector>

#include "tensor/copy.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/grid_sampling_loops.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/resampling_loops.h"
#include "tensor/kernels/volume.h"
#include "tensor/ops.h"

namespace relume {

RELUME_PER_ISA(ResamplingLoops, resampling_loops)
RELUME_PER_ISA(GridSamplingLoops, grid_sampling_loops)

namespace {

constexpr int64_t kBlockPoints = 1024;  // whose tables stay in the cache

const ResamplingLoopsOf<float>& loops_for(float) { return best_resampling_loops().float32; }
const ResamplingLoopsOf<double>& loops_for(double) { return best_resampling_loops().float64; }

const GridSamplingLoopsOf<float>& grid_loops_for(float) { return best_grid_sampling_loops().float32; }
const GridSamplingLoopsOf<double>& grid_loops_for(double) { return best_grid_sampling_loops().float64; }

// Derivative orders along width, height, depth: in the order of a point's coordinates.
using Orders = std::array<int64_t, 3>;

// What samples and grid are like. The grid is (batch, [depth,] height, width, dimensions).
struct Sampler {
  SamplingRule rule;
  int dims;
  int64_t batch, channels;
  Triple input;
  int64_t points;  // per sample
  Tensor grid;     // row-major, of the computing type
  Dims grid_shape;

  int64_t taps() const {
    int64_t count = 1;
    for (int i = 0; i < dims; i++) count *= rule.taps();
    return count;
  }
  Dims output_shape() const {
    Dims shape(IntSpan({batch, channels}));
    for (int i = 1; i <= dims; i++) shape.push(grid_shape[i]);
    return shape;
  }
};

// mode, padding_mode, align_corners from argument `at` on.
SamplingRule rule_arguments(const Call& call, int at) {
  const std::string_view mode = call.text(at), outside = call.text(at + 1);
  SamplingRule rule{Sampling::bilinear, Outside::zeros, call.has(at + 2) && call.boolean(at + 2)};
  if (mode == "nearest") rule.mode = Sampling::nearest;
  if (mode == "bicubic") rule.mode = Sampling::bicubic;
  check(mode == "bilinear" || rule.mode != Sampling::bilinear, call.op.name(),
        ": mode must be 'bilinear', 'nearest' or 'bicubic', not '", mode, "'");
  if (outside == "border") rule.outside = Outside::border;
  if (outside == "reflection") rule.outside = Outside::reflection;
  check(outside == "zeros" || rule.outside != Outside::zeros, call.op.name(),
        ": padding_mode must be 'zeros', 'border' or 'reflection', not '", outside, "'");
  return rule;
}

Orders orders_argument(const Call& call, int at, int dims) {
  const IntSpan given = call.integers(at);
  check(given.count == dims, call.op.name(), ": orders must hold ", dims, " numbers, not ", given);
  Orders orders{};
  for (int i = 0; i < dims; i++) {
    check(given[i] >= 0 && given[i] <= 64, call.op.name(), ": orders must be between 0 and 64, not ", given);
    orders[i] = given[i];
  }
  return orders;
}

// For an input of this shape (or, of an adjoint, an output).
Sampler sampler_of(const Call& call, IntSpan input, int grid_at, int rule_at) {
  check_floating(call, 0);
  check_floating(call, grid_at);
  const Tensor grid = call.tensor(grid_at);
  const int dims = input.count - 2;
  check(dims == 2 || dims == 3, call.op.name(),
        ": input must have shape (batch, channels, height, width) or (batch, channels, depth, height, width), not ",
        input);
  check(grid.ndim() == dims + 2 && grid.size(dims + 1) == dims && grid.size(0) == input[0], call.op.name(),
        ": grid must have shape (", input[0], ", ", dims == 2 ? "height, width, 2" : "depth, height, width, 3",
        "), not ", grid.shape());
  Sampler sampler{rule_arguments(call, rule_at), dims, input[0], input[1], {}, 0, {}, Dims(grid.shape())};
  for (int i = 0; i < dims; i++) sampler.input[3 - dims + i] = input[2 + i];
  const int64_t elements = sampler.input.product();
  check(elements <= INT32_MAX, call.op.name(), ": planes of ", elements, " elements are too large");
  check(sampler.rule.mode != Sampling::bicubic || dims == 2, call.op.name(),
        ": mode 'bicubic' is for planes only, not for volumes");
  sampler.points = sampler.batch == 0 ? 0 : grid.numel() / sampler.batch / dims;
  check(elements > 0 || sampler.points == 0, call.op.name(), ": the input of shape ", input, " has no elements");
  sampler.grid = contiguous_copy_if_needed(
      as_type(grid, computing_type(promote(call.tensor(0).dtype(), grid.dtype()))));
  return sampler;
}

void check_grid_type(const Call& call, const Sampler& sampler, DType dtype) {
  check<TypeError>(sampler.grid.dtype() == dtype, call.op.name(),
                   ": the grid must not have a wider type than the input");
}

// The elements that a run of points takes and their weights: `taps` rows of one number per point.
template <class T>
class Table {
 public:
  explicit Table(const Sampler& sampler)
      : sampler_(sampler),
        length_(std::min(sampler.points, kBlockPoints)),
        places_(kRoom * length_),
        weights_(kRoom * length_) {}

  // For points [begin, end) of a sample.
  void fill(int64_t sample, int64_t begin, int64_t end, const Orders& orders) {
    const GridSamplingLoopsOf<T>& loops = grid_loops_for(T{});
    const int64_t dims = sampler_.dims, count = end - begin, each = sampler_.rule.taps();
    const T* points = sampler_.grid.data_as<const T>() + (sample * sampler_.points + begin) * dims;
    for (int64_t dim = 0; dim < dims; dim++) {
      loops.along(points + dim, dims, count, sampler_.input[2 - dim], sampler_.rule, orders[dim],
                  part(dim * kMostTaps, each));
    }
    taps_ = part(3 * kMostTaps, each * each);
    loops.combine(part(kMostTaps, each), part(0, each), sampler_.input[2], count, taps_);
    if (dims == 3) {  // rows of planes first, then elements of rows
      const Taps<T> rows = part(7 * kMostTaps, each * each);
      loops.combine(part(2 * kMostTaps, each), part(kMostTaps, each), sampler_.input[1], count, rows);
      taps_ = part(3 * kMostTaps, each * each * each);
      loops.combine(rows, part(0, each), sampler_.input[2], count, taps_);
    }
    loops.bring_inside(taps_, count);
  }

  const Taps<T>& taps() const { return taps_; }
  void gather(const T* plane, int64_t count, T* result) const {
    loops_for(T{}).gather(plane, taps_.places, taps_.weights, taps_.taps, count, result);
  }

 private:
  // Three dimensions with 4 rows each, up to 16 for their combination, 4 for rows of volumes.
  static constexpr int64_t kRoom = 8 * kMostTaps;

  Taps<T> part(int64_t row, int64_t taps) {
    return {taps, places_.data() + row * length_, weights_.data() + row * length_};
  }

  const Sampler& sampler_;
  int64_t length_;  // of a row
  std::vector<int32_t> places_;
  std::vector<T> weights_;
  Taps<T> taps_{};
};

// Calls f(task, scratch) for all tasks; each thread has a scratch of its own, made beforehand.
template <class Scratch, class Function>
void for_tasks(const Sampler& sampler, int64_t tasks, int64_t work, const Function& function) {
  const int64_t workers = std::max<int64_t>(1, std::min({work / kParallelGrain, tasks, int64_t{num_threads()}}));
  std::vector<Scratch> scratch;
  for (int64_t i = 0; i < workers; i++) scratch.emplace_back(sampler);
  parallel_for(0, workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; worker++) {
      for (int64_t task = tasks * worker / workers; task < tasks * (worker + 1) / workers; task++) {
        function(task, scratch[worker]);
      }
    }
  });
}

// Calls f(sample, first point, end point, scratch) for blocks of points, on several threads.
template <class Scratch, class Function>
void for_each_block(const Sampler& sampler, const Function& function) {
  const int64_t blocks = (sampler.points + kBlockPoints - 1) / kBlockPoints;
  const int64_t work = sampler.batch * sampler.points * sampler.channels * sampler.taps();
  for_tasks<Scratch>(sampler, sampler.batch * blocks, work, [&](int64_t task, Scratch& scratch) {
    const int64_t begin = task % blocks * kBlockPoints;
    function(task / blocks, begin, std::min(sampler.points, begin + kBlockPoints), scratch);
  });
}

void sample(Call& call, const Sampler& sampler, const Orders& orders) {
  compute_floating(call, sampler.output_shape(), [&](const Tensor& input, const Tensor& out, auto zero) {
    using T = decltype(zero);
    check_grid_type(call, sampler, input.dtype());
    for_each_block<Table<T>>(sampler, [&](int64_t sample, int64_t begin, int64_t end, Table<T>& table) {
      table.fill(sample, begin, end, orders);
      for (int64_t channel = 0; channel < sampler.channels; channel++) {
        const int64_t plane = sample * sampler.channels + channel;
        table.gather(input.data_as<const T>() + plane * sampler.input.product(), end - begin,
                     out.data_as<T>() + plane * sampler.points + begin);
      }
    });
  });
}

// grid_sample(input, grid, mode, padding_mode, align_corners)
void grid_sample_cpu(Call& call) { sample(call, sampler_of(call, call.tensor(0).shape(), 1, 2), Orders{}); }

// The same with orders as argument 5.
void grid_sample_slope_cpu(Call& call) {
  const Sampler sampler = sampler_of(call, call.tensor(0).shape(), 1, 2);
  sample(call, sampler, orders_argument(call, 5, sampler.dims));
}

template <class T>
void scatter(const Taps<T>& taps, const T* source, int64_t count, T* plane) {
  for (int64_t tap = 0; tap < taps.taps; tap++) {
    const int32_t* places = taps.places + tap * count;
    const T* weights = taps.weights + tap * count;
    for (int64_t i = 0; i < count; i++) {
      if (weights[i] != T(0)) plane[places[i]] += weights[i] * source[i];
    }
  }
}

// grid_sample_adjoint(grad_output, grid, input_shape, mode, padding_mode, align_corners, orders)
void grid_sample_adjoint_cpu(Call& call) {
  const IntSpan shape = shape_argument(call, 2);
  const Sampler sampler = sampler_of(call, shape, 1, 3);
  const Orders orders = orders_argument(call, 6, sampler.dims);
  const Dims expected = sampler.output_shape();
  check(call.tensor(0).shape() == IntSpan(expected), "grid_sample_adjoint: grad_output has shape ",
        call.tensor(0).shape(), ", but the samples have ", IntSpan(expected));
  compute_floating(call, shape, [&](const Tensor& grad, const Tensor& out, auto zero) {
    using T = decltype(zero);
    check_grid_type(call, sampler, grad.dtype());
    const int64_t elements = sampler.input.product(), channels = sampler.channels;
    // Threads add to planes of their own: of other samples or, with few samples, of other channels.
    const int64_t parts = sampler.batch >= num_threads() ? 1 : std::min<int64_t>(channels, num_threads());
    const int64_t work = sampler.batch * channels * (elements + sampler.points * sampler.taps());
    for_tasks<Table<T>>(sampler, sampler.batch * parts, work, [&](int64_t task, Table<T>& table) {
      const int64_t sample = task / parts, part = task % parts;
      const int64_t first = sample * channels + channels * part / parts;
      const int64_t last = sample * channels + channels * (part + 1) / parts;
      std::fill_n(out.data_as<T>() + first * elements, (last - first) * elements, T(0));
      for (int64_t begin = 0; begin < sampler.points; begin += kBlockPoints) {
        const int64_t count = std::min(sampler.points - begin, kBlockPoints);
        table.fill(sample, begin, begin + count, orders);
        for (int64_t plane = first; plane < last; plane++) {
          scatter(table.taps(), grad.data_as<const T>() + plane * sampler.points + begin, count,
                  out.data_as<T>() + plane * elements);
        }
      }
    });
  });
}

template <class T>
struct SlopeTable : Table<T> {
  const Sampler& sampler;
  std::vector<T> sums, slopes;

  explicit SlopeTable(const Sampler& sampler)
      : Table<T>(sampler), sampler(sampler), sums(kBlockPoints), slopes(kBlockPoints) {}

  // Over channels, of the slope of a sample times its gradient.
  void sum_slopes(int64_t channels, const T* planes, const T* grad, int64_t count) {
    std::fill(sums.begin(), sums.end(), T(0));
    for (int64_t channel = 0; channel < channels; channel++) {
      this->gather(planes + channel * sampler.input.product(), count, slopes.data());
      const T* factors = grad + channel * sampler.points;
      for (int64_t i = 0; i < count; i++) sums[i] += factors[i] * slopes[i];
    }
  }
};

// grid_sample_grid_gradient(grad_output, input, grid, mode, padding_mode, align_corners): along each
// dimension, the sum over channels of grad_output times the slope of the samples.
void grid_sample_grid_gradient_cpu(Call& call) {
  const Sampler sampler = sampler_of(call, call.tensor(1).shape(), 2, 3);
  const Dims expected = sampler.output_shape();
  check(call.tensor(0).shape() == IntSpan(expected), "grid_sample_grid_gradient: grad_output has shape ",
        call.tensor(0).shape(), ", but the samples have ", IntSpan(expected));
  compute_floating(call, sampler.grid_shape, [&](const Tensor& grad, const Tensor& out, auto zero) {
    using T = decltype(zero);
    const Tensor input = contiguous_copy_if_needed(as_type(call.tensor(1), grad.dtype()));
    check_grid_type(call, sampler, grad.dtype());
    for_each_block<SlopeTable<T>>(sampler, [&](int64_t sample, int64_t begin, int64_t end, SlopeTable<T>& table) {
      const int64_t dims = sampler.dims, first = sample * sampler.channels;
      for (int64_t dim = 0; dim < dims; dim++) {
        Orders orders{};
        orders[dim] = 1;
        table.fill(sample, begin, end, orders);
        table.sum_slopes(sampler.channels, input.data_as<const T>() + first * sampler.input.product(),
                         grad.data_as<const T>() + first * sampler.points + begin, end - begin);
        T* target = out.data_as<T>() + (sample * sampler.points + begin) * dims + dim;
        for (int64_t i = 0; i < end - begin; i++) target[i * dims] = table.sums[i];
      }
    });
  });
}

const Register register_grid_sample{
    "grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? "
    "align_corners=None) -> Tensor",
    "The elements of planes or volumes at the points of a grid (batch, [depth,] height, width, "
    "coordinates): coordinates are in the order width, height, depth and run from -1 to 1. mode is "
    "'bilinear', 'nearest' or 'bicubic'; outside of the input there are 'zeros', its 'border' or its "
    "'reflection'.",
    {Trait::no_method}, grid_sample_cpu};
const Register register_grid_sample_slope{
    "grid_sample_slope(Tensor input, Tensor grid, str mode, str padding_mode, bool? align_corners, int[] "
    "orders) -> Tensor",
    "Derivatives of grid_sample with respect to the coordinates, of an order for each.",
    {Trait::internal}, grid_sample_slope_cpu};
const Register register_grid_sample_adjoint{
    "grid_sample_adjoint(Tensor grad_output, Tensor grid, int[] input_shape, str mode, str padding_mode, "
    "bool? align_corners, int[] orders) -> Tensor",
    "Gradient of grid_sample_slope with respect to its input.",
    {Trait::internal}, grid_sample_adjoint_cpu};
const Register register_grid_sample_grid_gradient{
    "grid_sample_grid_gradient(Tensor grad_output, Tensor input, Tensor grid, str mode, str padding_mode, "
    "bool? align_corners) -> Tensor",
    "Gradient of grid_sample with respect to the grid.",
    {Trait::internal}, grid_sample_grid_gradient_cpu};
}  // namespace
}  // namespace relume
