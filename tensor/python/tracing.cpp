// Who is told of every call of an op: a function in Python, or a routine.
#include "tensor/python/tracing.h"

#include "tensor/python/arguments.h"
#include "tensor/python/bindings.h"
#include "tensor/thread_state.h"

namespace relume {
namespace {

PyObject* listener = nullptr;  // owned; one trace runs at a time
Routine* noting = nullptr;     // or a routine, borrowed

// The listener's own work is not part of what it listens to.
class NotListening {
 public:
  NotListening() { thread_state().tracing = false; }
  ~NotListening() { thread_state().tracing = listener != nullptr; }
  NotListening(const NotListening&) = delete;
  NotListening& operator=(const NotListening&) = delete;
};

nb::object to_python(TensorBody* body) { return body ? checked(wrap(Tensor::borrow(body))) : nb::none(); }

nb::object to_python(const Value& value) {
  switch (value.type) {
    case Value::Type::none: return nb::none();
    case Value::Type::tensor: return to_python(value.tensor);
    case Value::Type::integer: return nb::int_(value.integer);
    case Value::Type::real: return nb::float_(value.real);
    case Value::Type::boolean: return nb::bool_(value.boolean);
    case Value::Type::dtype: return nb::borrow(dtype_object(value.dtype));
    case Value::Type::text: return nb::str(value.text);
    case Value::Type::complex:
      return checked(PyComplex_FromDoubles(value.complex->real(), value.complex->imag()));
    case Value::Type::integers: {
      nb::list list;
      for (int64_t integer : value.as_integers()) list.append(integer);
      return list;
    }
    case Value::Type::tensors: {
      nb::list list;
      for (int i = 0; i < value.count; ++i) list.append(to_python(value.tensors[i]));
      return list;
    }
  }
  return nb::none();
}

void tell_listener(const Call& call) {
  nb::gil_scoped_acquire lock;
  NotListening pause;
  nb::list arguments, outputs;
  const int count = static_cast<int>(call.op.schema.arguments.size());
  for (int i = 0; i < count; ++i) arguments.append(to_python(call.value(i)));
  for (int i = 0; i < call.outputs.size(); ++i) outputs.append(to_python(call.outputs[i].body()));
  nb::borrow(listener)(nb::str(call.op.name().c_str()), arguments, outputs, call.has_out);
}

void start_tracing(nb::object function) {
  check<Error>(!listener && !noting, "a trace of ops is running already");
  listener = function.release().ptr();
  set_trace_hook(tell_listener);
  thread_state().tracing = true;
}

void stop_tracing() {
  thread_state().tracing = false;
  set_trace_hook(nullptr);
  Py_CLEAR(listener);
}

void note(const Call& call) {
  nb::gil_scoped_acquire lock;  // `noting` belongs to whoever has it
  if (noting) noting->add(call);
}

}  // namespace

bool start_noting(Routine& routine) {
  if (listener || noting) return false;
  noting = &routine;
  set_trace_hook(note);
  thread_state().tracing = true;
  return true;
}

void stop_noting() {
  thread_state().tracing = false;
  set_trace_hook(nullptr);
  noting = nullptr;
}

void bind_tracing(nb::module_& module) {
  module.def("start_tracing", start_tracing, nb::arg("function"),
             "Calls function(op, arguments, outputs, writes) after every op that this thread runs; "
             "`writes` says whether an output was there before.");
  module.def("stop_tracing", stop_tracing);
}

}  // namespace relume
