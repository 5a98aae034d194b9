// Python objects as arguments of ops.
#pragma once
#include <list>
#include <memory>
#include <vector>

#include "tensor/python/tensor_object.h"
#include "tensor/registry.h"

namespace relume {

// Everything that the Values of one call borrow: integer lists, tensor lists, tensors made
// on the way. Lives on the stack for the time of the call.
class ArgumentMemory {
 public:
  ArgumentMemory() = default;
  ArgumentMemory(const ArgumentMemory&) = delete;
  ArgumentMemory& operator=(const ArgumentMemory&) = delete;
  ~ArgumentMemory() {
    while (kept_count_ > 0) kept_[--kept_count_]->release();
  }

  // Room for `count` integers that stays in place as long as this object.
  int64_t* integers(int count);
  TensorBody** tensors(int count);
  Value complex(Complex128 number);
  TensorBody* keep(Tensor tensor);
  const char* keep(nb::object text, const char* characters);

 private:
  static constexpr int kInline = 32;
  static constexpr int kInlineTensors = 8;
  // What most calls do without.
  struct Rest {
    std::vector<std::vector<int64_t>> integers;
    std::vector<std::vector<TensorBody*>> tensor_lists;
    std::vector<Tensor> tensors;
    std::vector<nb::object> objects;
    std::list<Complex128> complex_numbers;  // which stay where they are
  };
  Rest& rest() {
    if (!rest_) rest_ = std::make_unique<Rest>();
    return *rest_;
  }

  int64_t inline_integers_[kInline];
  int used_ = 0;
  TensorBody* inline_list_[kInlineTensors];
  int listed_ = 0;
  TensorBody* kept_[kInlineTensors];  // each counted once
  int kept_count_ = 0;
  std::unique_ptr<Rest> rest_;
};

// Which argument a value is for, for messages: "sum(): argument 'dim'".
struct ArgumentPlace {
  const char* function;
  const Argument* argument;
};

// Converts one argument; throws TypeError, ValueError or the Python exception.
Value to_value(PyObject* object, const ArgumentPlace& place, ArgumentMemory& memory);
// The values of `count` objects as one int[] argument: t.reshape(2, 3).
Value to_integers(PyObject* const* objects, int count, const ArgumentPlace& place, ArgumentMemory& memory);

// A real Python or NumPy number (or an element-less wrapper of one); false when it is none.
bool number_value(PyObject* object, Value& value);
// The same for complex numbers.
bool complex_number(PyObject* object, Complex128& number);
bool complex_value(PyObject* object, Value& value, ArgumentMemory& memory);

// Operand of a binary operator: a tensor, a number or a NumPy array (shared). False when
// the operator is not ours to compute.
bool operand_value(PyObject* object, Value& value, ArgumentMemory& memory);

// dtype objects: relume.float32 and its kin, registered once by tensor/dtypes.py.
PyObject* dtype_object(DType dtype);  // borrowed
// A relume dtype, its name, a NumPy dtype or one of Python's bool, int, float.
DType to_dtype(PyObject* object);
// Same, with None standing for `otherwise`.
DType to_dtype_or(PyObject* object, DType otherwise);
void register_dtypes(nb::list dtypes);

bool is_numpy_array(PyObject* object);
bool is_numpy_scalar(PyObject* object);

}  // namespace relume
