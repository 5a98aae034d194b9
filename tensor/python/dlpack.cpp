// Tensors to and from other libraries through DLPack capsules.
#include "tensor/python/dlpack.h"

#include <algorithm>
#include <memory>

#include "tensor/dispatch.h"
#include "tensor/python/bindings.h"

namespace relume {
namespace {

using dlpack::Managed;
using dlpack::ManagedVersioned;

// ---- export ----

dlpack::DataType exported_dtype(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * item_size(dtype));
  switch (dtype) {
    case DType::boolean: return {dlpack::kBool, bits, 1};
    case DType::uint8: return {dlpack::kUnsigned, bits, 1};
    case DType::bfloat16: return {dlpack::kBFloat, bits, 1};
    case DType::complex64:
    case DType::complex128: return {dlpack::kComplex, bits, 1};
    default: return {is_floating(dtype) ? dlpack::kFloat : dlpack::kInt, bits, 1};
  }
}

// What a consumer holds until it calls the deleter.
template <class Structure>
struct Exported {
  Structure structure{};
  Ref<Storage> storage;
  int64_t shape[kMaxDims];
  int64_t strides[kMaxDims];
};

template <class Structure>
void delete_exported(Structure* structure) {
  delete static_cast<Exported<Structure>*>(structure->context);
}

// A capsule that nobody consumed takes its structure with it.
template <class Structure>
void destroy_capsule(PyObject* capsule) {
  const char* name = dlpack::CapsuleNames<Structure>::fresh;
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* structure = static_cast<Structure*>(PyCapsule_GetPointer(capsule, name));
  if (structure->deleter) structure->deleter(structure);
}

template <class Structure>
nb::object export_capsule(const Tensor& tensor, bool copied) {
  auto owner = std::make_unique<Exported<Structure>>();
  owner->storage = Ref<Storage>::borrow(tensor->storage);
  std::copy_n(tensor->shape, tensor.ndim(), owner->shape);
  std::copy_n(tensor->strides, tensor.ndim(), owner->strides);
  if (tensor->storage) tensor->storage->exported = true;
  const Device device = tensor.device();
  Structure& structure = owner->structure;
  structure.view = {tensor.data(),
                    device.type == DeviceType::cuda ? dlpack::kCuda : dlpack::kCpu,
                    device.index,
                    tensor.ndim(),
                    exported_dtype(tensor.dtype()),
                    owner->shape,
                    owner->strides,
                    0};
  structure.context = owner.get();
  structure.deleter = delete_exported<Structure>;
  if constexpr (std::is_same_v<Structure, ManagedVersioned>) {
    structure.major_version = 1;
    structure.minor_version = 0;
    structure.flags = copied ? dlpack::kIsCopied : 0;
  }
  nb::object capsule = checked(
      PyCapsule_New(&structure, dlpack::CapsuleNames<Structure>::fresh, destroy_capsule<Structure>));
  owner.release();
  return capsule;
}

nb::object to_capsule(const Tensor& tensor, bool versioned, bool copied) {
  if (wants_gradient(tensor.body())) {
    PyErr_SetString(PyExc_BufferError, "a tensor that requires a gradient cannot be exported; use t.detach()");
    throw_python_error();
  }
  return versioned ? export_capsule<ManagedVersioned>(tensor, copied) : export_capsule<Managed>(tensor, copied);
}

// ---- import ----

DType imported_dtype(const dlpack::DataType& type) {
  check<TypeError>(type.lanes == 1, "DLPack types with ", type.lanes, " lanes are not supported");
  for (int i = 0; i < kDTypeCount; ++i) {
    const dlpack::DataType candidate = exported_dtype(static_cast<DType>(i));
    if (candidate.code == type.code && candidate.bits == type.bits) return static_cast<DType>(i);
  }
  throw TypeError(message("no dtype for DLPack type code ", int{type.code}, " with ", int{type.bits}, " bits"));
}

template <class Structure>
void release_imported(void* context) {
  auto* structure = static_cast<Structure*>(context);
  if (!structure->deleter || !Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();  // the producer may be a Python library
  structure->deleter(structure);
  PyGILState_Release(state);
}

template <class Structure>
Tensor view_of(Structure* structure, nb::object capsule) {
  const dlpack::View& view = structure->view;
  check<NotImplementedError>(view.device_type == dlpack::kCpu, "from_dlpack(): only host memory can be read, not "
                             "DLPack device type ", view.device_type);
  check(view.ndim <= kMaxDims, "from_dlpack(): at most ", kMaxDims, " dimensions are supported, got ", view.ndim);
  const DType dtype = imported_dtype(view.dtype);
  std::vector<int64_t> shape(view.shape, view.shape + view.ndim);
  std::vector<int64_t> strides(view.ndim);
  int64_t row_major = 1, lowest = 0, highest = 0;
  bool has_elements = true;
  for (int i = view.ndim - 1; i >= 0; --i) {
    strides[i] = view.strides ? view.strides[i] : row_major;
    row_major *= shape[i];
    has_elements = has_elements && shape[i] > 0;
    (strides[i] < 0 ? lowest : highest) += (shape[i] - 1) * strides[i];
  }
  const auto size = static_cast<int64_t>(item_size(dtype));
  if (!has_elements) lowest = highest = 0;
  char* base = static_cast<char*>(view.data) + view.byte_offset + lowest * size;
  const std::size_t bytes = has_elements ? static_cast<std::size_t>((highest - lowest + 1) * size) : 0;
  // From here on the storage calls the deleter, not the capsule.
  PyCapsule_SetName(capsule.ptr(), dlpack::CapsuleNames<Structure>::used);
  Ref<Storage> storage = Storage::wrap(base, bytes, dtype, release_imported<Structure>, structure);
  return make_view(storage.get(), -lowest, shape, strides, dtype);
}

template <class Structure>
Tensor consume(nb::object capsule) {
  const char* name = dlpack::CapsuleNames<Structure>::fresh;
  auto* structure = static_cast<Structure*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if constexpr (std::is_same_v<Structure, ManagedVersioned>) {
    check<NotImplementedError>(structure->major_version == 1, "from_dlpack(): DLPack version ",
                               structure->major_version, " is not supported");
    check(!(structure->flags & dlpack::kReadOnly), "from_dlpack(): the memory is read-only; pass copy=True");
  }
  return view_of(structure, capsule);
}

Tensor from_capsule(nb::object capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::CapsuleNames<ManagedVersioned>::fresh)) {
    return consume<ManagedVersioned>(capsule);
  }
  check<TypeError>(PyCapsule_IsValid(capsule.ptr(), dlpack::CapsuleNames<Managed>::fresh),
                   "from_dlpack() expects a DLPack capsule that was not used before, got ",
                   type_name(capsule.ptr()));
  return consume<Managed>(capsule);
}

}  // namespace

void bind_dlpack(nb::module_& module) {
  module.def("to_dlpack", to_capsule, nb::arg("tensor"), nb::arg("versioned"), nb::arg("copied"));
  module.def("from_dlpack_capsule", from_capsule);
}

}  // namespace relume
