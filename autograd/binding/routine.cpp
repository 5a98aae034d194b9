// Routines for Python: calls of ops that were noted once and are made again, on the tape.
#include "autograd/engine.h"
#include "tensor/ops.h"
#include "tensor/python/bindings.h"
#include "tensor/python/tracing.h"
#include "tensor/thread_state.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

namespace relume {
namespace {

std::vector<Tensor> tensors_or_none(nb::list items) {
  std::vector<Tensor> result;
  result.reserve(nb::len(items));
  for (nb::handle item : items) {
    check<TypeError>(item.is_none() || is_tensor(item.ptr()), "expected a Tensor or None, got ", type_name(item.ptr()));
    result.push_back(item.is_none() ? Tensor() : unwrap_tensor(item.ptr()));
  }
  return result;
}

// What a run gave: tensors by place, on the tape when it was recorded.
struct Values {
  std::vector<Tensor> tensors;

  const Tensor& at(int place) const {
    check<IndexError>(place >= 0 && place < static_cast<int>(tensors.size()), "there is no place ", place);
    return tensors[place];
  }

  nb::object off_tape(int place) const { return checked(wrap(at(place).defined() ? alias(at(place)) : Tensor())); }

  // Sets an attribute of each object to the tensor of a place, off the tape.
  void assign(nb::str name, nb::list objects, nb::list places) const {
    check(nb::len(objects) == nb::len(places), "expected a place for every object");
    for (std::size_t i = 0; i < nb::len(objects); ++i) {
      const nb::object value = off_tape(nb::cast<int>(places[i]));
      if (PyObject_SetAttr(nb::handle(objects[i]).ptr(), name.ptr(), value.ptr()) != 0) throw_python_error();
    }
  }

  // The gradients of some places, with zeros where there is none, after those of leaves; the tape stays.
  nb::tuple gradients(nb::list outputs, nb::list gradients_of_outputs, std::vector<int> places,
                      const std::vector<int>& others) const {
    const std::vector<Tensor> output_list = tensors_or_none(outputs);
    const std::vector<Tensor> gradient_list = tensors_or_none(gradients_of_outputs);
    const std::size_t leaves = places.size();
    places.insert(places.end(), others.begin(), others.end());
    std::vector<Tensor> found(places.size());
    {
      ReleaseLock release(true);
      run_tape(output_list, gradient_list, places, found);
      GradMode off(false);
      for (std::size_t i = leaves; i < places.size(); ++i) {
        if (!found[i].defined()) found[i] = ops::zeros_like(at(places[i]));
      }
    }
    nb::list of_leaves;
    for (std::size_t i = 0; i < leaves; ++i) of_leaves.append(checked(wrap(std::move(found[i]))));
    found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(leaves));
    return nb::make_tuple(of_leaves, Values{std::move(found)});
  }

 private:
  void run_tape(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients,
                const std::vector<int>& places, std::vector<Tensor>& found) const {
    std::vector<Tensor> wanted;
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Tensor& tensor = at(places[i]);
      if (!tensor.defined() || !wants_gradient(tensor.body())) continue;
      wanted.push_back(tensor);
      positions.push_back(i);
    }
    if (wanted.empty() || outputs.empty()) return;
    std::vector<Tensor> results = run_backward(outputs, gradients, wanted, {true, false, true});
    for (std::size_t i = 0; i < results.size(); ++i) found[positions[i]] = std::move(results[i]);
  }
};

// A routine as Python sees it.
class NotedRoutine {
 public:
  explicit NotedRoutine(nb::list inputs) : routine_(tensors_or_none(inputs)) {}
  ~NotedRoutine() { stop(); }
  NotedRoutine(const NotedRoutine&) = delete;
  NotedRoutine& operator=(const NotedRoutine&) = delete;

  bool start() { return listens_ = start_noting(routine_); }
  void stop() {
    if (listens_) stop_noting();
    listens_ = false;
  }
  int place_of(const Tensor& tensor) const { return routine_.place_of(tensor); }
  bool finish(const std::vector<int>& wanted) {
    stop();
    routine_.finish(wanted);
    return routine_.is_complete();
  }
  bool fits(nb::list inputs) const { return !thread_state().tracing && routine_.fits(tensors_or_none(inputs)); }

