// The same elements in another order or shape: movedim, swapaxes, unflatten, rot90, tile,
// repeat_interleave, flips, atleast_1d and its kin.
#include <algorithm>

#include "tensor/composites/composites.h"
#include "tensor/copy.h"
#include "tensor/kernels/views.h"

namespace relume {
namespace {

const OpFunction flip{"flip"}, repeat{"repeat"}, index_select{"index_select"}, flatten{"flatten"};

void movedim_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const IntSpan source = call.integers(1), destination = call.integers(2);
  const int ndim = input.ndim();
  check(source.count == destination.count, call.op.name(), "(): source ", source, " and destination ", destination,
        " need the same length");
  if (ndim == 0) return call.set_output(0, ops::permute(input, IntSpan{}));
  const uint32_t moved = dimension_set(call, source, ndim), taken = dimension_set(call, destination, ndim);
  std::vector<int64_t> order(ndim);
  for (int i = 0; i < source.count; ++i) order[wrap_dim(destination[i], ndim)] = wrap_dim(source[i], ndim);
  int place = 0;
  for (int dim = 0; dim < ndim; ++dim) {
    if (moved & (1u << dim)) continue;
    while (taken & (1u << place)) ++place;
    order[place++] = dim;
  }
  call.set_output(0, ops::permute(input, order));
}

void swap_dims_cpu(Call& call) { call.set_output(0, ops::transpose(call.tensor(0), call.value(1), call.value(2))); }

void unflatten_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  check(input.ndim() > 0, "unflatten(): a 0-d tensor has no dimension to split");
  const int dim = wrap_dim(call.integer(1), input.ndim());
  const Dims sizes = resolve_shape(call.integers(2), input.size(dim));
  std::vector<int64_t> shape(input.shape().begin(), input.shape().begin() + dim);
  shape.insert(shape.end(), IntSpan(sizes).begin(), IntSpan(sizes).end());
  shape.insert(shape.end(), input.shape().begin() + dim + 1, input.shape().end());
  call.set_output(0, ops::reshape(input, shape));
}

void ravel_cpu(Call& call) { call.set_output(0, ops::reshape(call.tensor(0), IntSpan{-1})); }


// Flips along given dimensions: (left-right, up-down).
void fliplr_cpu(Call& call) {
  check(call.body(0)->ndim >= 2, "fliplr() needs at least 2 dimensions; use flip");
  call.set_output(0, flip(call.tensor(0), IntSpan{1}));
}
void flipud_cpu(Call& call) {
  check(call.body(0)->ndim >= 1, "flipud() needs at least 1 dimension");
  call.set_output(0, flip(call.tensor(0), IntSpan{0}));
}

void rot90_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const IntSpan dims = call.integers(2);
  check(dims.count == 2, "rot90(): dims must name two dimensions, not ", dims);
  dimension_set(call, dims, input.ndim());
  const int64_t from = wrap_dim(dims[0], input.ndim()), to = wrap_dim(dims[1], input.ndim());
  const int64_t quarters = ((call.integer(1) % 4) + 4) % 4;
  if (quarters == 0) {
    call.set_output(0, ops::clone(input));
  } else if (quarters == 2) {
    call.set_output(0, flip(input, IntSpan{from, to}));
  } else {
    const Tensor flipped = flip(input, IntSpan{quarters == 1 ? to : from});
    call.set_output(0, ops::transpose(flipped, from, to));
  }
}

void tile_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  Dims repeats(call.integers(1));
  while (repeats.count < input.ndim()) repeats.insert(0, 1);
  call.set_output(0, repeat(input, IntSpan(repeats)));
}

// Row numbers, each as often as its repeat says.
Tensor repeated_rows(const Tensor& repeats, int64_t rows) {
  check<TypeError>(is_integer(repeats.dtype()), "repeat_interleave(): repeats must be integers, not ",
                   name(repeats.dtype()));
  check(repeats.ndim() <= 1 && (repeats.numel() == 1 || repeats.numel() == rows),
        "repeat_interleave(): repeats of shape ", repeats.shape(), " do not fit ", rows, " rows");
  const Tensor counts = contiguous_copy_if_needed(ops::to_dtype(repeats, DType::int64));
  const int64_t* count = counts.data_as<int64_t>();
  const int64_t step = repeats.numel() == 1 ? 0 : 1;
  int64_t total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    check(count[row * step] >= 0, "repeat_interleave(): repeats must not be negative, got ", count[row * step]);
    total += count[row * step];
  }
  const Tensor result = empty({total}, DType::int64);
  int64_t* to = result.data_as<int64_t>();
  for (int64_t row = 0; row < rows; ++row) to = std::fill_n(to, count[row * step], row);
  return result;
}

