#include "tensor/python/error_names.h"

#include <algorithm>
#include <string>

#include "tensor/error_names.h"
#include "tensor/python/python.h"
#include "tensor/registry.h"

namespace relume {
namespace {

// Kinds with a message of their own form (KeyError, errors of the user's) stay as they are.
bool is_plain_kind(PyObject* type) {
  PyObject* const kinds[] = {PyExc_ValueError, PyExc_TypeError, PyExc_IndexError, PyExc_RuntimeError,
                             PyExc_NotImplementedError, PyExc_OverflowError};
  return std::find(std::begin(kinds), std::end(kinds), type) != std::end(kinds);
}

std::string renamed(std::string_view text, std::string_view called) {
  const std::string_view named = function_of_message(text);
  if (!named.empty() && (named == called || !find_op(named))) return std::string(text);
  std::string_view rest = text.substr(named.size());
  if (called.empty()) return std::string(rest.substr(std::min(rest.find_first_not_of("():, "), rest.size())));
  return named.empty() ? message(called, "(): ", text) : message(called, rest);
}

}  // namespace

void name_called_function(std::string_view called) {
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  if (is_plain_kind(type) && error) {
    PyErr_NormalizeException(&type, &error, &traceback);
    nb::object text = nb::steal(PyObject_Str(error));
    const char* before = text.ptr() ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
    const std::string after = before ? renamed(before, called) : std::string();
    if (before && after != before) nb::setattr(error, "args", nb::make_tuple(after.c_str()));
    if (!before) PyErr_Clear();
  }
  PyErr_Restore(type, error, traceback);
}

}  // namespace relume
