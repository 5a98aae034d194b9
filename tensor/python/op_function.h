// `OpFunction`: one callable Python object per registered op.
//
// The same object is the function `relume.add` and, as a method descriptor, the method
// `Tensor.add`: calling a method makes no bound-method object. Arguments are parsed by the
// op's schema straight into an array of Values on the stack.
#pragma once
#include "tensor/python/tensor_object.h"
#include "tensor/registry.h"

namespace relume {

enum class OpForm : uint8_t { plain, in_place };  // relume.add, Tensor.add_

nb::object make_op_function(const Op& op, OpForm form);

}  // namespace relume
