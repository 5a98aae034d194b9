// Joining and taking apart by the names of NumPy: hstack, vstack, dstack, column_stack,
// tensor_split, hsplit, vsplit, dsplit, block_diag, broadcast_tensors, meshgrid, cartesian_prod.
#include <cstring>

#include "tensor/composites/composites.h"

namespace relume {
namespace {

const OpFunction atleast_1d{"atleast_1d"}, atleast_2d{"atleast_2d"}, atleast_3d{"atleast_3d"}, pad{"pad"};

std::vector<Tensor> each(const Call& call, const OpFunction& function) {
  std::vector<Tensor> tensors = given_tensors(call, 0);
  for (Tensor& tensor : tensors) tensor = function(tensor);
  return tensors;
}

void hstack_cpu(Call& call) {
  std::vector<Tensor> tensors = each(call, atleast_1d);
  const int dim = tensors[0].ndim() == 1 ? 0 : 1;
  call.set_output(0, joined(std::move(tensors), dim));
}
void vstack_cpu(Call& call) { call.set_output(0, joined(each(call, atleast_2d), 0)); }
void dstack_cpu(Call& call) { call.set_output(0, joined(each(call, atleast_3d), 2)); }

void column_stack_cpu(Call& call) {
  std::vector<Tensor> tensors = given_tensors(call, 0);
  for (Tensor& tensor : tensors) {
    if (tensor.ndim() < 2) tensor = ops::reshape(tensor, IntSpan{tensor.numel(), 1});
  }
  call.set_output(0, joined(std::move(tensors), 1));
}

constexpr int64_t kMostPieces = 1 << 20;

int split_dim(const Call& call) {
  check(call.body(0)->ndim > 0, call.op.name(), "(): a 0-d tensor cannot be taken apart");
  return wrap_dim(call.integer(2), call.body(0)->ndim);
}

void split_at_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = split_dim(call);
  int64_t start = 0;
  int i = 0;
  for (int64_t stop : call.integers(1)) {
    call.set_output(i++, ops::slice(input, dim, start, stop));
    start = stop;
  }
  call.set_output(i, ops::slice(input, dim, start));
}

void split_evenly_cpu(Call& call) {
  const Tensor input = call.tensor(0);
  const int dim = split_dim(call);
  const int64_t sections = call.integer(1), size = input.size(dim);
  check(sections > 0, "tensor_split(): the number of sections must be at least 1, not ", sections);
  check(sections <= kMostPieces, "tensor_split(): at most ", kMostPieces, " sections, not ", sections);
  int64_t start = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t length = size / sections + (i < size % sections ? 1 : 0);
    call.set_output(static_cast<int>(i), ops::narrow(input, dim, start, length));
    start += length;
  }
}

void broadcast_tensors_cpu(Call& call) {
  const std::vector<Tensor> tensors = given_tensors(call, 0);
  std::vector<int64_t> shape;
  for (const Tensor& tensor : tensors) shape = broadcast_shapes(shape, tensor.shape());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    call.set_output(static_cast<int>(i), ops::expand(tensors[i], shape));
  }
}

void meshgrid_cpu(Call& call) {
  const std::vector<Tensor> tensors = given_tensors(call, 0);
  const bool by_columns = std::strcmp(call.text(1), "xy") == 0;
  check(by_columns || std::strcmp(call.text(1), "ij") == 0, "meshgrid(): indexing must be 'ij' or 'xy', not '",
        call.text(1), "'");
  const int count = static_cast<int>(tensors.size());
  std::vector<int64_t> place = counting(count);
  if (by_columns && count >= 2) std::swap(place[0], place[1]);
  std::vector<int64_t> shape(count);
  for (int i = 0; i < count; ++i) {
    check(tensors[i].ndim() <= 1, "meshgrid(): every tensor must have at most 1 dimension, not shape ",
          tensors[i].shape());
    shape[place[i]] = tensors[i].numel();
  }
  for (int i = 0; i < count; ++i) {
    std::vector<int64_t> own(count, 1);
    own[place[i]] = tensors[i].numel();
    call.set_output(i, ops::expand(ops::reshape(tensors[i], own), shape));
  }
}

