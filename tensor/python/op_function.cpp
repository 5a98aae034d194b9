#include "tensor/python/op_function.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "autograd/derivative.h"
#include "tensor/public_names.h"
#include "tensor/python/arguments.h"
#include "tensor/python/bindings.h"
#include "tensor/python/call_op.h"
#include "tensor/python/error_names.h"
#include "tensor/python/named_results.h"
#include "tensor/random.h"

#include <structmember.h>

namespace relume {
namespace {

constexpr int kMaxArguments = 16;

struct OpFunctionObject {
  PyObject_HEAD
  vectorcallfunc call;
  const Op* op;
  OpForm form;
  bool takes_one_tensor;  // may be called as f(tensor), all else having defaults
  bool creates;           // takes device= and requires_grad= too
  PyObject* other_form;   // takes calls whose arguments the schema does not have; or null
  PyObject* name;
  const char* name_text;
  PyObject* argument_names[kMaxArguments];  // interned, owned
};

PyTypeObject* op_function_type = nullptr;
PyObject* out_name = nullptr;
PyObject* device_name = nullptr;
PyObject* requires_grad_name = nullptr;
PyObject* generator_name = nullptr;

// NumPy's spellings of PyTorch's argument names; `from` is a word of Python's.
struct Alias {
  const char* name;
  const char* stands_for;
};
constexpr Alias kAliases[] = {{"axis", "dim"}, {"axis", "dims"}, {"keepdims", "keepdim"}, {"from_", "from"}};

const char* function_name(const OpFunctionObject* self) { return self->name_text; }

std::string usage(const OpFunctionObject* self) { return message("; usage: ", self->op->schema.text); }

// The position of a keyword argument, or -1.
int find_argument(const OpFunctionObject* self, PyObject* keyword) {
  const int count = static_cast<int>(self->op->schema.arguments.size());
  for (int i = 0; i < count; ++i) {
    if (self->argument_names[i] == keyword) return i;
  }
  const char* text = PyUnicode_AsUTF8(keyword);
  if (!text) throw_python_error();
  const auto place_of = [&](const char* name) {
    for (int i = 0; i < count; ++i) {
      if (self->op->schema.arguments[i].name == name) return i;
    }
    return -1;
  };
  for (const Alias& alias : kAliases) {
    const int place = std::strcmp(text, alias.name) == 0 ? place_of(alias.stands_for) : -1;
    if (place >= 0) return place;
  }
  return place_of(text);
}

// May the values of the last argument be given one by one, as in t.reshape(2, 3)?
bool takes_loose_integers(const Schema& schema) {
  if (schema.positional == 0) return false;
  const Argument& last = schema.arguments[schema.positional - 1];
  return last.type == ArgumentType::integers && !last.has_default;
}

bool takes_one_tensor(const Schema& schema) {
  if (schema.arguments.empty() || schema.arguments[0].type != ArgumentType::tensor) return false;
  return std::all_of(schema.arguments.begin() + 1, schema.arguments.end(),
                     [](const Argument& argument) { return argument.has_default; });
}

// Does the op make a tensor of a type that the caller chooses (zeros, full_like, rand)?
bool creates(const Op& op) {
  return op.has(Trait::not_differentiable) && op.schema.return_count == 1 &&
         std::any_of(op.schema.arguments.begin(), op.schema.arguments.end(),
                     [](const Argument& argument) { return argument.type == ArgumentType::dtype; });
}

bool same_text(PyObject* keyword, PyObject* name) {
  return keyword == name || PyUnicode_Compare(keyword, name) == 0;
}

void check_device(PyObject* device) {
  if (device == Py_None) return;
  nb::module_::import_("relume.tensor.devices").attr("check_device")(nb::borrow(device));
}

// Draws come from the given generator while this lives.
class ChosenGenerator {
 public:
  explicit ChosenGenerator(PyObject* generator)
      : before_(use_generator(nb::cast<Generator*>(nb::handle(generator)))) {}
  ~ChosenGenerator() { use_generator(before_); }
  ChosenGenerator(const ChosenGenerator&) = delete;
  ChosenGenerator& operator=(const ChosenGenerator&) = delete;

 private:
  Generator* before_;
};

// The arguments of one call.
struct ParsedCall {
  alignas(Value) unsigned char value_memory[kMaxArguments * sizeof(Value)];  // only what is used is set
  Value* const values = reinterpret_cast<Value*>(value_memory);
  uint32_t given = 0;  // bits
  int count = 0;       // values up to the last one given
  PyObject* out = nullptr;
  bool requires_grad = false;  // of what a creation op makes
  std::optional<ChosenGenerator> generator;
  ArgumentMemory memory;

