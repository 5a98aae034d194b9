// The loading of OpenBLAS from Python, which knows where packages are installed.
#include <nanobind/nanobind.h>

#include "tensor/blas.h"
#include "tensor/python/bindings.h"

namespace relume {

void bind_blas(nb::module_& module) {
  module.def("load_blas", &load_blas, nb::arg("path"),
             "Use the OpenBLAS library at `path`; False when it cannot be used.");
  module.def("blas_loaded", &blas_loaded, "Is OpenBLAS in use, rather than our own kernels?");
}

}  // namespace relume
