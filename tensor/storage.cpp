#include "tensor/storage.h"

#include <algorithm>
#include <cstring>

#include "tensor/error.h"
#include "tensor/memory.h"

namespace relume {

namespace {

// A block that a resize replaced while somebody outside was still looking at it.
struct RetiredBlock {
  void* data;
  std::size_t bytes;
  RetiredBlock* next;
};

}  // namespace

void* Storage::operator new(std::size_t size) { return allocate_memory(size); }
void Storage::operator delete(void* pointer, std::size_t size) { free_memory(pointer, size); }

Ref<Storage> Storage::allocate(std::size_t bytes, DType dtype, Device device) {
  auto storage = Ref<Storage>::steal(new Storage);
  storage->dtype = dtype;
  storage->device = device;
  storage->data = device_interface(device.type).allocate(device.index, bytes);
  storage->bytes = bytes;
  return storage;
}

Ref<Storage> Storage::wrap(void* data, std::size_t bytes, DType dtype, void (*deleter)(void*),
                           void* context) {
  auto storage = Ref<Storage>::steal(new Storage);
  storage->data = data;
  storage->bytes = bytes;
  storage->dtype = dtype;
  storage->resizable = false;
  storage->deleter = deleter;
  storage->context = context;
  return storage;
}

void Storage::resize(std::size_t new_bytes) {
  if (new_bytes == bytes) return;
  check(resizable, "cannot resize a storage whose memory belongs to somebody else (an array, a file)");
  const DeviceInterface& memory = device_interface(device.type);
  void* fresh = memory.allocate(device.index, new_bytes);
  check<NotImplementedError>(device.type == DeviceType::cpu, "resizing a storage on ", device);
  std::memcpy(fresh, data, std::min(bytes, new_bytes));
  if (exported) {
    retired = new RetiredBlock{data, bytes, static_cast<RetiredBlock*>(retired)};
  } else {
    memory.free(device.index, data, bytes);
  }
  data = fresh;
  bytes = new_bytes;
  version.fetch_add(1, std::memory_order_relaxed);
}

void Storage::destroy(Storage* storage) {
  if (storage->deleter) {
    storage->deleter(storage->context);
  } else if (storage->data) {
    const DeviceInterface& memory = device_interface(storage->device.type);
    memory.free(storage->device.index, storage->data, storage->bytes);
    for (auto* block = static_cast<RetiredBlock*>(storage->retired); block;) {
      RetiredBlock* next = block->next;
      memory.free(storage->device.index, block->data, block->bytes);
      delete block;
      block = next;
    }
  }
  delete storage;
}

}  // namespace relume