  void set(int position, Value value) {
    values[position] = value;
    given |= 1u << position;
    if (position >= count) count = position + 1;
  }
};

void parse_positional(const OpFunctionObject* self, PyObject* const* arguments, int count, ParsedCall& call) {
  const Schema& schema = self->op->schema;
  const char* name = function_name(self);
  int limit = count;
  if (count > schema.positional) {
    if (!takes_loose_integers(schema)) {
      throw TypeError(message(name, "() takes at most ", schema.positional, " positional arguments, but ", count,
                              " were given", usage(self)));
    }
    limit = schema.positional - 1;
  }
  for (int i = 0; i < limit; ++i) {
    call.set(i, to_value(arguments[i], {name, &schema.arguments[i]}, call.memory));
  }
  if (limit < count) {
    call.set(limit, to_integers(arguments + limit, count - limit, {name, &schema.arguments[limit]}, call.memory));
  }
}

// Keywords that are not in the schema: out=, generator= of random ops, and device= and
// requires_grad= of creation ops.
bool parse_option(const OpFunctionObject* self, PyObject* keyword, PyObject* value, ParsedCall& call) {
  if (self->op->has(Trait::random) && same_text(keyword, generator_name)) {
    if (value == Py_None) return true;
    check<TypeError>(nb::isinstance<Generator>(nb::handle(value)), function_name(self),
                     "(): argument 'generator' must be a relume.Generator, not ", type_name(value));
    call.generator.emplace(value);
    return true;
  }
  if (self->form == OpForm::in_place) return false;
  if (same_text(keyword, out_name) && !self->op->has(Trait::no_out)) {
    if (value != Py_None) call.out = value;
    return true;
  }
  if (!self->creates) return false;
  if (same_text(keyword, device_name)) {
    check_device(value);
    return true;
  }
  if (!same_text(keyword, requires_grad_name)) return false;
  check<TypeError>(PyBool_Check(value), function_name(self), "(): argument 'requires_grad' must be bool, not ",
                   type_name(value));
  call.requires_grad = value == Py_True;
  return true;
}

void parse_keywords(const OpFunctionObject* self, PyObject* const* arguments, PyObject* keywords,
                    ParsedCall& call) {
  const Schema& schema = self->op->schema;
  const char* name = function_name(self);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); ++i) {
    PyObject* keyword = PyTuple_GET_ITEM(keywords, i);
    const int position = find_argument(self, keyword);
    if (position < 0) {
      if (parse_option(self, keyword, arguments[i], call)) continue;
      throw TypeError(message(name, "() has no argument '", PyUnicode_AsUTF8(keyword), "'", usage(self)));
    }
    if (call.given & (1u << position)) {
      throw TypeError(message(name, "() got two values for argument '", schema.arguments[position].name, "'",
                              usage(self)));
    }
    call.set(position, to_value(arguments[i], {name, &schema.arguments[position]}, call.memory));
  }
}

// Arguments before the last given one that were left out get their defaults here; those
// after it get them from the dispatcher.
void fill_defaults(const OpFunctionObject* self, ParsedCall& call) {
  const Schema& schema = self->op->schema;
  const int count = static_cast<int>(schema.arguments.size());
  for (int i = 0; i < count; ++i) {
    if (call.given & (1u << i)) continue;
    const Argument& argument = schema.arguments[i];
    if (!argument.has_default) {
      throw TypeError(message(function_name(self), "() is missing argument '", argument.name, "' (",
                              argument.type_name, ")", usage(self)));
    }
    if (i < call.count) call.values[i] = argument.default_value;
  }
}

PyObject* call_into(const OpFunctionObject* self, ParsedCall& call) {
  const bool is_sequence = PyTuple_Check(call.out) || PyList_Check(call.out);
  PyObject* const* items = is_sequence ? PySequence_Fast_ITEMS(call.out) : &call.out;
  const int count = is_sequence ? static_cast<int>(PySequence_Fast_GET_SIZE(call.out)) : 1;
  std::vector<Tensor> out;
  for (int i = 0; i < count; ++i) {
    if (!is_tensor(items[i])) {
      throw TypeError(message(function_name(self), "(): argument 'out' must be Tensor or a tuple of Tensors, not ",
                              type_name(items[i])));
    }
    out.push_back(unwrap_tensor(items[i]));
  }
  const int expected = self->op->schema.returns_list ? count : self->op->schema.return_count;
  check<TypeError>(count == expected, function_name(self), "(): argument 'out' must hold ", expected,
                   " tensors, not ", count);
  {
    ReleaseLock release(is_long_running(*self->op, call.values, call.count));
    invoke_into(*self->op, call.values, call.count, out.data(), count);
  }
  Py_INCREF(call.out);
  return call.out;
}

