// Storages that several processes look at.
//
// Their memory is an anonymous file (memfd) without a name: whoever has the descriptor can
// map it, and the kernel frees it when the last mapping and descriptor are gone, however
// the processes ended.
#pragma once
#include "tensor/storage.h"

namespace relume {

// Fresh shared memory, all zeros. Throws std::bad_alloc.
Ref<Storage> allocate_shared(std::size_t bytes, DType dtype);

// Moves the contents into shared memory; tensors on the storage follow, while foreign
// views (NumPy, DLPack) stay behind on the old memory. Does nothing when it is shared.
void share(Storage& storage);

bool is_shared(const Storage& storage);
// The file behind a shared storage, which owns it.
int shared_descriptor(const Storage& storage);

// A storage on the first `bytes` bytes of shared memory that another process made. Takes
// the descriptor over. Memory that this process has mapped already is not mapped again.
Ref<Storage> open_shared(int descriptor, std::size_t bytes, DType dtype);

// Makes a storage look at memory owned elsewhere, as Storage::wrap() does. What it owned is
// freed, or stays for the foreign views of it.
void replace_memory(Storage& storage, void* data, void (*deleter)(void*), void* context);

}  // namespace relume
