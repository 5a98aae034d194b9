// Attributes and methods of Tensor that are not ops.
#include "autograd/binding/python_function.h"
#include "tensor/convert.h"
#include "tensor/python/arguments.h"
#include "tensor/python/call_op.h"

namespace relume {
namespace {

PyObject* int_tuple(IntSpan values) {
  PyObject* tuple = PyTuple_New(values.count);
  if (!tuple) return nullptr;
  for (int i = 0; i < values.count; ++i) PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(values[i]));
  return tuple;
}

PyObject* text(std::string_view characters) {
  return PyUnicode_FromStringAndSize(characters.data(), static_cast<Py_ssize_t>(characters.size()));
}

PyObject* new_reference(PyObject* object) {
  Py_INCREF(object);
  return object;
}

bool is_leaf(const TensorBody* body) { return !body->grad_fn && !(body->base && body->base->requires_grad); }

// ---- attributes ----

PyObject* get_shape(PyObject* self, void*) {
  const TensorBody* body = unwrap(self);
  return int_tuple({body->shape, body->ndim});
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(unwrap(self)->ndim); }
PyObject* get_dtype(PyObject* self, void*) { return new_reference(dtype_object(unwrap(self)->dtype)); }
PyObject* get_device_name(PyObject* self, void*) {
  return guard([&] { return text(to_string(unwrap_tensor(self).device())); });
}
PyObject* get_nbytes(PyObject* self, void*) {
  const TensorBody* body = unwrap(self);
  return PyLong_FromLongLong(body->numel * static_cast<int64_t>(item_size(body->dtype)));
}
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(item_size(unwrap(self)->dtype)); }

PyObject* get_requires_grad(PyObject* self, void*) {
  return PyBool_FromLong(wants_gradient(unwrap(self)));
}

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  return guard_status([&] {
    check<TypeError>(value && PyBool_Check(value), "requires_grad must be True or False");
    TensorBody* body = unwrap(self);
    const bool wanted = value == Py_True;
    check<Error>(!wanted || is_differentiable(body->dtype), "only floating and complex tensors can require a gradient, not ",
                 name(body->dtype));
    check<Error>(wanted || is_leaf(body), "requires_grad can only be turned off for a leaf; use detach()");
    if (is_leaf(body)) body->requires_grad = wanted;
  });
}

PyObject* get_grad(PyObject* self, void*) {
  return guard([&] { return wrap(gradient_of(unwrap(self))); });
}

int set_grad(PyObject* self, PyObject* value, void*) {
  return guard_status([&] {
    TensorBody* body = unwrap(self);
    if (!value || value == Py_None) {
      set_gradient(body, Tensor());
      return;
    }
    check<TypeError>(is_tensor(value), "grad must be a Tensor or None, not ", type_name(value));
    Tensor gradient = unwrap_tensor(value);
    check(gradient.shape() == IntSpan(body->shape, body->ndim), "grad has shape ", gradient.shape(),
          ", the tensor has shape ", IntSpan(body->shape, body->ndim));
    check<TypeError>(gradient.dtype() == body->dtype, "grad has dtype ", name(gradient.dtype()),
                     ", the tensor has dtype ", name(body->dtype));
    set_gradient(body, std::move(gradient));
  });
}

PyObject* get_grad_fn(PyObject* self, void*) {
  return guard([&] {
    Edge edge = gradient_edge(unwrap(self));
    nb::object result = edge.node ? wrap_edge(edge) : nb::none();
    release_edge(edge);
    return result.release().ptr();
  });
}

PyObject* get_is_leaf(PyObject* self, void*) { return PyBool_FromLong(is_leaf(unwrap(self))); }

PyObject* detached(PyObject* self, void*) {
  return guard([&] { return wrap(alias(unwrap_tensor(self))); });
}

// Looks at the memory of another tensor from now on; what Torch code does with x.data.
int set_data(PyObject* self, PyObject* value, void*) {
  return guard_status([&] {
    check<TypeError>(value && is_tensor(value), "data must be a Tensor");
    TensorBody* body = unwrap(self);
    check<Error>(is_leaf(body), "data can only be set on a leaf");
    const Tensor source = unwrap_tensor(value);
    check<TypeError>(source.dtype() == body->dtype || !body->grad, "data has dtype ", name(source.dtype()),
                     ", the tensor and its grad have dtype ", name(body->dtype), "; set grad to None first");
    check<TypeError>(is_floating(source.dtype()) || !body->requires_grad, "data has dtype ", name(source.dtype()),
                     ", but a tensor that requires a gradient is floating");
    if (TensorBody* base = std::exchange(body->base, nullptr)) base->release();  // no view of it any more
    if (source->storage) source->storage->retain();
    Ref<Storage>::steal(std::exchange(body->storage, source->storage));
    body->offset = source->offset;
    body->dtype = source.dtype();
    set_geometry(body, source.shape(), source.strides());
  });
}

