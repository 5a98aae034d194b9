// How many threads the kernels use, and which instructions.
#include "tensor/kernels/isa.h"
#include "tensor/parallel.h"
#include "tensor/python/bindings.h"

namespace relume {

void bind_threads(nb::module_& module) {
  module.def("get_num_threads", num_threads);
  module.def("set_num_threads", set_num_threads, nb::arg("count"));
  module.def("instruction_set", [] { return name(chosen_isa()); });
}

}  // namespace relume
