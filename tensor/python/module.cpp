// The extension module `relume._C`: every room adds what it binds.
#include "tensor/python/bindings.h"

namespace {

void translate_exception(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const relume::Error&) {
    relume::set_python_error();
  }
}

}  // namespace

NB_MODULE(_C, m) {
  // A hook that refers to its own tensor lives as long as the interpreter; that is no bug to report.
  nanobind::set_leak_warnings(false);
  nanobind::register_exception_translator(translate_exception);
  relume::bind_tensor(m);
  relume::bind_storage(m);
  relume::bind_ops(m);
  relume::bind_dlpack(m);
  relume::bind_autograd(m);
  relume::bind_threads(m);
  relume::bind_tracing(m);
  if (relume::bind_random) relume::bind_random(m);
  if (relume::bind_blas) relume::bind_blas(m);
  if (relume::bind_t7) relume::bind_t7(m);
  if (relume::bind_bridge) relume::bind_bridge(m);
}
