// Joining tensors and taking them apart: cat, stack, split, chunk, unbind, repeat, roll.
#include <algorithm>
#include <cstring>

#include "tensor/copy.h"
#include "tensor/dispatch.h"
#include "tensor/kernels/views.h"
#include "tensor/parallel.h"

namespace relume {
namespace {

constexpr int64_t kGrainBytes = 1 << 18;  // that one thread copies at least
constexpr int64_t kNearBytes = 1 << 14;   // of the output, written while they are in the nearest cache

// Copies rows of `width` bytes, which lie `pitch` apart in the target.
template <class Unit>
void copy_units(const char* from, int64_t rows, char* to, int64_t pitch) {
  for (int64_t row = 0; row < rows; ++row, from += sizeof(Unit), to += pitch) std::memcpy(to, from, sizeof(Unit));
}
void copy_rows(const char* from, int64_t width, int64_t rows, char* to, int64_t pitch) {
  switch (width) {
    case 1: return copy_units<uint8_t>(from, rows, to, pitch);
    case 2: return copy_units<uint16_t>(from, rows, to, pitch);
    case 4: return copy_units<uint32_t>(from, rows, to, pitch);
    case 8: return copy_units<uint64_t>(from, rows, to, pitch);
    case 16: return copy_units<Complex128>(from, rows, to, pitch);
    default: break;
  }
  for (; rows > 0; --rows, from += width, to += pitch) std::memcpy(to, from, width);
}

// Contiguous pieces as columns of one matrix, side by side; widths are in bytes.
struct Columns {
  const std::vector<Tensor>& pieces;
  int64_t rows, item_bytes;
  char* output;
  int64_t width;  // of the output

  // Calls f(data, width, start) for the columns of every piece.
  template <class Function>
  void for_each(const Function& f) const {
    int64_t start = 0;
    for (const Tensor& piece : pieces) {
      const int64_t width = piece.numel() * item_bytes / rows;
      if (width > 0) f(piece.data_as<const char>(), width, start);
      start += width;
    }
  }

  void join() const {
    if (rows < num_threads()) {
      for (int64_t row = 0; row < rows; ++row) {
        parallel_for(0, width, kGrainBytes, [&](int64_t begin, int64_t end) { join_part(row, begin, end); });
      }
    } else {
      parallel_for(0, rows, std::max<int64_t>(1, kGrainBytes / width),
                   [&](int64_t begin, int64_t end) { join_rows(begin, end); });
    }
  }

