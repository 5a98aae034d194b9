#include "tensor/storage.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tensor/error.h"
#include "tensor/memory.h"

namespace relume {

namespace {

// Memory that was replaced while somebody outside was still looking at it.
struct RetiredBlock {
  void* data;
  std::size_t bytes;
  void (*deleter)(void*);  // of memory owned elsewhere
  void* context;
  RetiredBlock* next;
};

constexpr std::size_t kHeaderBytes = (sizeof(Storage) + 63) / 64 * 64;
constexpr std::size_t kInlineBytes = kKeepsBlocks ? 128 : 0;

// The pages between two offsets of a block read as zeros from now on and use no memory.
void give_back_pages(void* data, std::size_t from, std::size_t to) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (start + from + page - 1) / page * page;
  const std::uintptr_t last = (start + to) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

// The block right behind the header goes with it.
bool is_inline(const Storage& storage, const void* data) {
  return data == reinterpret_cast<const char*>(&storage) + kHeaderBytes;
}

void free_block(Storage& storage, void* data, std::size_t bytes, void (*deleter)(void*), void* context) {
  if (deleter) {
    deleter(context);
  } else if (data && !(storage.inline_data && is_inline(storage, data))) {
    device_interface(storage.device.type).free(storage.device.index, data, bytes);
  }
}

// Before `data` changes: frees what it was, or keeps that for the foreign views of it.
void let_go_of_memory(Storage& storage) {
  if (storage.exported) {
    storage.retired = new RetiredBlock{storage.data, storage.capacity, storage.deleter, storage.context,
                                       static_cast<RetiredBlock*>(storage.retired)};
  } else {
    free_block(storage, storage.data, storage.capacity, storage.deleter, storage.context);
  }
}

}  // namespace

void* Storage::operator new(std::size_t size) { return allocate_memory(size); }
void Storage::operator delete(void* pointer, std::size_t size) { free_memory(pointer, size); }

Ref<Storage> Storage::allocate(std::size_t bytes, DType dtype, Device device) {
  if (device.type == DeviceType::cpu && bytes <= kInlineBytes) {
    char* block = static_cast<char*>(allocate_memory(kHeaderBytes + kInlineBytes));
    auto storage = Ref<Storage>::steal(::new (block) Storage);
    storage->dtype = dtype;
    storage->data = block + kHeaderBytes;
    storage->bytes = bytes;
    storage->capacity = kInlineBytes;
    storage->inline_data = true;
    return storage;
  }
  auto storage = Ref<Storage>::steal(new Storage);
  storage->dtype = dtype;
  storage->device = device;
  storage->data = device_interface(device.type).allocate(device.index, bytes);
  storage->bytes = storage->capacity = bytes;
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
  check(resizable, "cannot resize a storage whose memory belongs to somebody else (an array, a file, another process)");
  check<NotImplementedError>(device.type == DeviceType::cpu, "resizing a storage on ", device);
  if (new_bytes <= capacity) {
    if (new_bytes < bytes && !exported) give_back_pages(data, new_bytes, bytes);
    bytes = new_bytes;
    version.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  void* fresh = device_interface(device.type).allocate(device.index, new_bytes);
  std::memcpy(fresh, data, std::min(bytes, new_bytes));
  let_go_of_memory(*this);
  data = fresh;
  bytes = capacity = new_bytes;
  version.fetch_add(1, std::memory_order_relaxed);
}

void Storage::destroy(Storage* storage) {
  free_block(*storage, storage->data, storage->capacity, storage->deleter, storage->context);
  while (auto* block = static_cast<RetiredBlock*>(storage->retired)) {
    storage->retired = block->next;
    free_block(*storage, block->data, block->bytes, block->deleter, block->context);
    delete block;
  }
  if (storage->inline_data) {
    free_memory(storage, kHeaderBytes + kInlineBytes);
  } else {
    delete storage;
  }
}

void replace_memory(Storage& storage, void* data, void (*deleter)(void*), void* context) {
  let_go_of_memory(storage);
  storage.data = data;
  storage.deleter = deleter;
  storage.context = context;
  storage.capacity = 0;
  storage.resizable = false;
}

}  // namespace relume
