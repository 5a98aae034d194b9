// What ops whose kernels compute real numbers only are of complex ones.
#pragma once
#include "tensor/registry.h"

namespace relume {

// A kernel for calls with complex tensors, written in terms of other ops, which the tape records
// instead of the call (as it does with those of Trait::composite). Registers at static
// initialisation, in the manner of Register.
struct ComplexForm {
  ComplexForm(const char* op_name, Kernel kernel);
};

// nullptr where an op has none: then its own kernel takes complex tensors, or nothing does.
Kernel complex_form(const Op& op);

}  // namespace relume