PyObject* call_with_gradient(const OpFunctionObject* self, const ParsedCall& call) {
  Tensor tensor = run_op(*self->op, call.values, call.count);
  check<Error>(is_differentiable(tensor.dtype()), function_name(self), "(): only floating and complex tensors can require a "
               "gradient, not ", name(tensor.dtype()));
  tensor->requires_grad = true;
  return wrap(std::move(tensor));
}

void parse(const OpFunctionObject* self, PyObject* const* arguments, int count, PyObject* keywords,
           ParsedCall& call) {
  parse_positional(self, arguments, count, call);
  if (keywords) parse_keywords(self, arguments + count, keywords, call);
  fill_defaults(self, call);
}

// The result of a call that only the other form of the function may take; nullptr when it does not.
PyObject* call_other_form(const OpFunctionObject* self, PyObject* const* arguments, size_t count_and_flag,
                          PyObject* keywords) {
  if (!self->other_form) return nullptr;
  nb::object result = checked(PyObject_Vectorcall(self->other_form, arguments, count_and_flag, keywords));
  return result.ptr() == Py_NotImplemented ? nullptr : result.release().ptr();
}

// The name that was called: that of users for the op itself, of the form otherwise.
std::string_view called_name(const OpFunctionObject* self) {
  return self->op->name() == self->name_text ? std::string_view(public_name(*self->op)) : self->name_text;
}

PyObject* call_op_function(PyObject* object, PyObject* const* arguments, size_t count_and_flag,
                           PyObject* keywords) {
  const auto* self = reinterpret_cast<OpFunctionObject*>(object);
  const int count = static_cast<int>(PyVectorcall_NARGS(count_and_flag));
  PyObject* result = guard([&]() -> PyObject* {
    if (count == 1 && !keywords && self->takes_one_tensor && Py_TYPE(arguments[0]) == tensor_type) {
      const Value value(unwrap(arguments[0]));
      return call_op(*self->op, &value, 1);
    }
    ParsedCall call;
    try {
      parse(self, arguments, count, keywords, call);
    } catch (const TypeError&) {
      if (PyObject* result = call_other_form(self, arguments, count_and_flag, keywords)) return result;
      throw;
    }
    if (call.out) return call_into(self, call);
    if (call.requires_grad) return call_with_gradient(self, call);
    if (self->form == OpForm::plain) return call_op(*self->op, call.values, call.count);
    if (!call.values[0].is_tensor() || !is_tensor(arguments[0])) {
      throw TypeError(message(function_name(self), "() changes its first argument, which must be a Tensor, not ",
                              count ? type_name(arguments[0]) : "a keyword"));
    }
    run_op_in_place(*self->op, call.values, call.count);
    Py_INCREF(arguments[0]);
    return arguments[0];
  });
  if (!result) name_called_function(called_name(self));
  return result;
}

PyObject* bind_method(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, instance);
}

PyObject* represent(PyObject* object) {
  const auto* self = reinterpret_cast<OpFunctionObject*>(object);
  return PyUnicode_FromFormat("<relume op %s>", self->op->schema.text.c_str());
}

// Put together by tensor/documentation when somebody asks.
PyObject* get_documentation(PyObject* object, void*) {
  return guard([&] {
    nb::object describe = nb::module_::import_("relume.tensor.documentation").attr("describe");
    return describe(nb::borrow(object)).release().ptr();
  });
}

// Built by tensor/signatures.py when somebody asks (help, editors).
PyObject* get_signature(PyObject* object, void*) {
  return guard([&] {
    nb::object make = nb::module_::import_("relume.tensor.signatures").attr("signature");
    return make(nb::borrow(object)).release().ptr();
  });
}

PyObject* get_schema(PyObject* object, void*) {
  return PyUnicode_FromString(reinterpret_cast<OpFunctionObject*>(object)->op->schema.text.c_str());
}

PyObject* reduce(PyObject* object, PyObject*) {
  const auto* self = reinterpret_cast<OpFunctionObject*>(object);
  return guard([&] {
    nb::object find = nb::module_::import_("relume.tensor.serialization").attr("find_op_function");
    return Py_BuildValue("(O(Oi))", find.ptr(), self->name, static_cast<int>(self->form));
  });
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpFunctionObject, call), READONLY, nullptr},
    {"__name__", T_OBJECT, offsetof(OpFunctionObject, name), READONLY, nullptr},
    {"__qualname__", T_OBJECT, offsetof(OpFunctionObject, name), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef properties[] = {
    {"__doc__", get_documentation, nullptr, nullptr, nullptr},
    {"__signature__", get_signature, nullptr, nullptr, nullptr},
    {"schema", get_schema, nullptr, "The op's schema, as registered.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

void make_type() {
  PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_descr_get, reinterpret_cast<void*>(bind_method)},
      {Py_tp_repr, reinterpret_cast<void*>(represent)},
      {Py_tp_members, members},
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {0, nullptr}};
  PyType_Spec spec = {"relume.OpFunction", sizeof(OpFunctionObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  op_function_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)).release().ptr());
}

