// Layers do not convert: a float64 input to a float32 layer is nearly always a mistake.
#pragma once
#include "tensor/kernels/window.h"
#include "tensor/public_names.h"

namespace relume {

// Throws TypeError unless the parameter has the type of the input, or (for `wider`) the one that
// the kernel computes in, as the statistics of a 16-bit layer have.
inline void check_layer_type(const Call& call, int argument, bool wider = false) {
  if (!call.has(argument)) return;
  const DType input = call.body(0)->dtype, own = call.body(argument)->dtype;
  if (own == input || (wider && own == computing_type(input))) return;
  const std::string other_way =
      is_floating(input) ? message(" or the layer with .to(relume.", name(input), ")") : std::string();
  throw TypeError(message(public_name(call.op), "(): the input has type ", name(input), ", ",
                          call.op.schema.arguments[argument].name, " has ", name(own),
                          "; convert the input with .to(relume.", name(own), ")", other_way));
}

}  // namespace relume