void cartesian_prod_cpu(Call& call) {
  const std::vector<Tensor> tensors = given_tensors(call, 0);
  std::vector<int64_t> shape;
  for (const Tensor& tensor : tensors) {
    check(tensor.ndim() == 1, "cartesian_prod(): every tensor must have 1 dimension, not shape ", tensor.shape());
    shape.push_back(tensor.numel());
  }
  if (tensors.size() == 1) return call.set_output(0, tensors[0]);
  std::vector<Tensor> columns;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<int64_t> own(tensors.size(), 1);
    own[i] = tensors[i].numel();
    columns.push_back(ops::reshape(ops::expand(ops::reshape(tensors[i], own), shape), IntSpan{-1}));
  }
  call.set_output(0, stacked(std::move(columns), 1));
}

void block_diag_cpu(Call& call) {
  std::vector<Tensor> blocks = each(call, atleast_2d);
  int64_t columns = 0;
  for (const Tensor& block : blocks) {
    check(block.ndim() == 2, "block_diag(): every tensor must have at most 2 dimensions, not shape ", block.shape());
    columns += block.size(1);
  }
  int64_t left = 0;
  for (Tensor& block : blocks) {
    const int64_t width = block.size(1);
    block = pad(block, IntSpan{left, columns - left - width}, "constant", 0);
    left += width;
  }
  call.set_output(0, joined(std::move(blocks), 0));
}

const auto kFunction = {Trait::composite, Trait::no_method};
const auto kSplit = {Trait::composite, Trait::internal, Trait::no_out};

const Register register_hstack{"hstack(Tensor[] tensors) -> Tensor",
                               "Joins along the second dimension, vectors along their only one.", kFunction,
                               hstack_cpu};
const Register register_vstack{"vstack(Tensor[] tensors) -> Tensor",
                               "Joins along the first dimension; vectors count as rows.", kFunction, vstack_cpu};
const Register register_dstack{"dstack(Tensor[] tensors) -> Tensor",
                               "Joins along the third dimension.", kFunction, dstack_cpu};
const Register register_column_stack{"column_stack(Tensor[] tensors) -> Tensor",
                                     "Joins along the second dimension; vectors count as columns.", kFunction,
                                     column_stack_cpu};
const Register register_split_at{"split_at(Tensor input, int[] indices, int dim) -> Tensor[]",
                                 "Views of a dimension cut before the given indices, as by slices.", kSplit,
                                 split_at_cpu};
const Register register_split_evenly{"split_evenly(Tensor input, int sections, int dim) -> Tensor[]",
                                     "Views of pieces whose sizes differ by one at most, the larger ones first.",
                                     kSplit, split_evenly_cpu};
const Register register_broadcast_tensors{"broadcast_tensors(Tensor[] tensors) -> Tensor[]",
                                          "The tensors as views of their common broadcast shape.",
                                          {Trait::composite, Trait::no_method, Trait::no_out}, broadcast_tensors_cpu};
const Register register_meshgrid{
    "meshgrid(Tensor[] tensors, str indexing='ij') -> Tensor[]",
    "The coordinates of a grid, one tensor per axis, as views; 'xy' exchanges the first two dimensions.",
    {Trait::composite, Trait::no_method, Trait::no_out}, meshgrid_cpu};
const Register register_cartesian_prod{"cartesian_prod(Tensor[] tensors) -> Tensor",
                                       "All combinations of one element of each vector, one row each.", kFunction,
                                       cartesian_prod_cpu};
const Register register_block_diag{"block_diag(Tensor[] tensors) -> Tensor",
                                   "A matrix with the given matrices on its diagonal and zeros elsewhere.", kFunction,
                                   block_diag_cpu};

}  // namespace
}  // namespace relume