 private:
  void join_part(int64_t row, int64_t begin, int64_t end) const {
    for_each([&](const char* data, int64_t piece_width, int64_t start) {
      const int64_t first = std::max(begin, start), last = std::min(end, start + piece_width);
      if (first < last) std::memcpy(output + row * width + first, data + row * piece_width + (first - start), last - first);
    });
  }
  void join_rows(int64_t begin, int64_t end) const {
    const int64_t block = std::max<int64_t>(1, kNearBytes / width);
    for (int64_t row = begin; row < end; row += block) {
      for_each([&](const char* data, int64_t piece_width, int64_t start) {
        copy_rows(data + row * piece_width, piece_width, std::min(block, end - row), output + row * width + start, width);
      });
    }
  }
};

// Writes the pieces into the output one after the other along `dim`; a piece without that dimension
// is one index of it.
void join(const Tensor& output, int dim, const std::vector<Tensor>& pieces) {
  if (output.numel() == 0) return;
  bool plain = output.is_contiguous();
  for (const Tensor& piece : pieces) plain &= piece.is_contiguous() && piece.dtype() == output.dtype();
  if (plain) {
    const int64_t item_bytes = static_cast<int64_t>(item_size(output.dtype()));
    const int64_t rows = product({output->shape, dim});
    return Columns{pieces, rows, item_bytes, output.data_as<char>(), output.numel() / rows * item_bytes}.join();
  }
  int64_t start = 0;
  for (const Tensor& piece : pieces) {
    if (piece.numel() == 0) continue;
    const bool is_slice = piece.ndim() == output.ndim();
    const int64_t length = is_slice ? piece.size(dim) : 1;
    copy(is_slice ? narrow_view(output, dim, start, length) : select_view(output, dim, start), piece);
    start += length;
  }
}

std::vector<Tensor> pieces_of(const Call& call) {
  std::vector<Tensor> pieces = call.tensors(0);
  check(!pieces.empty(), call.op.name(), " needs at least one tensor");
  for (const Tensor& piece : pieces) {
    check<TypeError>(piece.defined(), call.op.name(), ": every element must be a tensor, got None");
  }
  return pieces;
}

DType common_dtype(const std::vector<Tensor>& pieces) {
  DType dtype = pieces[0].dtype();
  for (const Tensor& piece : pieces) dtype = promote(dtype, piece.dtype());
  return dtype;
}

// Torch's empty tensor of shape (0) joins with anything, as a start to append to.
bool is_nothing(const Tensor& tensor) { return tensor.ndim() == 1 && tensor.size(0) == 0; }

void cat_cpu(Call& call) {
  const std::vector<Tensor> pieces = pieces_of(call);
  const Tensor* model = &pieces[0];
  for (const Tensor& piece : pieces) {
    if (is_nothing(*model)) model = &piece;
  }
  check(model->ndim() > 0, "cat: 0-d tensors cannot be joined along a dimension; use stack");
  const int dim = wrap_dim(call.integer(1), model->ndim());
  Dims shape(model->shape());
  shape[dim] = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Tensor& piece = pieces[i];
    if (is_nothing(piece)) continue;
    bool fits = piece.ndim() == shape.count;
    for (int k = 0; fits && k < shape.count; ++k) fits = k == dim || piece.size(k) == shape[k];
    check(fits, "cat: tensor ", i, " has shape ", piece.shape(),
          " and cannot be joined along dimension ", dim, " with one of shape ",
          model->shape());
    shape[dim] += piece.size(dim);
  }
  const Tensor output = call.output(0, shape, common_dtype(pieces));
  join(output, dim, pieces);
}

void stack_cpu(Call& call) {
  const std::vector<Tensor> pieces = pieces_of(call);
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    check(pieces[i].shape() == pieces[0].shape(), "stack: tensor ", i, " has shape ",
          pieces[i].shape(), ", the first one has ", pieces[0].shape());
  }
  const int dim = wrap_dim(call.integer(1), pieces[0].ndim() + 1);
  Dims shape(pieces[0].shape());
  shape.insert(dim, static_cast<int64_t>(pieces.size()));
  const Tensor output = call.output(0, shape, common_dtype(pieces));
  join(output, dim, pieces);
}

int sized_dim(const Call& call, int argument) {
  check(call.body(0)->ndim > 0, call.op.name(), ": a 0-d tensor cannot be taken apart");
  return wrap_dim(call.integer(argument), call.body(0)->ndim);
}

void split_in_steps(Call& call, int dim, int64_t step) {
  const Tensor input = call.tensor(0);
  const int64_t size = input.size(dim);
  int i = 0;
  for (int64_t start = 0; start < size || i == 0; start += step) {
    call.set_output(i++, narrow_view(input, dim, start, std::min(step, size - start)));
  }
}

void split_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = sized_dim(call, 2);
  const IntSpan sizes = call.integers(1);
  if (sizes.count == 1) {
    check(sizes[0] > 0 || (sizes[0] == 0 && input.size(dim) == 0),
          "split: the size of a piece must be at least 1, not ", sizes[0]);
    return split_in_steps(call, dim, std::max<int64_t>(sizes[0], 1));
  }
  int64_t total = 0;
  for (int64_t size : sizes) {
    check(size >= 0 && size <= input.size(dim), "split: a piece of ", size,
          " does not fit into dimension ", dim, " with size ", input.size(dim));
    total += size;
  }
  check(total == input.size(dim), "split: the sizes ", sizes, " add up to ", total,
        ", but dimension ", dim, " has size ", input.size(dim));
  int64_t start = 0;
  for (int i = 0; i < sizes.count; ++i) {
    call.set_output(i, narrow_view(input, dim, start, sizes[i]));
    start += sizes[i];
  }
}

void chunk_cpu(Call& call) {
  const int dim = sized_dim(call, 2);
  const int64_t chunks = call.integer(1), size = call.body(0)->shape[dim];
  check(chunks > 0, "chunk: the number of chunks must be at least 1, not ", chunks);
  split_in_steps(call, dim, std::max<int64_t>(1, size / chunks + (size % chunks != 0)));
}

void unbind_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = sized_dim(call, 1);
  for (int64_t i = 0; i < input.size(dim); ++i) {
    call.set_output(static_cast<int>(i), select_view(input, dim, i));
  }
}

