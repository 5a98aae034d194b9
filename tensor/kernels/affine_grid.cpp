// Grids for grid_sample from affine maps: M. Jaderberg et al., "Spatial Transformer Networks", 2015.
#include <vector>

#include "tensor/kernels/matmul.h"
#include "tensor/kernels/window.h"
#include "tensor/ops.h"

namespace relume {
namespace {

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
  check(dims == 2 || dims == 3,
        "affine_grid: size must be (batch, channels, height, width) or (batch, channels, depth, height, "
        "width), not ",
        size);
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

const Register register_affine_grid{
    "affine_grid(Tensor theta, int[] size, bool? align_corners=None) -> Tensor",
    "The grid for grid_sample that maps an output of a size (batch, channels, [depth,] height, width) by "
    "matrices of shape (batch, dimensions, dimensions + 1).",
    {Trait::composite, Trait::no_method}, affine_grid_cpu};

}  // namespace
}  // namespace relume
