// For rooms that bind C++ functions with nanobind: relume::Tensor and Ref<Storage> as
// arguments and results, and the bind functions that module.cpp calls.
//
//   m.def("double_it", [](Tensor t) { return ops::mul(t, 2.0); });
//
// A `Tensor` argument does not accept None; use std::optional<Tensor> (with
// <nanobind/stl/optional.h>) for one that does. An undefined result becomes None.
#pragma once
#include "tensor/python/tensor_object.h"

namespace relume {

void bind_tensor(nb::module_& module);
void bind_creation(nb::module_& module);
void bind_storage(nb::module_& module);
void bind_ops(nb::module_& module);
void bind_dlpack(nb::module_& module);
void bind_autograd(nb::module_& module);
void bind_threads(nb::module_& module);
void bind_tracing(nb::module_& module);
// Of other rooms; absent in a build without them.
__attribute__((weak)) void bind_random(nb::module_& module);
__attribute__((weak)) void bind_blas(nb::module_& module);
__attribute__((weak)) void bind_t7(nb::module_& module);
__attribute__((weak)) void bind_bridge(nb::module_& module);

}  // namespace relume

namespace nanobind::detail {

template <>
struct type_caster<relume::Tensor> {
  NB_TYPE_CASTER(relume::Tensor, const_name("relume.Tensor"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (!relume::is_tensor(source.ptr())) return false;
    value = relume::unwrap_tensor(source.ptr());
    return true;
  }
  static handle from_cpp(relume::Tensor tensor, rv_policy, cleanup_list*) noexcept {
    return relume::guard([&] { return relume::wrap(std::move(tensor)); });
  }
};

template <>
struct type_caster<relume::Ref<relume::Storage>> {
  NB_TYPE_CASTER(relume::Ref<relume::Storage>, const_name("relume.Storage"))

  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (!relume::is_storage(source.ptr())) return false;
    value = relume::Ref<relume::Storage>::borrow(relume::unwrap_storage(source.ptr()));
    return true;
  }
  static handle from_cpp(relume::Ref<relume::Storage> storage, rv_policy, cleanup_list*) noexcept {
    return relume::guard([&] { return relume::wrap_storage(std::move(storage)); });
  }
};

}  // namespace nanobind::detail
