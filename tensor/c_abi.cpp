#include "tensor/c_abi.h"

#include <algorithm>

#include "tensor/c_abi_guard.h"
#include "tensor/dispatch.h"
#include "tensor/parallel.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

DType dtype_by_number(int number) {
  check(number >= 0 && number < kDTypeCount, "there is no dtype with number ", number);
  return static_cast<DType>(number);
}

void check_range(const TensorBody& tensor, int dim, int64_t first, int64_t length) {
  check<IndexError>(dim >= 0 && dim < tensor.ndim, "there is no dimension ", dim, " in a tensor of ", tensor.ndim,
                    " dimensions");
  check<IndexError>(first >= 0 && length >= 0 && length <= tensor.shape[dim] && first <= tensor.shape[dim] - length,
                    "indices ", first, " to ", first + length, " of dimension ", dim, " of a tensor of shape ",
                    IntSpan(tensor.shape, tensor.ndim));
}

constexpr int64_t kNoElements[] = {0};

IntSpan torch_shape(const TensorBody& tensor) {
  return tensor.numel == 0 ? IntSpan(kNoElements, 1) : IntSpan(tensor.shape, tensor.ndim);
}

}  // namespace
}  // namespace relume

using namespace relume;

const char* relume_last_error(void) { return thread_state().last_error.c_str(); }

int relume_find_op(const char* name) {
  return guarded(-1, [&] { return get_op(name).id; });
}

const char* relume_op_schema(int op) {
  return guarded<const char*>(nullptr, [&] { return op_by_id(op).schema.text.c_str(); });
}

int relume_call(int op, const relume_value* values, int count, relume_tensor** results, int capacity) {
  return guarded(-1, [&] {
    const GradMode off(false);
    Outputs outputs = invoke(op_by_id(op), values, count);
    check<Error>(outputs.size() <= capacity, "room for ", capacity, " results, but there are ", outputs.size());
    for (int i = 0; i < outputs.size(); ++i) results[i] = outputs[i].detach_body();
    return outputs.size();
  });
}

int relume_call_into(int op, const relume_value* values, int count, relume_tensor* const* out, int out_count) {
  return guarded(-1, [&] {
    const GradMode off(false);
    Tensor tensors[4];
    check<Error>(out_count <= 4, "at most 4 results, got ", out_count);
    for (int i = 0; i < out_count; ++i) tensors[i] = Tensor::borrow(out[i]);
    invoke_into(op_by_id(op), values, count, tensors, out_count);
    return 0;
  });
}

int relume_call_in_place(int op, const relume_value* values, int count) {
  return guarded(-1, [&] {
    const GradMode off(false);
    invoke_in_place(op_by_id(op), values, count);
    return 0;
  });
}

int relume_thread_count(void) { return num_threads(); }
int relume_set_thread_count(int count) {
  return guarded(-1, [&] {
    set_num_threads(count);
    return 0;
  });
}

relume_tensor* relume_tensor_new(int dtype, int ndim, const int64_t* shape) {
  return guarded<relume_tensor*>(nullptr, [&] {
    return empty(IntSpan(shape, ndim), dtype_by_number(dtype)).detach_body();
  });
}

relume_tensor* relume_tensor_new_empty(int dtype) {
  return guarded<relume_tensor*>(nullptr, [&] {
    const int64_t shape[] = {0}, strides[] = {1};
    return make_view(nullptr, 0, IntSpan(shape, 1), IntSpan(strides, 1), dtype_by_number(dtype)).detach_body();
  });
}

relume_tensor* relume_tensor_alias(relume_tensor* tensor) {
  return guarded<relume_tensor*>(nullptr, [&] { return alias(Tensor::borrow(tensor)).detach_body(); });
}

relume_tensor* relume_tensor_view(relume_tensor* tensor, int64_t offset, int ndim, const int64_t* shape,
                                  const int64_t* strides) {
  return guarded<relume_tensor*>(nullptr, [&] {
    return make_view(tensor->storage, offset, IntSpan(shape, ndim), IntSpan(strides, ndim), tensor->dtype).detach_body();
  });
}

relume_tensor* relume_tensor_select(relume_tensor* tensor, int dim, int64_t index) {
  return guarded<relume_tensor*>(nullptr, [&] {
    check_range(*tensor, dim, index, 1);
    int64_t shape[kMaxDims], strides[kMaxDims];
    int n = 0;
    for (int i = 0; i < tensor->ndim; ++i) {
      if (i == dim) continue;
      shape[n] = tensor->shape[i];
      strides[n++] = tensor->strides[i];
    }
    return make_view(tensor->storage, tensor->offset + index * tensor->strides[dim], IntSpan(shape, n),
                     IntSpan(strides, n), tensor->dtype).detach_body();
  });
}

