#include "tensor/python/named_results.h"

#include <unordered_map>

namespace relume {
namespace {

struct Names {
  const char* type_name;
  PyStructSequence_Field fields[3];  // ended by an empty one
};

Names values_and_indices{"relume.values_and_indices",
                         {{"values", "The elements."}, {"indices", "Where they stand, 0-based."}, {}}};
Names extremes{"relume.extremes", {{"min", "The smallest element."}, {"max", "The largest element."}, {}}};
Names parts{"relume.mantissa_and_exponent",
            {{"mantissa", "The digits."}, {"exponent", "The power of two."}, {}}};

struct Row {
  const char* op;
  Names* names;
};
const Row kRows[] = {
    {"sort", &values_and_indices},
    {"topk", &values_and_indices},
    {"kthvalue", &values_and_indices},
    {"mode", &values_and_indices},
    {"median_with_indices", &values_and_indices},
    {"nanmedian_with_indices", &values_and_indices},
    {"max_with_indices", &values_and_indices},
    {"min_with_indices", &values_and_indices},
    {"cummax", &values_and_indices},
    {"cummin", &values_and_indices},
    {"aminmax", &extremes},
    {"frexp", &parts},
};

PyTypeObject* make_type(Names& names) {
  PyStructSequence_Desc description{names.type_name, "A tuple whose items have names.", names.fields, 2};
  PyTypeObject* type = PyStructSequence_NewType(&description);
  if (!type) throw_python_error();
  return type;
}

// By the op's id; made once, with the GIL held, and kept for ever.
std::unordered_map<int, PyTypeObject*> make_types() {
  std::unordered_map<Names*, PyTypeObject*> types;
  std::unordered_map<int, PyTypeObject*> by_op;
  for (const Row& row : kRows) {
    PyTypeObject*& type = types[row.names];
    if (!type) type = make_type(*row.names);
    by_op[get_op(row.op).id] = type;
  }
  return by_op;
}
const std::unordered_map<int, PyTypeObject*>& types_by_op() {
  static const auto* types = new std::unordered_map<int, PyTypeObject*>(make_types());
  return *types;
}

}  // namespace

PyTypeObject* named_result_type(const Op& op) {
  const auto found = types_by_op().find(op.id);
  return found == types_by_op().end() ? nullptr : found->second;
}

void bind_named_results(nb::module_& module) {
  for (const auto& [id, type] : types_by_op()) {
    const nb::object object = nb::borrow(reinterpret_cast<PyObject*>(type));
    object.attr("__module__") = module.attr("__name__");
    module.attr(object.attr("__name__")) = object;
  }
}

}  // namespace relume
