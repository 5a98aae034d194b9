// Copying elements between tensors of any layout and type: what `copy_`, `clone`,
// `contiguous`, casts and the dispatcher stand on. Nothing here records on the tape or
// counts versions; the registered ops do.
#pragma once
#include "tensor/value.h"

namespace relume {

// Writes the elements of `source` into `target`, converting them (tensor/convert.h).
// Both have the same shape; they may overlap.
void copy(const Tensor& target, const Tensor& source);

// Sets every element to a number, converted to the type of `target`.
void fill(const Tensor& target, const Value& value);

// Throws ValueError for an expanded tensor: elements that share a place cannot each keep a value.
void check_writable(const Tensor& target, const std::string& op);

// `tensor` itself when it is row-major without gaps, otherwise a copy that is.
Tensor contiguous_copy_if_needed(const Tensor& tensor);

}  // namespace relume
