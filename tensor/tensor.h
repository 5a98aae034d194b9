// A tensor: a view (shape, strides, offset) of a storage, and its place on the tape.
//
// `TensorBody` is the shared object that Python, Lua and the tape hold; `Tensor` is the
// handle that C++ code passes around. Copying a handle shares the body.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tensor/error.h"
#include "tensor/storage.h"

namespace relume {

constexpr int kMaxDims = 16;

struct Node;         // autograd/node.h
class TensorHooks;   // autograd/hooks.h
class Tensor;

// A borrowed list of integers: a shape, strides, dimensions. A borrowed list must
// outlive its use; an initializer_list does so only within one full expression.
struct IntSpan {
  const int64_t* values = nullptr;
  int count = 0;

  IntSpan() = default;
  IntSpan(const int64_t* values, int count) : values(values), count(count) {}
  IntSpan(const std::vector<int64_t>& list) : values(list.data()), count(static_cast<int>(list.size())) {}
  IntSpan(std::initializer_list<int64_t> list) : values(list.begin()), count(static_cast<int>(list.size())) {}

  int64_t operator[](int i) const { return values[i]; }
  const int64_t* begin() const { return values; }
  const int64_t* end() const { return values + count; }
  std::vector<int64_t> vector() const { return {begin(), end()}; }
  bool operator==(const IntSpan& other) const;
  bool operator!=(const IntSpan& other) const { return !(*this == other); }
};
std::string to_string(IntSpan shape);    // "(2, 3)"
// For check(): a shape passed as it is becomes text only when the check fails.
inline std::ostream& operator<<(std::ostream& stream, IntSpan shape) { return stream << to_string(shape); }
int64_t product(IntSpan shape);          // throws ValueError when it overflows

// The first fields are read by LuaJIT's FFI (bridge/lua); keep the two in step.
struct TensorBody {
  Storage* storage = nullptr;  // owned; null for Torch7's tensors without a storage
  int64_t offset = 0;          // of the first element, in elements
  int64_t numel = 0;
  int32_t ndim = 0;
  DType dtype = DType::float32;
  bool contiguous = true;      // row-major without gaps
  bool requires_grad = false;
  bool is_view = false;        // made by a view op from another tensor
  int64_t shape[kMaxDims];
  int64_t strides[kMaxDims];   // in elements; may be 0 or negative

  RefCount references;
  uint32_t output_index = 0;   // which output of `grad_fn` this is
  Node* grad_fn = nullptr;     // owned; null for leaves. Read it through gradient_edge()
  TensorHooks* hooks = nullptr;  // owned: what users attached to its gradient; nearly always null
  TensorBody* grad = nullptr;  // owned
  TensorBody* base = nullptr;  // owned: the tensor that this differentiable view looks at
  uint32_t base_generation = 0;  // in-place changes of `base` that `grad_fn` knows of
  uint32_t generation = 0;     // in-place changes that were recorded on the tape
  void* python_object = nullptr;  // borrowed; the wrapper clears it

  void retain() { references.increment(); }
  void release() {
    if (references.decrement()) destroy(this);
  }

  static void* operator new(std::size_t size);
  static void operator delete(void* pointer, std::size_t size);

 private:
  static void destroy(TensorBody* body);
};

class Tensor {
 public:
  Tensor() = default;  // undefined
  explicit Tensor(Ref<TensorBody> body) : body_(std::move(body)) {}
  static Tensor borrow(TensorBody* body) { return Tensor(Ref<TensorBody>::borrow(body)); }
  static Tensor steal(TensorBody* body) { return Tensor(Ref<TensorBody>::steal(body)); }

  bool defined() const { return static_cast<bool>(body_); }
  TensorBody* body() const { return body_.get(); }
  TensorBody* operator->() const { return body_.get(); }
  TensorBody* detach_body() { return body_.detach(); }  // gives the reference away

  int ndim() const { return body_->ndim; }
  int64_t numel() const { return body_->numel; }
  DType dtype() const { return body_->dtype; }
  Device device() const { return body_->storage ? body_->storage->device : Device{}; }
  IntSpan shape() const { return {body_->shape, body_->ndim}; }
  IntSpan strides() const { return {body_->strides, body_->ndim}; }
  int64_t size(int dim) const { return body_->shape[dim]; }      // dim in [0, ndim)
  int64_t stride(int dim) const { return body_->strides[dim]; }
  bool is_contiguous() const { return body_->contiguous; }
  bool requires_grad() const { return body_->requires_grad; }
  bool unique() const { return body_->references.unique(); }
  uint32_t version() const { return body_->storage ? body_->storage->version.load(std::memory_order_relaxed) : 0; }
  void bump_version() const {
    if (body_->storage) body_->storage->version.fetch_add(1, std::memory_order_relaxed);
  }

  // Address of the first element (host memory only).
  void* data() const {
    return body_->storage
               ? static_cast<char*>(body_->storage->data) + body_->offset * static_cast<int64_t>(item_size(body_->dtype))
               : nullptr;
  }
  template <class T>
  T* data_as() const {
    return static_cast<T*>(data());
  }

 private:
  Ref<TensorBody> body_;
};

// Fresh, contiguous, not initialised.
Tensor empty(IntSpan shape, DType dtype, Device device = {});
// Same, of the shape, type and device of `like`.
Tensor empty_like(const Tensor& like);
Tensor full(IntSpan shape, double value, DType dtype, Device device = {});
Tensor scalar(double value, DType dtype, Device device = {});  // 0-d

// A new view of a storage; throws ValueError when it would reach outside of it.
// Does not record on the tape (the registered op `as_strided` does).
Tensor make_view(Storage* storage, int64_t offset, IntSpan shape, IntSpan strides, DType dtype);
// Another body looking at the same memory, off the tape.
Tensor alias(const Tensor& tensor);

// Resets shape and strides to row-major and recomputes numel and contiguous.
void set_shape(TensorBody* body, IntSpan shape);
void set_geometry(TensorBody* body, IntSpan shape, IntSpan strides);
// Torch7's resize: grows the storage when needed, keeps the elements in memory order.
void resize(const Tensor& tensor, IntSpan shape);

// -1 -> ndim-1. Throws IndexError outside [-ndim, ndim) (a 0-d tensor counts as 1-d).
int wrap_dim(int64_t dim, int ndim);
// Shape of broadcasting both; throws ValueError.
std::vector<int64_t> broadcast_shapes(IntSpan a, IntSpan b);
bool may_overlap(const Tensor& a, const Tensor& b);   // do they share any byte range?
bool same_layout(const Tensor& a, const Tensor& b);   // same memory, shape and strides

double item_as_double(const Tensor& tensor);  // of a tensor with one element
int64_t item_as_int(const Tensor& tensor);
Complex128 item_as_complex(const Tensor& tensor);

}  // namespace relume
