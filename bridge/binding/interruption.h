// Stopping Lua code that runs: for Ctrl-C and for time limits.
#pragma once

#include "tensor/python/bindings.h"

namespace relume {

void bind_interruption(nb::module_& module);

}  // namespace relume