  Values run(nb::list inputs, bool recorded) const {
    std::vector<Tensor> tensors = tensors_or_none(inputs);
    for (Tensor& tensor : tensors) {
      if (!tensor.defined()) continue;
      tensor = alias(tensor);
      tensor.body()->requires_grad = recorded && is_differentiable(tensor.dtype());
    }
    ReleaseLock release(routine_.is_long());
    GradMode mode(recorded && thread_state().grad_mode);
    return {routine_.run(std::move(tensors))};
  }

 private:
  Routine routine_;
  bool listens_ = false;
};

// Is an attribute of all objects this very object?
bool all_have(nb::list objects, nb::str name, nb::object value) {
  for (nb::handle object : objects) {
    if (!checked(PyObject_GetAttr(object.ptr(), name.ptr())).is(value)) return false;
  }
  return true;
}

void set_on_all(nb::list objects, nb::str name, nb::object value) {
  for (nb::handle object : objects) {
    if (PyObject_SetAttr(object.ptr(), name.ptr(), value.ptr()) != 0) throw_python_error();
  }
}

PyObject* interned(const char* name) { return checked(PyUnicode_InternFromString(name)).release().ptr(); }

// Modules that should stay what they are: where they were found, with fields that are the same
// numbers, texts and tensors, or storages with the same contents.
class Watch {
 public:
  // `holders`: Tables with the modules at "module". `ignored`: names of fields that may change.
  Watch(nb::list modules, nb::list holders, nb::frozenset ignored) : ignored_(std::move(ignored)) {
    check(nb::len(modules) == nb::len(holders), "expected a holder for every module");
    for (std::size_t i = 0; i < nb::len(modules); ++i) {
      Watched& watched = watched_.emplace_back();
      watched.module = modules[i];
      watched.holder = holders[i];
      add_type(Py_TYPE(watched.module.ptr()));
      for (auto [name, value] : nb::borrow<nb::dict>(fields_of(watched.module))) {
        const bool may_change = PySet_Contains(ignored_.ptr(), name.ptr()) == 1;
        watched.fields.emplace_back(nb::borrow(name), may_change ? nb::object() : nb::borrow(value));
        if (may_change) continue;
        if (is_storage(value.ptr())) contents_.emplace_back(nb::borrow(value));
        else if (!is_plain(value.ptr())) can_watch_ = false;
      }
    }
  }

  bool can_watch() const { return can_watch_; }

  bool unchanged() const {
    for (const auto& [type, compute] : types_) {
      if (!compute_of(type).is(compute)) return false;
    }
    for (const Watched& watched : watched_) {
      if (!watched.is_held() || !watched.has_same_fields(ignored_)) return false;
    }
    for (const Contents& contents : contents_) {
      if (!contents.are_unchanged()) return false;
    }
    return true;
  }

 private:
  struct Watched {
    nb::object module, holder;
    std::vector<std::pair<nb::object, nb::object>> fields;  // names and values; without one it may change

    bool is_held() const {
      static PyObject* const parts = interned("_hash");  // where a Table has what has a name
      static PyObject* const name = interned("module");
      const nb::object named = checked(PyObject_GetAttr(holder.ptr(), parts));
      return PyDict_Check(named.ptr()) && PyDict_GetItemWithError(named.ptr(), name) == module.ptr();
    }

    bool has_same_fields(const nb::frozenset& ignored) const {
      const nb::object now = fields_of(module);
      return same_in_order(now.ptr()) || same_in_any_order(now.ptr(), ignored);
    }

    // Most often nothing has come or gone.
    bool same_in_order(PyObject* now) const {
      std::size_t i = 0;
      PyObject *name, *value;
      for (Py_ssize_t position = 0; PyDict_Next(now, &position, &name, &value); ++i) {
        if (i == fields.size() || fields[i].first.ptr() != name) return false;
        if (fields[i].second.is_valid() && fields[i].second.ptr() != value) return false;
      }
      return i == fields.size();
    }