void repeat_interleave_cpu(Call& call) {
  const Tensor input = call.has(2) ? call.tensor(0) : flatten(call.tensor(0));
  check(input.ndim() > 0, "repeat_interleave(): a 0-d tensor has no dimension");
  const int dim = call.has(2) ? wrap_dim(call.integer(2), input.ndim()) : 0;
  if (call.value(1).is_tensor()) {
    const Tensor rows = repeated_rows(call.tensor(1), input.size(dim));
    check(!call.has(3) || call.integer(3) == rows.numel(), "repeat_interleave(): output_size is ",
          call.has(3) ? call.integer(3) : 0, ", but the repeats add up to ", rows.numel());
    return call.set_output(0, index_select(input, dim, rows));
  }
  const int64_t count = call.integer(1);
  check(call.value(1).type != Value::Type::real, "repeat_interleave(): repeats must be an integer");
  check(count >= 0, "repeat_interleave(): repeats must not be negative, got ", count);
  if (count == 1) return call.set_output(0, ops::clone(input));
  // Every index as (1) -> (count), merged with its dimension.
  Dims wide(input.shape()), shape(input.shape());
  wide.insert(dim + 1, count);
  shape[dim] = product({input.size(dim), count});
  call.set_output(0, ops::reshape(ops::expand(ops::unsqueeze(input, dim + 1), IntSpan(wide)), IntSpan(shape)));
}

void narrow_copy_cpu(Call& call) {
  call.set_output(0, ops::clone(ops::narrow(call.tensor(0), call.value(1), call.value(2), call.value(3))));
}

void broadcast_to_cpu(Call& call) { call.set_output(0, ops::expand(call.tensor(0), call.integers(1))); }

void atleast_1d_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  call.set_output(0, input.ndim() >= 1 ? input : ops::reshape(input, IntSpan{1}));
}
void atleast_2d_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  call.set_output(0, input.ndim() >= 2 ? input : ops::reshape(input, IntSpan{1, input.numel()}));
}
void atleast_3d_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  Tensor result = input;
  if (input.ndim() < 2) result = ops::reshape(input, IntSpan{1, input.numel()});
  if (result.ndim() == 2) result = ops::unsqueeze(result, -1);
  call.set_output(0, result);
}

const auto kComposite = {Trait::composite, Trait::no_out};

const Register register_movedim{"movedim(Tensor input, int[] source, int[] destination) -> Tensor",
                                "A view with dimensions moved to other places, the rest in order.", kComposite,
                                movedim_cpu};
const Register register_moveaxis{"moveaxis(Tensor input, int[] source, int[] destination) -> Tensor",
                                 "NumPy's name of movedim.", kComposite, movedim_cpu};
const Register register_swapaxes{"swapaxes(Tensor input, int axis0, int axis1) -> Tensor",
                                 "NumPy's name of transpose(dim0, dim1).", kComposite, swap_dims_cpu};
const Register register_swapdims{"swapdims(Tensor input, int dim0, int dim1) -> Tensor",
                                 "Another name of transpose(dim0, dim1).", kComposite, swap_dims_cpu};
const Register register_unflatten{"unflatten(Tensor input, int dim, int[] sizes) -> Tensor",
                                  "Splits a dimension into several; one size may be -1.", kComposite, unflatten_cpu};
const Register register_ravel{"ravel(Tensor input) -> Tensor",
                              "All elements as one row: a view where the strides allow it.", kComposite, ravel_cpu};
const Register register_fliplr{"fliplr(Tensor input) -> Tensor", "A copy with the second dimension reversed.",
                               kComposite, fliplr_cpu};
const Register register_flipud{"flipud(Tensor input) -> Tensor", "A copy with the first dimension reversed.",
                               kComposite, flipud_cpu};
const Register register_rot90{"rot90(Tensor input, int k=1, int[] dims=[0, 1]) -> Tensor",
                              "Rotates by k quarters of a turn, from the first of `dims` towards the second.",
                              kComposite, rot90_cpu};
const Register register_tile{"tile(Tensor input, int[] dims) -> Tensor",
                             "Repeats the tensor along its last dimensions; the others are taken once.", kComposite,
                             tile_cpu};
const Register register_repeat_interleave{
    "repeat_interleave(Tensor input, Tensor|Scalar repeats, int? dim=None, *, int? output_size=None) -> Tensor",
    "Repeats every index of a dimension (of the flattened tensor without one) one after another.", kComposite,
    repeat_interleave_cpu};
const Register register_narrow_copy{"narrow_copy(Tensor input, int dim, int start, int length) -> Tensor",
                                    "A copy of `length` indices of a dimension, from `start` on.", kComposite,
                                    narrow_copy_cpu};
const Register register_broadcast_to{"broadcast_to(Tensor input, int[] size) -> Tensor",
                                     "A view that repeats dimensions of size 1 without copying: expand.", kComposite,
                                     broadcast_to_cpu};
const Register register_atleast_1d{"atleast_1d(Tensor input) -> Tensor",
                                   "The tensor with at least 1 dimension.", kComposite, atleast_1d_cpu};
const Register register_atleast_2d{"atleast_2d(Tensor input) -> Tensor",
                                   "The tensor with at least 2 dimensions; new ones come first.", kComposite,
                                   atleast_2d_cpu};
const Register register_atleast_3d{"atleast_3d(Tensor input) -> Tensor",
                                   "The tensor with at least 3 dimensions, (rows, columns, 1) for a matrix.",
                                   kComposite, atleast_3d_cpu};

}  // namespace
}  // namespace relume