PyObject* get_torch_typename(PyObject* self, void*) {
  const std::string_view torch_name = info(unwrap(self)->dtype).torch_name;
  if (torch_name.empty()) Py_RETURN_NONE;  // bool and bfloat16: Torch7 had no such type
  return guard([&] { return text(message("torch.", torch_name, "Tensor")); });
}

PyObject* get_version(PyObject* self, void*) {
  return PyLong_FromUnsignedLong(unwrap_tensor(self).version());
}
PyObject* get_address(PyObject* self, void*) { return PyLong_FromVoidPtr(unwrap(self)); }

// ---- methods ----

PyObject* python_complex(Complex128 number) { return PyComplex_FromDoubles(number.real(), number.imag()); }

PyObject* item(PyObject* self, PyObject*) {
  return guard([&]() -> PyObject* {
    const Tensor tensor = unwrap_tensor(self);
    check(tensor.numel() == 1, "item() needs a tensor with one element, this one has shape ", tensor.shape());
    if (is_floating(tensor.dtype())) return PyFloat_FromDouble(item_as_double(tensor));
    if (is_complex(tensor.dtype())) return python_complex(item_as_complex(tensor));
    if (tensor.dtype() == DType::boolean) return PyBool_FromLong(item_as_int(tensor) != 0);
    return PyLong_FromLongLong(item_as_int(tensor));
  });
}

PyObject* to_complex(PyObject* self, PyObject*) {
  return guard([&] { return python_complex(item_as_complex(unwrap_tensor(self))); });
}

// size(), size(dim), stride(), stride(dim).
PyObject* all_or_one(PyObject* self, PyObject* const* arguments, Py_ssize_t count, const int64_t* values,
                     const char* function) {
  return guard([&]() -> PyObject* {
    const TensorBody* body = unwrap(self);
    check<TypeError>(count <= 1, function, "() takes at most one argument, a dimension");
    if (count == 0 || arguments[0] == Py_None) return int_tuple({values, body->ndim});
    const Py_ssize_t dim = PyNumber_AsSsize_t(arguments[0], PyExc_IndexError);
    if (dim == -1 && PyErr_Occurred()) return nullptr;
    check<IndexError>(body->ndim > 0, function, "(dim): a 0-d tensor has no dimensions");
    return PyLong_FromLongLong(values[wrap_dim(dim, body->ndim)]);
  });
}
PyObject* size(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return all_or_one(self, arguments, count, unwrap(self)->shape, "size");
}
PyObject* stride(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return all_or_one(self, arguments, count, unwrap(self)->strides, "stride");
}

PyObject* dim(PyObject* self, PyObject*) { return get_ndim(self, nullptr); }
PyObject* numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(unwrap(self)->numel); }
PyObject* storage_offset(PyObject* self, PyObject*) { return PyLong_FromLongLong(unwrap(self)->offset); }
PyObject* element_size(PyObject* self, PyObject*) { return get_itemsize(self, nullptr); }
PyObject* is_contiguous(PyObject* self, PyObject*) { return PyBool_FromLong(unwrap(self)->contiguous); }
PyObject* data_pointer(PyObject* self, PyObject*) {
  return PyLong_FromVoidPtr(unwrap_tensor(self).data());
}

PyObject* storage(PyObject* self, PyObject*) {
  return guard([&] { return wrap_storage(Ref<Storage>::borrow(unwrap(self)->storage)); });
}

PyObject* requires_grad_(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (set_requires_grad(self, count ? arguments[0] : Py_True, nullptr) < 0) return nullptr;
  return new_reference(self);
}

PyObject* detach(PyObject* self, PyObject*) { return detached(self, nullptr); }

PyObject* detach_(PyObject* self, PyObject*) {
  return guard([&] {
    TensorBody* body = unwrap(self);
    check<Error>(!body->base, "detach_(): a view stays tied to its base; use detach()");
    body->requires_grad = false;
    if (Node* node = std::exchange(body->grad_fn, nullptr)) node->release();
    return new_reference(self);
  });
}

// resize_(2, 3) or resize_((2, 3)): Torch7's resize, for tensors off the tape.
PyObject* resize_(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return guard([&] {
    static const Argument* shape_argument = &get_op("reshape").schema.arguments[1];
    const ArgumentPlace place{"resize_", shape_argument};
    const Tensor tensor = unwrap_tensor(self);
    check<Error>(!wants_gradient(tensor.body()), "resize_(): the tensor is on the tape; use detach()");
    check<TypeError>(count > 0, "resize_() needs a shape");
    ArgumentMemory memory;
    const Value shape = count == 1 ? to_value(arguments[0], place, memory)
                                   : to_integers(arguments, static_cast<int>(count), place, memory);
    resize(tensor, shape.as_integers());
    return new_reference(self);
  });
}