    bool same_in_any_order(PyObject* now, const nb::frozenset& ignored) const {
      std::size_t expected = 0;
      for (const auto& [name, value] : fields) {
        if (!value.is_valid()) continue;
        ++expected;
        if (PyDict_GetItemWithError(now, name.ptr()) != value.ptr()) return false;
      }
      PyObject *name, *value;
      for (Py_ssize_t position = 0; PyDict_Next(now, &position, &name, &value);) {
        if (PySet_Contains(ignored.ptr(), name) != 1) {
          if (expected == 0) return false;
          --expected;
        }
      }
      return expected == 0;
    }
  };

  struct Contents {
    nb::object object;
    std::vector<char> bytes;

    explicit Contents(nb::object storage) : object(std::move(storage)) {
      const Storage* now = unwrap_storage(object.ptr());
      const char* data = static_cast<const char*>(now->data);
      bytes.assign(data, data + now->bytes);
    }
    bool are_unchanged() const {
      const Storage* now = unwrap_storage(object.ptr());
      return now->bytes == bytes.size() && std::equal(bytes.begin(), bytes.end(), static_cast<const char*>(now->data));
    }
  };

  static nb::object fields_of(nb::handle module) { return checked(PyObject_GenericGetDict(module.ptr(), nullptr)); }
  static nb::object compute_of(PyTypeObject* type) {
    static PyObject* const name = interned("compute");
    return checked(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name));
  }
  void add_type(PyTypeObject* type) {
    for (const auto& entry : types_) {
      if (entry.first == type) return;
    }
    types_.emplace_back(type, compute_of(type));
  }
  static bool is_plain(PyObject* value) {
    return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           PyUnicode_CheckExact(value) || is_tensor(value);
  }

  nb::frozenset ignored_;
  std::vector<std::pair<PyTypeObject*, nb::object>> types_;  // which the modules keep alive
  std::vector<Watched> watched_;
  std::vector<Contents> contents_;
  bool can_watch_ = true;
};

}  // namespace

void bind_routine(nb::module_& module) {
  nb::class_<Values>(module, "Values", "What a run of a Routine gave: tensors by place.")
      .def("at", &Values::at, nb::arg("place"), "On the tape, when the run was recorded.")
      .def("off_tape", &Values::off_tape, nb::arg("place"))
      .def("assign", &Values::assign, nb::arg("name"), nb::arg("objects"), nb::arg("places"),
           "Sets an attribute of each object to the tensor of a place, off the tape.")
      .def("gradients", &Values::gradients, nb::arg("outputs"), nb::arg("gradients"), nb::arg("leaves"),
           nb::arg("others"), "Gradients of leaves, as a list, and of other places; runs the tape, which stays.");
  nb::class_<NotedRoutine>(module, "Routine", "Calls of ops that are noted once and made again.")
      .def(nb::init<nb::list>(), nb::arg("inputs"))
      .def("start", &NotedRoutine::start, "Notes what this thread calls; False when somebody else does.")
      .def("stop", &NotedRoutine::stop)
      .def("place_of", &NotedRoutine::place_of, nb::arg("tensor"))
      .def("finish", &NotedRoutine::finish, nb::arg("wanted"),
           "Forgets all tensors; False when the calls cannot be made again.")
      .def("fits", &NotedRoutine::fits, nb::arg("inputs"), "Do these look like the first inputs?")
      .def("run", &NotedRoutine::run, nb::arg("inputs"), nb::arg("recorded"),
           "Makes the calls for other inputs, which are leaves when it is recorded.");
  module.def("all_have", all_have, nb::arg("objects"), nb::arg("name"), nb::arg("value"),
             "Is an attribute of all objects this very object?");
  module.def("set_on_all", set_on_all, nb::arg("objects"), nb::arg("name"), nb::arg("value").none());
  nb::class_<Watch>(module, "Watch", "Modules that should stay what they are.")
      .def(nb::init<nb::list, nb::list, nb::frozenset>(), nb::arg("modules"), nb::arg("holders"), nb::arg("ignored"))
      .def("can_watch", &Watch::can_watch)
      .def("unchanged", &Watch::unchanged);
}

}  // namespace relume
