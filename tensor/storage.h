// A block of memory that any number of tensors look at.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/ref.h"

namespace relume {

// The first fields are read by LuaJIT's FFI (bridge/lua); keep the two in step.
struct Storage {
  void* data = nullptr;
  std::size_t bytes = 0;
  DType dtype = DType::float32;
  Device device;
  bool resizable = true;  // false for memory that somebody else owns
  bool exported = false;  // a foreign view (NumPy, DLPack) holds `data`: never move it
  // Counts in-place changes, so that the tape notices when a saved tensor was changed.
  std::atomic<uint32_t> version{0};

  RefCount references;
  void (*deleter)(void* context) = nullptr;  // for foreign memory
  void* context = nullptr;
  std::size_t capacity = 0;        // bytes at `data` of memory that this storage owns
  bool inline_data = false;        // a small block right behind this header
  void* retired = nullptr;         // exported blocks that a resize replaced, freed with this
  void* python_object = nullptr;   // borrowed; the wrapper clears it

  // Fresh memory, not initialised. Throws std::bad_alloc.
  static Ref<Storage> allocate(std::size_t bytes, DType dtype, Device device = {});
  // Memory owned elsewhere: `deleter(context)` runs when the last user goes. A deleter
  // that touches Python takes Python's lock itself.
  static Ref<Storage> wrap(void* data, std::size_t bytes, DType dtype, void (*deleter)(void*),
                           void* context);

  std::size_t size() const { return bytes / item_size(dtype); }  // elements
  // Keeps the common prefix of the contents. Throws ValueError when not resizable. A block
  // that shrinks stays where it is, since other tensors may look at all of it; pages that
  // nobody should need any more go back to the system.
  void resize(std::size_t new_bytes);

  void retain() { references.increment(); }
  void release() {
    if (references.decrement()) destroy(this);
  }

  static void* operator new(std::size_t size);
  static void operator delete(void* pointer, std::size_t size);

 private:
  static void destroy(Storage* storage);
};

}  // namespace relume
