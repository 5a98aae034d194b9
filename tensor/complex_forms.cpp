#include "tensor/complex_forms.h"

#include <unordered_map>

namespace relume {
namespace {

// Made on first use: the forms register before this file's own statics may exist.
std::unordered_map<std::string_view, Kernel>& forms() {
  static std::unordered_map<std::string_view, Kernel> table;
  return table;
}

}  // namespace

ComplexForm::ComplexForm(const char* op_name, Kernel kernel) { forms().emplace(op_name, kernel); }

Kernel complex_form(const Op& op) {
  const auto found = forms().find(op.name());
  return found == forms().end() ? nullptr : found->second;
}

}  // namespace relume