// Takes the shape, the strides and the place on the tape of a view of itself: transpose_() and its kin.
PyObject* become_view(PyObject* self, PyObject* argument) {
  return guard([&] {
    check<TypeError>(is_tensor(argument), "_become_view() needs a Tensor, not ", type_name(argument));
    TensorBody* body = unwrap(self);
    const Tensor view = unwrap_tensor(argument);
    check(view->storage == body->storage && view.dtype() == body->dtype,
          "_become_view(): the result is no view of the tensor, which cannot take its place");
    const bool recorded = view->grad_fn != nullptr;
    check<Error>(!recorded || body->grad_fn || body->base,
                 "cannot change the shape of a leaf that requires a gradient in place while the tape records; "
                 "use no_grad()");
    body->offset = view->offset;
    set_geometry(body, view.shape(), view.strides());
    if (recorded && view.body() != body) {
      view->grad_fn->retain();
      if (Node* old = std::exchange(body->grad_fn, view->grad_fn)) old->release();
      body->output_index = view->output_index;
    }
    return new_reference(self);
  });
}

PyObject* retained_count(PyObject* self, PyObject*) {
  return PyLong_FromLong(unwrap(self)->references.value());
}

PyObject* element(const Tensor& tensor, int64_t offset) {
  return visit_any(tensor.dtype(), [&](auto zero) -> PyObject* {
    using T = decltype(zero);
    const T value = static_cast<const T*>(tensor->storage->data)[offset];
    if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(value);
    else if constexpr (is_complex_type<T>) return python_complex(value);
    else if constexpr (std::is_integral_v<T>) return PyLong_FromLongLong(value);
    else return PyFloat_FromDouble(static_cast<double>(value));
  });
}

nb::object nested_list(const Tensor& tensor, int dim, int64_t offset) {
  if (dim == tensor.ndim()) return checked(element(tensor, offset));
  const int64_t count = tensor.size(dim);
  nb::object list = checked(PyList_New(count));
  for (int64_t i = 0; i < count; ++i) {
    PyList_SET_ITEM(list.ptr(), i, nested_list(tensor, dim + 1, offset + i * tensor.stride(dim)).release().ptr());
  }
  return list;
}

PyObject* tolist(PyObject* self, PyObject*) {
  return guard([&] {
    const Tensor tensor = unwrap_tensor(self);
    check<NotImplementedError>(tensor.device().type == DeviceType::cpu, "tolist() of a tensor on ",
                               to_string(tensor.device()));
    return nested_list(tensor, 0, tensor->offset).release().ptr();
  });
}

template <class Function>
PyMethodDef method(const char* name, Function* function, int flags, const char* documentation) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function)), flags, documentation};
}

}  // namespace

PyGetSetDef tensor_properties[] = {
    {"shape", get_shape, nullptr, "Sizes of the dimensions, a tuple.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"dtype", get_dtype, nullptr, "Element type, such as relume.float32.", nullptr},
    {"_device_name", get_device_name, nullptr, nullptr, nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of the elements (not of the storage).", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, "Does the tape record what is done with it?", nullptr},
    {"grad", get_grad, set_grad, "The gradient that backward() added up, or None.", nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The op that made it on the tape (a Node), or None.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "True when no recorded op made it.", nullptr},
    {"data", detached, set_data, "The same memory, off the tape.", nullptr},
    {"torch_typename", get_torch_typename, nullptr, "Torch7's name of the type: 'torch.FloatTensor'.", nullptr},
    {"_version", get_version, nullptr, "In-place changes of the storage so far.", nullptr},
    {"_address", get_address, nullptr, "Address of the core's tensor (relume._C.tensor_from_address).", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef tensor_methods[] = {
    method("item", item, METH_NOARGS, "The only element, as a Python number."),
    method("__complex__", to_complex, METH_NOARGS, nullptr),
    method("tolist", tolist, METH_NOARGS, "The elements as nested lists of Python numbers."),
    method("size", size, METH_FASTCALL, "size() -> tuple, size(dim) -> int."),
    method("stride", stride, METH_FASTCALL, "stride() -> tuple, stride(dim) -> int; in elements."),
    method("dim", dim, METH_NOARGS, "Number of dimensions."),
    method("numel", numel, METH_NOARGS, "Number of elements."),
    method("nelement", numel, METH_NOARGS, "Number of elements."),
    method("storage", storage, METH_NOARGS, "The relume.Storage that it looks at, or None."),
    method("storage_offset", storage_offset, METH_NOARGS, "Position of the first element in the storage."),
    method("element_size", element_size, METH_NOARGS, "Bytes of one element."),
    method("is_contiguous", is_contiguous, METH_NOARGS, "Row-major without gaps?"),
    method("data_ptr", data_pointer, METH_NOARGS, "Address of the first element."),
    method("requires_grad_", requires_grad_, METH_FASTCALL, "Sets requires_grad (default True) and returns itself."),
    method("detach", detach, METH_NOARGS, "A tensor on the same memory that the tape does not see."),
    method("detach_", detach_, METH_NOARGS, "Takes this tensor off the tape."),
    method("resize_", resize_, METH_FASTCALL,
           "resize_(*shape): another shape on the same storage, which grows when it must; as in Torch7."),
    method("_become_view", become_view, METH_O, nullptr),
    method("_reference_count", retained_count, METH_NOARGS, nullptr),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace relume
