// Writing Torch7 files from Python: `_C.T7Encoder`.
#pragma once
#include "tensor/python/python.h"

namespace relume {

void bind_t7_encoder(nb::module_& module);

}  // namespace relume