nb::dict describe(const Op& op) {
  static constexpr std::pair<Trait, const char*> kTraits[] = {
      {Trait::composite, "composite"}, {Trait::elementwise, "elementwise"}, {Trait::view, "view"},
      {Trait::not_differentiable, "not_differentiable"}, {Trait::no_out, "no_out"},
      {Trait::no_in_place, "no_in_place"}, {Trait::takes_complex, "takes_complex"},
      {Trait::not_holomorphic, "not_holomorphic"}, {Trait::in_place, "in_place"}, {Trait::random, "random"},
      {Trait::no_method, "no_method"}, {Trait::method_only, "method_only"}, {Trait::internal, "internal"}};
  nb::list traits;
  for (const auto& [trait, trait_name] : kTraits) {
    if (op.has(trait)) traits.append(trait_name);
  }
  nb::dict row;
  row["name"] = op.name().c_str();
  row["schema"] = op.schema.text.c_str();
  row["doc"] = op.documentation.c_str();
  row["traits"] = traits;
  row["has_derivative"] = find_derivative(op.name()) != nullptr;
  row["has_in_place_form"] = op.has_in_place_form();
  return row;
}

}  // namespace

nb::object make_op_function(const Op& op, OpForm form) {
  if (!op_function_type) make_type();
  check<Error>(op.schema.arguments.size() <= kMaxArguments, "op ", op.name(), " has too many arguments");
  auto* self = PyObject_New(OpFunctionObject, op_function_type);
  nb::object owner = checked(reinterpret_cast<PyObject*>(self));
  self->call = call_op_function;
  self->op = &op;
  self->form = form;
  self->takes_one_tensor = form == OpForm::plain && takes_one_tensor(op.schema);
  self->creates = creates(op);
  self->other_form = nullptr;
  self->name = PyUnicode_InternFromString((op.name() + (form == OpForm::in_place ? "_" : "")).c_str());
  self->name_text = intern(public_name(op) + (form == OpForm::in_place ? "_" : ""));
  for (std::size_t i = 0; i < kMaxArguments; ++i) {
    self->argument_names[i] = i < op.schema.arguments.size()
                                  ? PyUnicode_InternFromString(op.schema.arguments[i].name.c_str())
                                  : nullptr;
  }
  return owner;
}

void bind_ops(nb::module_& module) {
  bind_named_results(module);
  out_name = PyUnicode_InternFromString("out");
  device_name = PyUnicode_InternFromString("device");
  requires_grad_name = PyUnicode_InternFromString("requires_grad");
  generator_name = PyUnicode_InternFromString("generator");
  nb::dict functions;
  nb::object type = nb::borrow(reinterpret_cast<PyObject*>(tensor_type));
  for (const Op* op : all_ops()) {
    const std::string& name = op->name();
    nb::object function = make_op_function(*op, OpForm::plain);
    functions[name.c_str()] = function;
    if (op->has(Trait::internal)) continue;
    const bool on_tensor = !op->schema.arguments.empty() && !op->has(Trait::no_method) &&
                           (op->schema.arguments[0].type == ArgumentType::tensor ||
                            op->schema.arguments[0].type == ArgumentType::tensor_or_scalar);
    if (on_tensor) nb::setattr(type, name.c_str(), function);
    if (on_tensor && op->has_in_place_form()) {
      nb::setattr(type, (name + "_").c_str(), make_op_function(*op, OpForm::in_place));
    }
  }
  module.attr("ops") = functions;
  module.def("op_function", [](const char* name, int form) {
    return make_op_function(get_op(form ? std::string(name, std::strlen(name) - 1) : name),
                            static_cast<OpForm>(form));
  });
  module.def("set_other_form", [](nb::object function, nb::object other_form) {
    check<TypeError>(Py_TYPE(function.ptr()) == op_function_type, "set_other_form() is for functions of ops");
    reinterpret_cast<OpFunctionObject*>(function.ptr())->other_form = other_form.release().ptr();
  }, "Lets `other_form` take the calls whose arguments the schema of an op function does not have.");
  module.def("registry", [] {
    nb::list rows;
    for (const Op* op : all_ops()) rows.append(describe(*op));
    return rows;
  }, "One dict per registered op: name, schema, doc, traits, has_derivative, has_in_place_form.");
}

}  // namespace relume
