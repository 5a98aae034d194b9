// The registry of ops. Every operation is registered once, in the file of its kernel:
//
//   const Register reg_exp{"exp(Tensor self) -> Tensor", "Exponential of each element.",
//                          {Trait::elementwise}, exp_cpu};
//
// Five readers use it: the Python functions and methods (tensor/binding), the Lua side
// (the C ABI), the tape (autograd), the tracer, and the documentation and stubs.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tensor/value.h"

namespace relume {

struct Call;

// Schema grammar: NAME(ARGUMENT, ..., *, ARGUMENT, ...) -> RETURN
//   ARGUMENT  TYPE NAME [= DEFAULT]      after '*' keyword-only
//   TYPE      Tensor  Tensor?  Tensor|Scalar  Tensor[]  Tensor?[]  Scalar  Scalar?  int  int?
//             int[]  int[]?  (a single int is accepted for int[])  float  float?  bool  bool?
//             dtype  dtype?  str  str?
//   DEFAULT   None  True  False  3  0.5  'text'  [] (the empty list)  [1, 1]
//   RETURN    Tensor | (Tensor, Tensor) | Tensor[]
enum class ArgumentType : uint8_t {
  tensor, tensor_or_scalar, tensors, scalar, integer, integers, real, boolean, dtype, text,
};

struct Argument {
  std::string name;
  std::string type_name;  // as written: "Tensor?", "int[]"
  ArgumentType type;
  bool optional = false;      // None is accepted
  bool keyword_only = false;
  bool has_default = false;
  Value default_value;
  std::string default_text;   // as written, for documentation
  std::vector<int64_t> default_integers;  // what default_value points to
  std::string default_string;
};

struct Schema {
  std::string text;
  std::string name;
  std::vector<Argument> arguments;
  int positional = 0;     // how many arguments may be given by position
  int return_count = 1;   // of tensors; 0 when it returns a list
  bool returns_list = false;

  // Throws ValueError with the place of a mistake.
  static Schema parse(std::string_view text);
};

enum class Trait : uint8_t {
  composite,         // written in terms of other ops, which the tape records: has no derivative of
                     // its own; not elementwise, in place or a view
  elementwise,       // output[i] depends on inputs[i] only: out= may be an input itself;
                     // inputs broadcast, and the tape sums gradients back to their shapes
  view,              // outputs look at the memory of the first argument
  not_differentiable,  // no gradient flows, by mathematics (comparison, argmax, integers)
  no_out,            // has no out= form
  no_in_place,       // has no in-place form (elementwise ops have one unless this is set)
  takes_complex,     // its kernel computes complex types too (as elementwise ops do where they
                     // have loops, views and composite ops always)
  not_holomorphic,   // its derivative row is written for complex inputs; of any other op it is
                     // the one of the real formula, which the tape conjugates
  in_place,          // changes its first argument and returns it (copy_, fill_, zero_)
  random,            // draws from a generator: not repeatable, not for common subexpressions
  no_method,         // a function only, no Tensor method
  method_only,       // a Tensor method only, no function in `relume`
  internal,          // for other ops (fused backward kernels): no public face
};

using Kernel = void (*)(Call& call);

struct Derivative;  // autograd/derivative.h

struct Op {
  Schema schema;
  std::string documentation;
  uint32_t traits = 0;
  int id = 0;                           // position in the registry; stable within a process
  Kernel kernels[kDeviceTypeCount] = {};
  const Derivative* derivative = nullptr;

  const std::string& name() const { return schema.name; }
  bool has(Trait trait) const { return traits & (1u << static_cast<int>(trait)); }
  bool has_in_place_form() const {
    return (has(Trait::elementwise) && !has(Trait::no_in_place) && schema.return_count == 1);
  }
};

// All ops, by id. Ops stay where they are: pointers to them are good for ever.
const std::vector<Op*>& all_ops();
// nullptr when there is none of that name.
Op* find_op(std::string_view name);
// Throws Error when there is none.
Op& get_op(std::string_view name);

// Registers at static initialisation. A second registration of a name is a bug and aborts.
struct Register {
  Register(const char* schema, const char* documentation, std::initializer_list<Trait> traits,
           Kernel cpu_kernel);
};
// The same text for the life of the process (for texts that outlive their argument).
const char* intern(std::string_view text);

// Adds a kernel for another device, at any time.
void register_kernel(std::string_view op_name, DeviceType device, Kernel kernel);

}  // namespace relume
