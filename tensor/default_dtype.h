// The floating type of what has none: `zeros({2})`, integers under sqrt, Python's floats.
#pragma once
#include "tensor/dtype.h"

namespace relume {

// float32, unless set_default_float() has changed it, for all threads.
DType default_float();
// The complex type of the same precision.
DType default_complex();
// Throws TypeError unless it is float32 or float64.
void set_default_float(DType dtype);

}  // namespace relume
