// The memory layout of DLPack's exchange structures (dmlc.github.io/dlpack), version 1.
#pragma once
#include <cstdint>

namespace relume::dlpack {

enum DeviceCode : int32_t { kCpu = 1, kCuda = 2 };
enum TypeCode : uint8_t { kInt = 0, kUnsigned = 1, kFloat = 2, kBFloat = 4, kComplex = 5, kBool = 6 };
enum Flags : uint64_t { kReadOnly = 1, kIsCopied = 2 };

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct View {
  void* data;
  int32_t device_type;
  int32_t device_index;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null for row-major
  uint64_t byte_offset;
};

struct Managed {
  View view;
  void* context;
  void (*deleter)(Managed*);
};

struct ManagedVersioned {
  uint32_t major_version;
  uint32_t minor_version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  View view;
};

template <class T>
struct CapsuleNames;
template <>
struct CapsuleNames<Managed> {
  static constexpr const char* fresh = "dltensor";
  static constexpr const char* used = "used_dltensor";
};
template <>
struct CapsuleNames<ManagedVersioned> {
  static constexpr const char* fresh = "dltensor_versioned";
  static constexpr const char* used = "used_dltensor_versioned";
};

}  // namespace relume::dlpack
