// Tuples with names for their items, as results of ops that give several tensors.
#pragma once
#include "tensor/python/python.h"
#include "tensor/registry.h"

namespace relume {

// A subclass of tuple whose items are attributes too; nullptr where the op's results have no names.
PyTypeObject* named_result_type(const Op& op);

// Makes the types attributes of the module, where pickle looks for them.
void bind_named_results(nb::module_& module);

}  // namespace relume
