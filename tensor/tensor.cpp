#include "tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "autograd/hooks.h"
#include "autograd/node.h"
#include "tensor/memory.h"

namespace relume {

bool IntSpan::operator==(const IntSpan& other) const {
  return count == other.count && std::equal(begin(), end(), other.begin());
}

std::string to_string(IntSpan shape) {
  std::string text = "(";
  for (int i = 0; i < shape.count; ++i) {
    if (i) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + (shape.count == 1 ? ",)" : ")");
}

int64_t product(IntSpan shape) {
  // Strides must fit too, so that the sizes beside a 0 count.
  int64_t result = 1;
  bool overflow = false, is_empty = false;
  for (int64_t size : shape) {
    check(size >= 0, "a size cannot be negative: ", shape);
    is_empty |= size == 0;
    overflow |= __builtin_mul_overflow(result, std::max<int64_t>(size, 1), &result);
  }
  check(!overflow, "a tensor of shape ", shape, " has too many elements");
  return is_empty ? 0 : result;
}

void* TensorBody::operator new(std::size_t size) { return allocate_memory(size); }
void TensorBody::operator delete(void* pointer, std::size_t size) { free_memory(pointer, size); }

void TensorBody::destroy(TensorBody* body) {
  if (body->grad) body->grad->release();
  if (body->base) body->base->release();
  if (body->grad_fn) body->grad_fn->release();
  if (body->hooks) body->hooks->release();
  if (body->storage) body->storage->release();
  delete body;
}

namespace {

// Sets numel and contiguous. Reads the arguments, not the body: a new one has often left the cache.
void finish_geometry(TensorBody* body, IntSpan shape, IntSpan strides) {
  int64_t expected = 1;
  bool contiguous = true;
  for (int i = shape.count - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) contiguous = false;
    expected *= shape[i];
  }
  body->numel = expected;
  body->contiguous = contiguous || expected == 0;
}

void check_ndim(int ndim) {
  check(ndim <= kMaxDims, "a tensor can have at most ", kMaxDims, " dimensions, got ", ndim);
}

// First and last element (inclusive) relative to the tensor's own first one.
void extent(IntSpan shape, IntSpan strides, int64_t* lowest, int64_t* highest) {
  *lowest = *highest = 0;
  for (int i = 0; i < shape.count; ++i) {
    int64_t reach;
    check(!__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) &&
              !__builtin_add_overflow(reach < 0 ? *lowest : *highest, reach, reach < 0 ? lowest : highest),
          "the strides ", strides, " of a tensor of shape ", shape, " overflow");
  }
}

void check_bounds(Storage* storage, int64_t offset, IntSpan shape, IntSpan strides, DType dtype) {
  check(offset >= 0, "a storage offset cannot be negative: ", offset);
  if (product(shape) == 0) return;
  check(storage != nullptr, "a tensor with elements needs a storage");
  int64_t lowest, highest;
  extent(shape, strides, &lowest, &highest);
  const int64_t size = static_cast<int64_t>(storage->bytes / item_size(dtype));
  int64_t last;
  check(offset + lowest >= 0 && !__builtin_add_overflow(offset, highest, &last) && last < size,
        "a tensor of shape ", shape, ", strides ", strides, " and offset ", offset,
        " reaches outside of its storage of ", size, " elements");
}

}  // namespace