void repeat_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const IntSpan repeats = call.integers(1);
  const int added = repeats.count - input.ndim();
  check(added >= 0, "repeat: ", repeats.count, " repeats for a tensor of ", input.ndim(),
        " dimensions; give one for each");
  Dims shape(repeats);
  Dims split_shape, from_strides;  // every repeated dimension as (repeats, size)
  for (int i = 0; i < repeats.count; ++i) {
    check(repeats[i] >= 0, "repeat: a repeat cannot be negative: ", repeats);
    const int64_t size = i < added ? 1 : input.size(i - added);
    check(!__builtin_mul_overflow(repeats[i], size, &shape[i]), "repeat: too many elements");
    if (repeats[i] != 1) {
      split_shape.push(repeats[i]);
      from_strides.push(0);
    }
    if (i >= added) {
      split_shape.push(size);
      from_strides.push(input.stride(i - added));
    }
  }
  const Tensor output = call.output(0, shape, input.dtype());
  if (output.numel() == 0) return;
  const Tensor target = reshape_view(output, split_shape);
  const Tensor source = view_of(input, 0, split_shape, from_strides);
  if (target.defined()) return copy(target, source);
  const Tensor repeated = empty(split_shape, input.dtype());
  copy(repeated, source);
  copy(output, reshape_view(repeated, shape));
}

// output = input moved by `shift` along one dimension, the end coming in at the start.
void roll_one(const Tensor& output, const Tensor& input, int dim, int64_t shift) {
  const int64_t size = input.size(dim);
  if (input.numel() == 0) return;
  shift = (shift % size + size) % size;
  copy(narrow_view(output, dim, shift, size - shift), narrow_view(input, dim, 0, size - shift));
  copy(narrow_view(output, dim, 0, shift), narrow_view(input, dim, size - shift, shift));
}

void roll_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const IntSpan shifts = call.integers(1), dims = call.integers(2);
  const Tensor output = call.output(0, input.shape(), input.dtype());
  if (dims.count == 0) {  // as one long row
    check(shifts.count == 1, "roll: several shifts need as many dims");
    const Tensor row = reshape_view(contiguous_copy_if_needed(input), {input.numel()});
    const Tensor rolled = empty(row.shape(), row.dtype());
    roll_one(rolled, row, 0, shifts[0]);
    return copy(output, reshape_view(rolled, input.shape()));
  }
  check(shifts.count == dims.count, "roll: ", shifts.count, " shifts, but ", dims.count, " dims");
  check(input.ndim() > 0, "roll: a 0-d tensor has no dimension to roll along");
  Tensor current = input;
  for (int i = 0; i < dims.count; ++i) {
    const Tensor next = i + 1 < dims.count ? empty(input.shape(), input.dtype()) : output;
    roll_one(next, current, wrap_dim(dims[i], input.ndim()), shifts[i]);
    current = next;
  }
}

const Register register_cat{"cat(Tensor[] tensors, int dim=0) -> Tensor",
                            "Joins tensors along a dimension that they have.",
                            {Trait::takes_complex, Trait::no_method}, cat_cpu};
const Register register_stack{"stack(Tensor[] tensors, int dim=0) -> Tensor",
                              "Joins tensors of one shape along a new dimension.",
                              {Trait::takes_complex, Trait::no_method}, stack_cpu};
const Register register_split{
    "split(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]",
    "Views of pieces with the given sizes along a dimension; one number: pieces of that size, the "
    "last one smaller.",
    {Trait::view, Trait::no_out}, split_cpu};
const Register register_chunk{"chunk(Tensor input, int chunks, int dim=0) -> Tensor[]",
                              "Views of at most `chunks` pieces of equal size along a dimension.",
                              {Trait::view, Trait::no_out}, chunk_cpu};
const Register register_unbind{"unbind(Tensor input, int dim=0) -> Tensor[]",
                               "Views of all indices of a dimension.",
                               {Trait::view, Trait::no_out}, unbind_cpu};
const Register register_repeat{"repeat(Tensor input, int[] repeats) -> Tensor",
                               "A copy tiled `repeats[i]` times along dimension i.",
                               {Trait::takes_complex}, repeat_cpu};
const Register register_roll{
    "roll(Tensor input, int[] shifts, int[] dims=[]) -> Tensor",
    "Moves elements along dimensions, the end coming in at the start; without dims, along all "
    "elements in row-major order.",
    {Trait::takes_complex}, roll_cpu};

}  // namespace
}  // namespace relume
