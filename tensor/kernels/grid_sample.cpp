// Sampling at the points of a grid, its adjoint, and its gradient with respect to the grid.
#include <array>
#include <string_view>
#include <vector>

#include "tensor/copy.h"
#include "tensor/kernels/best_isa.h"
#include "tensor/kernels/grid_sampling.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/resampling_loops.h"
#include "tensor/ops.h"

namespace relume {

RELUME_PER_ISA(ResamplingLoops, resampling_loops)

namespace {

constexpr int64_t kBlockPoints = 4096;  // whose tables stay in the cache

const ResamplingLoopsOf<float>& loops_for(float) { return best_resampling_loops().float32; }
const ResamplingLoopsOf<double>& loops_for(double) { return best_resampling_loops().float64; }

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
  for (int i = 0; i < dims; i++) orders[i] = given[i];
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

// The elements that a run of points takes and their weights: `taps` rows of one number per point.
template <class T>
struct Table {
  int64_t taps;
  std::vector<int32_t> places;
  std::vector<T> weights;

  explicit Table(int64_t taps) : taps(taps), places(taps * kBlockPoints), weights(taps * kBlockPoints) {}

  // For points [begin, end) of a sample.
  void fill(const Sampler& sampler, int64_t sample, int64_t begin, int64_t end, const Orders& orders) {
    const T* grid = sampler.grid.data_as<const T>() + sample * sampler.points * sampler.dims;
    const int64_t count = end - begin;
    parallel_for(begin, end, 256, [&](int64_t first, int64_t last) {
      for (int64_t point = first; point < last; point++) {
        fill_point(sampler, grid + point * sampler.dims, orders, point - begin, count);
      }
    });
  }

