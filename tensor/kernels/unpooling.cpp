// Elements moved between planes of two sizes by their flat indices: what undoes max pooling.
#include "tensor/copy.h"
#include "tensor/kernels/volume.h"
#include "tensor/ops.h"

namespace relume {
namespace {

int64_t plane_size(IntSpan shape, int dims) {
  int64_t size = 1;
  for (int i = shape.count - dims; i < shape.count; i++) size *= shape[i];
  return size;
}

// Planes are the last `dims` dimensions.
struct PlaneMove {
  int dims;
  int64_t planes, inner;  // `inner`: elements per plane of the indices
  Tensor indices;

  PlaneMove(const Call& call, int dims)
      : dims(dims), indices(contiguous_copy_if_needed(call.tensor(1))) {
    const IntSpan shape = indices.shape();
    check<TypeError>(indices.dtype() == DType::int64, call.op.name(),
                     ": indices must have type int64, not ", name(indices.dtype()));
    check(dims >= 1 && shape.count >= dims, call.op.name(), ": indices must have at least ", dims,
          " dimensions, not shape ", shape);
    inner = plane_size(shape, dims);
    planes = inner == 0 ? 0 : indices.numel() / inner;
  }
  void check_indices(const Call& call, int64_t limit) const {
    const int64_t* index = indices.data_as<const int64_t>();
    for (int64_t i = 0; i < indices.numel(); i++) {
      check<IndexError>(index[i] >= 0 && index[i] < limit, call.op.name(), ": index ", index[i],
                        " is outside of a plane of ", limit, " elements");
    }
  }
  void check_same_planes(const Call& call, IntSpan shape) const {
    bool same = shape.count == indices.ndim();
    for (int i = 0; same && i + dims < shape.count; i++) same = shape[i] == indices.size(i);
    check(same, call.op.name(), ": shapes ", shape, " and ", indices.shape(),
          " must agree but for the last ", dims, " dimension(s)");
  }
};

// out[plane][index[i]] = input[plane][i], or += it
void scatter_to_planes_cpu(Call& call) {
  const PlaneMove move(call, static_cast<int>(call.integer(3)));
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  const IntSpan shape = shape_argument(call, 2);
  const bool accumulate = call.boolean(4);
  check(input.shape() == move.indices.shape(), call.op.name(),
        ": input and indices must have one shape, not ", input.shape(), " and ", move.indices.shape());
  move.check_same_planes(call, shape);
  const int64_t outer = plane_size(shape, move.dims);
  move.check_indices(call, outer);
  const Tensor out = dense_output(call, 0, shape, input.dtype());
  visit(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (move.planes == 0) std::fill_n(out.data_as<T>(), out.numel(), T(0));
    for_planes(move.planes, move.inner + outer, [&](int64_t plane) {
      const T* source = input.data_as<const T>() + plane * move.inner;
      const int64_t* index = move.indices.data_as<const int64_t>() + plane * move.inner;
      T* target = out.data_as<T>() + plane * outer;
      std::fill_n(target, outer, T(0));
      for (int64_t i = 0; i < move.inner; i++) {
        target[index[i]] = accumulate ? static_cast<T>(target[index[i]] + source[i]) : source[i];
      }
    });
  });
}

// out[plane][i] = input[plane][index[i]]
void gather_from_planes_cpu(Call& call) {
  const PlaneMove move(call, static_cast<int>(call.integer(2)));
  const Tensor input = contiguous_copy_if_needed(call.tensor(0));
  move.check_same_planes(call, input.shape());
  const int64_t outer = plane_size(input.shape(), move.dims);
  move.check_indices(call, outer);
  const Tensor out = dense_output(call, 0, move.indices.shape(), input.dtype());
  visit(input.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for_planes(move.planes, move.inner, [&](int64_t plane) {
      const T* source = input.data_as<const T>() + plane * outer;
      const int64_t* index = move.indices.data_as<const int64_t>() + plane * move.inner;
      T* target = out.data_as<T>() + plane * move.inner;
      for (int64_t i = 0; i < move.inner; i++) target[i] = source[index[i]];
    });
  });
}

// max_unpool(input, indices, kernel_size, stride, padding, output_size)
template <int dims>
void max_unpool_cpu(Call& call) {
  static const OpFunction scatter_to_planes{"scatter_to_planes"};
  const Volumes volumes(call, 0, dims);
  Triple size;
  if (call.has(5)) {
    // Of the whole output, as max pooling's input may have had it, or of its planes.
    IntSpan given = call.integers(5);
    if (given.count > dims) given = {given.values + given.count - dims, dims};
    check(given.count == dims, call.op.name(), ": output_size must hold ", dims, " sizes, not ", given);
    for (int i = 0; i < dims; i++) size[3 - dims + i] = given[i];
  } else {
    const Triple kernel = triple_argument(call, 2, dims, 1, 1);
    const bool has_stride = call.has(3) && call.integers(3).count > 0;
    const Triple stride = has_stride ? triple_argument(call, 3, dims, 1, 1) : kernel;
    const Triple padding = triple_argument(call, 4, dims, 0, 0);
    for (int i = 0; i < 3; i++) {
      size[i] = (volumes.size[i] - 1) * stride[i] - 2 * padding[i] + kernel[i];
    }
  }
  for (int64_t length : own_part(size, dims)) check_setting(call, 5, length, 0);
  const Dims shape = volumes.shape(size);
  call.set_output(0, scatter_to_planes(call.value(0), call.value(1), IntSpan(shape), int64_t{dims}, false));
}

constexpr const char* kUnpool =
    "Planes of zeros with every element of input at the flat index where max pooling found it.";

const Register register_scatter_to_planes{
    "scatter_to_planes(Tensor input, Tensor indices, int[] shape, int dims, bool accumulate=True) -> "
    "Tensor",
    "Planes (the last dims dimensions) of zeros with every element of input at its flat index, or "
    "added there.",
    {Trait::internal}, scatter_to_planes_cpu};
const Register register_gather_from_planes{
    "gather_from_planes(Tensor input, Tensor indices, int dims) -> Tensor",
    "The elements of every plane (the last dims dimensions) at flat indices.",
    {Trait::internal}, gather_from_planes_cpu};
const Register register_max_unpool1d{
    "max_unpool1d(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] "
    "padding=[0], int[]? output_size=None) -> Tensor",
    kUnpool, {Trait::composite, Trait::no_method}, max_unpool_cpu<1>};
const Register register_max_unpool2d{
    "max_unpool2d(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] "
    "padding=[0, 0], int[]? output_size=None) -> Tensor",
    kUnpool, {Trait::composite, Trait::no_method}, max_unpool_cpu<2>};
const Register register_max_unpool3d{
    "max_unpool3d(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] "
    "padding=[0, 0, 0], int[]? output_size=None) -> Tensor",
    kUnpool, {Trait::composite, Trait::no_method}, max_unpool_cpu<3>};

}  // namespace
}  // namespace relume
