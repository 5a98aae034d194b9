// What a reader makes out of a file: Python objects, Lua objects, or nothing at all.
//
// The reader walks the file and calls the builder; the builder owns the values it makes
// and hands out handles to them. Each handle that the reader is given is one reference,
// which it gives back through a call that says "takes", or through `drop`.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace relume::t7 {

using Handle = void*;

// A key and its value. A number as a key comes as such, without a handle.
struct Entry {
  union {
    Handle key;
    double number;
  };
  Handle value = nullptr;
  bool has_number = false;
  bool is_nil = false;  // the value, which then stands for no entry at all

  Entry() : key(nullptr) {}
};

struct Entries {
  const Entry* first;
  size_t count;
  const Entry* begin() const { return first; }
  const Entry* end() const { return first + count; }
  const Entry& operator[](size_t i) const { return first[i]; }
};

enum class ClassKind : uint8_t {
  tensor, storage, hash, vector, generator,
  headed,  // writes a table before the one of its fields, which says nothing new
  other,
};

// A class name of the file and what it means.
struct ClassInfo {
  std::string name;  // as written: "torch.CudaTensor"
  ClassKind kind = ClassKind::other;
  DType dtype = DType::float32;  // of tensors and storages
  bool from_gpu = false;
  int64_t count = 0;             // objects of this class met so far
  void* cookie = nullptr;        // for the builder
};

// `version` of an object that was written before classes had versions.
constexpr double kNoVersion = 0;

class Builder {
 public:
  virtual ~Builder() = default;

  virtual Handle nil() = 0;
  virtual Handle boolean(bool value) = 0;
  virtual Handle number(double value) = 0;
  virtual Handle string(std::string_view bytes) = 0;
  virtual Handle storage(const Ref<Storage>& storage, const ClassInfo& info) = 0;
  virtual Handle tensor(const Tensor& tensor, const ClassInfo& info) = 0;

  // Containers are announced empty, so that what they hold can refer to them, and are
  // filled once everything in them is complete, long ones in several parts. Filling takes
  // the keys and the values.
  virtual Handle table() = 0;
  virtual Handle hash(const ClassInfo& info) = 0;
  virtual void fill(Handle container, Entries entries) = 0;
  virtual Handle vector(const ClassInfo& info) = 0;
  virtual void append(Handle vector, Handle value) = 0;  // takes value

  // An object's fields are a table in the file; hardly ever does anything else refer to it.
  virtual Handle object(ClassInfo& info, double version) = 0;
  virtual void fill_fields(Handle object, Entries entries) = 0;
  virtual void set_fields(Handle object, Handle table) = 0;  // takes a table met elsewhere
  virtual Handle table_of_fields(Handle object) = 0;         // a new reference
  // What a class wrote that has a format of its own: one value, or bytes nobody can split.
  // `index` is the number of the object in the file.
  virtual void set_payload(Handle object, Handle value, int32_t index) = 0;  // takes value
  virtual Handle bytes(std::string_view bytes) = 0;

  virtual Handle function(int tag, std::string_view bytecode) = 0;
  virtual void set_upvalues(Handle function, Handle upvalues) = 0;  // takes upvalues

  virtual Handle share(Handle handle) = 0;  // one more reference
  virtual void drop(Handle handle) = 0;
  virtual std::string describe_key(Handle key) = 0;  // ".weight", "[3]": for messages
};

// Checks structure only; makes nothing.
class NullBuilder final : public Builder {
 public:
  Handle nil() override { return nullptr; }
  Handle boolean(bool) override { return nullptr; }
  Handle number(double) override { return nullptr; }
  Handle string(std::string_view) override { return nullptr; }
  Handle storage(const Ref<Storage>&, const ClassInfo&) override { return nullptr; }
  Handle tensor(const Tensor&, const ClassInfo&) override { return nullptr; }
  Handle table() override { return nullptr; }
  Handle hash(const ClassInfo&) override { return nullptr; }
  void fill(Handle, Entries) override {}
  Handle vector(const ClassInfo&) override { return nullptr; }
  void append(Handle, Handle) override {}
  Handle object(ClassInfo&, double) override { return nullptr; }
  void fill_fields(Handle, Entries) override {}
  void set_fields(Handle, Handle) override {}
  Handle table_of_fields(Handle) override { return nullptr; }
  void set_payload(Handle, Handle, int32_t) override {}
  Handle bytes(std::string_view) override { return nullptr; }
  Handle function(int, std::string_view) override { return nullptr; }
  void set_upvalues(Handle, Handle) override {}
  Handle share(Handle) override { return nullptr; }
  void drop(Handle) override {}
  std::string describe_key(Handle) override { return ""; }
};

}  // namespace relume::t7
