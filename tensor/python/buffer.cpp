// The buffer protocol of Tensor: numpy.asarray(memoryview(t)) looks at its memory.
#include <memory>

#include "tensor/dispatch.h"
#include "tensor/python/tensor_object.h"

namespace relume {
namespace {

// Shape and strides in bytes of an exported view, with the tensor's memory kept alive.
struct Export {
  Ref<Storage> storage;
  Py_ssize_t shape[kMaxDims];
  Py_ssize_t strides[kMaxDims];
};

// Why the memory cannot be exported; nullptr when it can.
const char* obstacle(const TensorBody* body, int flags) {
  if (wants_gradient(body)) return "a tensor that requires a gradient has no buffer; use t.detach()";
  if (info(body->dtype).buffer_format.empty()) return "bfloat16 has no buffer format; use t.float()";
  if (body->storage && body->storage->device.type != DeviceType::cpu) {
    return "only tensors in host memory have a buffer";
  }
  const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  const bool wants_contiguous = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
  if (!body->contiguous && (!wants_strides || wants_contiguous)) return "the tensor is not contiguous";
  return nullptr;
}

// NumPy calls a 64-bit integer by the C type that it is, and prints any other name for it.
const char* format_of(DType dtype) {
  if (dtype == DType::int64 && sizeof(long) == 8) return "l";
  return info(dtype).buffer_format.data();
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  TensorBody* body = unwrap(self);
  if (const char* reason = obstacle(body, flags)) {
    PyErr_SetString(PyExc_BufferError, reason);
    return -1;
  }
  return guard_status([&] {
    auto exported = std::make_unique<Export>();
    exported->storage = Ref<Storage>::borrow(body->storage);
    const auto size = static_cast<Py_ssize_t>(item_size(body->dtype));
    for (int i = 0; i < body->ndim; ++i) {
      exported->shape[i] = body->shape[i];
      // What a dimension without steps has as its stride may be any number.
      if (__builtin_mul_overflow(body->strides[i], size, &exported->strides[i])) exported->strides[i] = size;
    }
    if (body->storage) body->storage->exported = true;
    static char nothing[8];  // NumPy takes no null pointer, even for an empty array
    void* data = unwrap_tensor(self).data();
    view->buf = data ? data : nothing;
    view->itemsize = size;
    view->len = body->numel * size;
    view->readonly = 0;
    view->ndim = body->ndim;
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format_of(body->dtype)) : nullptr;
    view->shape = flags & PyBUF_ND ? exported->shape : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides : nullptr;
    view->suboffsets = nullptr;
    view->internal = exported.release();
    Py_INCREF(self);
    view->obj = self;
  });
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Export*>(view->internal); }

}  // namespace

void add_buffer_slots(std::vector<PyType_Slot>& slots) {
  slots.push_back({Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)});
  slots.push_back({Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)});
}

}  // namespace relume