void set_shape(TensorBody* body, IntSpan shape) {
  check_ndim(shape.count);
  const int64_t numel = product(shape);
  body->ndim = shape.count;
  int64_t stride = 1;
  for (int i = shape.count - 1; i >= 0; --i) {
    body->shape[i] = shape[i];
    body->strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  body->numel = numel;
  body->contiguous = true;
}

void set_geometry(TensorBody* body, IntSpan shape, IntSpan strides) {
  check_ndim(shape.count);
  finish_geometry(body, shape, strides);  // first: they may be the body's own
  body->ndim = shape.count;
  std::copy(shape.begin(), shape.end(), body->shape);
  std::copy(strides.begin(), strides.end(), body->strides);
}

Tensor empty(IntSpan shape, DType dtype, Device device) {
  Tensor tensor = Tensor::steal(new TensorBody);
  set_shape(tensor.body(), shape);
  tensor->dtype = dtype;
  int64_t bytes;
  check(!__builtin_mul_overflow(tensor->numel, static_cast<int64_t>(item_size(dtype)), &bytes),
        "a tensor of shape ", shape, " has too many elements");
  tensor->storage = Storage::allocate(static_cast<std::size_t>(bytes), dtype, device).detach();
  return tensor;
}

Tensor empty_like(const Tensor& like) { return empty(like.shape(), like.dtype(), like.device()); }

Tensor full(IntSpan shape, double value, DType dtype, Device device) {
  Tensor tensor = empty(shape, dtype, device);
  check<NotImplementedError>(device.type == DeviceType::cpu, "full() on ", device);
  visit_any(dtype, [&](auto type) {
    using T = decltype(type);
    std::fill_n(tensor.data_as<T>(), tensor.numel(), static_cast<T>(value));
  });
  return tensor;
}

Tensor scalar(double value, DType dtype, Device device) { return full({}, value, dtype, device); }

Tensor make_view(Storage* storage, int64_t offset, IntSpan shape, IntSpan strides, DType dtype) {
  check_ndim(shape.count);
  check_bounds(storage, offset, shape, strides, dtype);
  Tensor view = Tensor::steal(new TensorBody);
  if (storage) storage->retain();
  view->storage = storage;
  view->offset = offset;
  view->dtype = dtype;
  view->is_view = true;
  set_geometry(view.body(), shape, strides);
  return view;
}

Tensor alias(const Tensor& tensor) {
  Tensor copy = Tensor::steal(new TensorBody);
  if (tensor->storage) tensor->storage->retain();
  copy->storage = tensor->storage;
  copy->offset = tensor->offset;
  copy->dtype = tensor->dtype;
  copy->numel = tensor->numel;
  copy->ndim = tensor->ndim;
  copy->contiguous = tensor->contiguous;
  std::copy_n(tensor->shape, tensor->ndim, copy->shape);
  std::copy_n(tensor->strides, tensor->ndim, copy->strides);
  return copy;
}

void resize(const Tensor& tensor, IntSpan shape) {
  TensorBody* body = tensor.body();
  if (tensor.shape() == shape && body->contiguous) return;
  const int64_t numel = product(shape);
  int64_t end, bytes;
  check(!__builtin_add_overflow(body->offset, numel, &end) &&
            !__builtin_mul_overflow(end, static_cast<int64_t>(item_size(body->dtype)), &bytes),
        "a tensor of shape ", shape, " has too many elements");
  if (numel > 0) {
    if (!body->storage) {
      body->storage = Storage::allocate(static_cast<std::size_t>(bytes), body->dtype).detach();
    } else if (static_cast<std::size_t>(bytes) > body->storage->bytes) {
      body->storage->resize(static_cast<std::size_t>(bytes));
    }
  }
  set_shape(body, shape);
}

int wrap_dim(int64_t dim, int ndim) {
  const int dims = std::max(ndim, 1);
  check<IndexError>(dim >= -dims && dim < dims, "dimension ", dim, " is out of range: expected ", -dims,
                    " to ", dims - 1, " for a tensor with ", ndim, " dimensions");
  return static_cast<int>(dim < 0 ? dim + dims : dim);
}

std::vector<int64_t> broadcast_shapes(IntSpan a, IntSpan b) {
  const int ndim = std::max(a.count, b.count);
  std::vector<int64_t> result(ndim);
  for (int i = 1; i <= ndim; ++i) {
    const int64_t size_a = i <= a.count ? a[a.count - i] : 1;
    const int64_t size_b = i <= b.count ? b[b.count - i] : 1;
    check(size_a == size_b || size_a == 1 || size_b == 1, "shapes ", a, " and ",
          b, " cannot be broadcast together: ", size_a, " against ", size_b,
          " at dimension ", ndim - i);
    result[ndim - i] = size_a == 1 ? size_b : size_a;
  }
  return result;
}

bool may_overlap(const Tensor& a, const Tensor& b) {
  if (!a->storage || !b->storage || a->numel == 0 || b->numel == 0) return false;
  auto range = [](const Tensor& t, const char** first, const char** last) {
    int64_t lowest, highest;
    extent(t.shape(), t.strides(), &lowest, &highest);
    const int64_t size = static_cast<int64_t>(item_size(t.dtype()));
    *first = static_cast<const char*>(t.data()) + lowest * size;
    *last = static_cast<const char*>(t.data()) + (highest + 1) * size;
  };
  const char *a_first, *a_last, *b_first, *b_last;
  range(a, &a_first, &a_last);
  range(b, &b_first, &b_last);
  return a_first < b_last && b_first < a_last;
}

bool same_layout(const Tensor& a, const Tensor& b) {
  return a.data() == b.data() && a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.strides() == b.strides() || (a.is_contiguous() && b.is_contiguous()));
}

namespace {

void check_single(const Tensor& tensor) {
  check(tensor.numel() == 1, "only a tensor with one element can be converted to a number, this one has shape ",
        tensor.shape());
}

}  // namespace

double item_as_double(const Tensor& tensor) {
  check_single(tensor);
  return visit(tensor.dtype(), [&](auto type) {
    return static_cast<double>(*tensor.data_as<decltype(type)>());
  });
}

Complex128 item_as_complex(const Tensor& tensor) {
  if (!is_complex(tensor.dtype())) return item_as_double(tensor);
  check_single(tensor);
  return visit_complex(tensor.dtype(), [&](auto type) { return Complex128(*tensor.data_as<decltype(type)>()); });
}

int64_t item_as_int(const Tensor& tensor) {
  if (tensor.dtype() == DType::int64 && tensor.numel() == 1) return *tensor.data_as<int64_t>();
  return static_cast<int64_t>(item_as_double(tensor));
}

}  // namespace relume