 private:
  void fill_point(const Sampler& sampler, const T* point, const Orders& orders, int64_t at, int64_t count) {
    const int each = sampler.rule.taps();
    const AxisTaps across(point[0], sampler.input[2], sampler.rule, orders[0]);
    const AxisTaps down(point[1], sampler.input[1], sampler.rule, orders[1]);
    const AxisTaps deep(sampler.dims == 3 ? point[2] : T(0), sampler.input[0], sampler.rule,
                        sampler.dims == 3 ? orders[2] : 0);
    const int depth_taps = sampler.dims == 3 ? each : 1;
    int64_t tap = 0;
    for (int d = 0; d < depth_taps; d++) {
      const int64_t depth = sampler.dims == 3 ? deep.places[d] : 0;
      const double depth_weight = sampler.dims == 3 ? deep.weights[d] : 1;
      for (int h = 0; h < each; h++) {
        for (int w = 0; w < each; w++, tap++) {
          const bool outside = depth < 0 || down.places[h] < 0 || across.places[w] < 0;
          const int64_t place = (depth * sampler.input[1] + down.places[h]) * sampler.input[2] + across.places[w];
          places[tap * count + at] = outside ? 0 : static_cast<int32_t>(place);
          weights[tap * count + at] =
              outside ? T(0) : static_cast<T>(depth_weight * down.weights[h] * across.weights[w]);
        }
      }
    }
  }
};

// Calls f(sample, first point, end point) for blocks of points.
template <class Function>
void for_each_block(const Sampler& sampler, const Function& function) {
  for (int64_t sample = 0; sample < sampler.batch; sample++) {
    for (int64_t begin = 0; begin < sampler.points; begin += kBlockPoints) {
      function(sample, begin, std::min(sampler.points, begin + kBlockPoints));
    }
  }
}

void sample(Call& call, const Sampler& sampler, const Orders& orders) {
  compute_floating(call, sampler.output_shape(), [&](const Tensor& input, const Tensor& out, auto zero) {
    using T = decltype(zero);
    check<TypeError>(sampler.grid.dtype() == input.dtype(), call.op.name(), ": the grid has a wider type than the input");
    Table<T> table(sampler.taps());
    for_each_block(sampler, [&](int64_t sample, int64_t begin, int64_t end) {
      table.fill(sampler, sample, begin, end, orders);
      for_planes(sampler.channels, (end - begin) * table.taps, [&](int64_t channel) {
        const int64_t plane = sample * sampler.channels + channel;
        loops_for(zero).gather(input.data_as<const T>() + plane * sampler.input.product(), table.places.data(),
                               table.weights.data(), table.taps, end - begin,
                               out.data_as<T>() + plane * sampler.points + begin);
      });
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
    const int64_t elements = sampler.input.product();
    for_planes(sampler.batch * sampler.channels, elements,
               [&](int64_t plane) { std::fill_n(out.data_as<T>() + plane * elements, elements, T(0)); });
    Table<T> table(sampler.taps());
    for_each_block(sampler, [&](int64_t sample, int64_t begin, int64_t end) {
      table.fill(sampler, sample, begin, end, orders);
      const int64_t count = end - begin;
      for_planes(sampler.channels, count * table.taps, [&](int64_t channel) {
        const int64_t plane = sample * sampler.channels + channel;
        const T* source = grad.data_as<const T>() + plane * sampler.points + begin;
        T* target = out.data_as<T>() + plane * elements;
        for (int64_t tap = 0; tap < table.taps; tap++) {
          const int32_t* places = table.places.data() + tap * count;
          const T* weights = table.weights.data() + tap * count;
          for (int64_t i = 0; i < count; i++) {
            if (weights[i] != T(0)) target[places[i]] += weights[i] * source[i];
          }
        }
      });
    });
  });
}

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
    const int64_t elements = sampler.input.product(), dims = sampler.dims;
    Table<T> table(sampler.taps());
    std::vector<T> sums(kBlockPoints), slopes(kBlockPoints);
    for_each_block(sampler, [&](int64_t sample, int64_t begin, int64_t end) {
      const int64_t count = end - begin;
      for (int64_t dim = 0; dim < dims; dim++) {
        Orders orders{};
        orders[dim] = 1;
        table.fill(sampler, sample, begin, end, orders);
        std::fill(sums.begin(), sums.end(), T(0));
        for (int64_t channel = 0; channel < sampler.channels; channel++) {
          const int64_t plane = sample * sampler.channels + channel;
          loops_for(zero).gather(input.data_as<const T>() + plane * elements, table.places.data(),
                                 table.weights.data(), table.taps, count, slopes.data());
          const T* factors = grad.data_as<const T>() + plane * sampler.points + begin;
          for (int64_t i = 0; i < count; i++) sums[i] += factors[i] * slopes[i];
        }
        T* target = out.data_as<T>() + (sample * sampler.points + begin) * dims + dim;
        for (int64_t i = 0; i < count; i++) target[i * dims] = sums[i];
      }
    });
  });
}

// ---- grids of affine maps ----

// Coordinates of `size` elements between -1 and 1.
Tensor coordinates(int64_t size, bool align_corners, DType dtype) {
  Tensor line = empty(IntSpan({size}), DType::float64);
  for (int64_t i = 0; i < size; i++) {
    const double steps = static_cast<double>(size - 1);
    const double along = size == 1 ? 0 : -1 + 2 * static_cast<double>(i) / steps;
    line.data_as<double>()[i] = align_corners ? along : along * steps / static_cast<double>(size);
  }
  return as_type(line, dtype);
}

void affine_grid_cpu(Call& call) {
  check_floating(call, 0);
  const Tensor theta = call.tensor(0);
  const IntSpan size = shape_argument(call, 1);
  const int dims = size.count - 2;
  check(dims == 2 || dims == 3, "affine_grid: size must be (batch, channels, height, width) or (batch, channels, depth, "
        "height, width), not ", size);
  const Dims wanted(IntSpan({size[0], int64_t{dims}, int64_t{dims} + 1}));
  check(theta.shape() == IntSpan(wanted), "affine_grid: theta must have shape ", IntSpan(wanted), ", not ",
        theta.shape());
  const bool align_corners = call.has(2) && call.boolean(2);
  // Every point's coordinates (width first) and a 1, times the transposed maps.
  Dims shape;
  for (int i = 0; i < dims; i++) shape.push(size[2 + i]);
  std::vector<Tensor> parts;
  for (int i = dims - 1; i >= 0; i--) {
    Dims line;
    for (int j = 0; j < dims; j++) line.push(j == i ? size[2 + i] : 1);
    parts.push_back(ops::expand(ops::reshape(coordinates(size[2 + i], align_corners, theta.dtype()), IntSpan(line)),
                                IntSpan(shape)));
  }
  parts.push_back(full(shape, 1.0, theta.dtype()));
  std::vector<TensorBody*> bodies;
  for (const Tensor& part : parts) bodies.push_back(part.body());
  const Tensor stacked = ops::stack(Value(bodies.data(), static_cast<int>(bodies.size())), -1);
  const Tensor points = ops::reshape(stacked, IntSpan({product(shape), int64_t{dims} + 1}));
  Dims result;
  result.push(size[0]);
  for (int64_t length : IntSpan(shape)) result.push(length);
  result.push(dims);
  call.set_output(0, ops::reshape(ops::matmul(points, ops::transpose(theta, 1, 2)), IntSpan(result)));
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
const Register register_affine_grid{
    "affine_grid(Tensor theta, int[] size, bool? align_corners=None) -> Tensor",
    "The grid for grid_sample that maps an output of a size (batch, channels, [depth,] height, width) by "
    "matrices of shape (batch, dimensions, dimensions + 1).",
    {Trait::composite, Trait::no_method}, affine_grid_cpu};

}  // namespace
}  // namespace relume
