// Integers as vectors that are 1 at one place.
#include <algorithm>

#include "tensor/copy.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/window.h"

namespace relume {
namespace {

void one_hot_cpu(Call& call) {
  const Tensor given = call.tensor(0);
  check<TypeError>(is_integer(given.dtype()), "one_hot: the input must hold integers, not ", name(given.dtype()));
  const Tensor input = contiguous_copy_if_needed(as_type(given, DType::int64));
  const int64_t* label = input.data_as<const int64_t>();
  int64_t classes = call.integer(1);
  check(classes >= -1, "one_hot: num_classes must not be negative (-1: as many as needed), but is ", classes);
  if (classes == -1) {
    check(input.numel() > 0, "one_hot: num_classes is needed for an empty input");
    classes = *std::max_element(label, label + input.numel()) + 1;
  }
  Dims shape(input.shape());
  shape.push(classes);
  const Tensor out = dense_output(call, 0, shape, DType::int64);
  std::fill_n(out.data_as<int64_t>(), out.numel(), 0);
  for (int64_t i = 0; i < input.numel(); i++) {
    check<IndexError>(label[i] >= 0 && label[i] < classes, "one_hot: ", label[i], " is not one of ", classes,
                      " classes (0-based)");
    out.data_as<int64_t>()[i * classes + label[i]] = 1;
  }
}

const Register register_one_hot{
    "one_hot(Tensor input, int num_classes=-1) -> Tensor",
    "Integers as vectors that are 1 at that place and 0 elsewhere; as many places as the largest needs where "
    "num_classes is -1.",
    {Trait::not_differentiable, Trait::no_method}, one_hot_cpu};

}  // namespace
}  // namespace relume