relume_tensor* relume_tensor_narrow(relume_tensor* tensor, int dim, int64_t first, int64_t length) {
  return guarded<relume_tensor*>(nullptr, [&] {
    check_range(*tensor, dim, first, length);
    int64_t shape[kMaxDims];
    std::copy_n(tensor->shape, tensor->ndim, shape);
    shape[dim] = length;
    return make_view(tensor->storage, tensor->offset + first * tensor->strides[dim], IntSpan(shape, tensor->ndim),
                     IntSpan(tensor->strides, tensor->ndim), tensor->dtype).detach_body();
  });
}

int relume_tensor_set(relume_tensor* tensor, relume_storage* storage, int64_t offset, int ndim,
                      const int64_t* shape, const int64_t* strides) {
  return guarded(-1, [&] {
    TensorBody geometry;
    set_shape(&geometry, IntSpan(shape, ndim));
    const IntSpan steps = strides ? IntSpan(strides, ndim) : IntSpan(geometry.strides, ndim);
    check(!storage || storage->dtype == tensor->dtype, "a tensor of ", name(tensor->dtype),
          " cannot look at a storage of ", name(storage ? storage->dtype : tensor->dtype));
    Tensor view = make_view(storage, offset, IntSpan(shape, ndim), steps, tensor->dtype);
    // The new storage comes first: it may be the old one.
    if (storage) storage->retain();
    if (tensor->storage) tensor->storage->release();
    tensor->storage = storage;
    tensor->offset = offset;
    set_geometry(tensor, view.shape(), view.strides());
    return 0;
  });
}

int relume_tensor_resize(relume_tensor* tensor, int ndim, const int64_t* shape) {
  return guarded(-1, [&] {
    resize(Tensor::borrow(tensor), IntSpan(shape, ndim));
    return 0;
  });
}

relume_tensor* relume_tensor_new_like(relume_tensor* like, int dtype) {
  if (like->numel == 0) return relume_tensor_new_empty(dtype);
  return relume_tensor_new(dtype, like->ndim, like->shape);
}

int relume_tensor_resize_as(relume_tensor* tensor, relume_tensor* like) {
  return guarded(-1, [&] {
    resize(Tensor::borrow(tensor), torch_shape(*like));
    return 0;
  });
}

int relume_tensor_same_shape(relume_tensor* a, relume_tensor* b) { return torch_shape(*a) == torch_shape(*b); }

void relume_tensor_retain(relume_tensor* tensor) { tensor->retain(); }
double relume_tensor_share(relume_tensor* tensor) {
  tensor->retain();
  return static_cast<double>(reinterpret_cast<uintptr_t>(tensor));  // exact: 48 bits
}
void relume_tensor_release(relume_tensor* tensor) {
  guarded(0, [&] {
    tensor->release();
    return 0;
  });
}
void relume_tensors_release(relume_tensor* const* tensors, int64_t count) {
  constexpr int64_t kAhead = 16;  // thousands at once have left the cache
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      __builtin_prefetch(tensors[i + kAhead], 1);
      __builtin_prefetch(&tensors[i + kAhead]->references, 1);
      __builtin_prefetch(&tensors[i + kAhead]->python_object, 1);
      __builtin_prefetch(tensors[i + kAhead / 2]->storage, 1);
    }
    relume_tensor_release(tensors[i]);
  }
}
void relume_tensor_bump_version(relume_tensor* tensor) { Tensor::borrow(tensor).bump_version(); }

relume_storage* relume_storage_new(int dtype, int64_t size) {
  return guarded<relume_storage*>(nullptr, [&] {
    const DType type = dtype_by_number(dtype);
    int64_t bytes;
    check(size >= 0 && !__builtin_mul_overflow(size, static_cast<int64_t>(item_size(type)), &bytes),
          "a storage cannot have ", size, " elements");
    return Storage::allocate(static_cast<std::size_t>(bytes), type).detach();
  });
}

relume_storage* relume_storage_part(relume_storage* storage, int64_t offset, int64_t size) {
  return guarded<relume_storage*>(nullptr, [&] {
    const int64_t available = static_cast<int64_t>(storage->size());
    check<IndexError>(offset >= 0 && size >= 0 && offset <= available && size <= available - offset, "elements ",
                      offset, " to ", offset + size, " of a storage of ", available);
    const std::size_t item = item_size(storage->dtype);
    storage->exported = true;  // never move what the part looks at
    storage->retain();
    Ref<Storage> part = Storage::wrap(static_cast<char*>(storage->data) + offset * item, size * item, storage->dtype,
                                      [](void* parent) { static_cast<Storage*>(parent)->release(); }, storage);
    return part.detach();
  });
}

int relume_storage_resize(relume_storage* storage, int64_t size) {
  return guarded(-1, [&] {
    check(size >= 0, "a storage cannot have ", size, " elements");
    storage->resize(static_cast<std::size_t>(size) * item_size(storage->dtype));
    return 0;
  });
}

void relume_storage_retain(relume_storage* storage) { storage->retain(); }
void relume_storage_release(relume_storage* storage) { storage->release(); }
