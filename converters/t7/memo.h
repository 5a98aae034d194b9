// The objects of a file by their index, so that a later reference finds the same object.
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "converters/t7/builder.h"

namespace relume::t7 {

enum class ItemKind : uint8_t {
  nil, number, not_a_number, boolean, string,
  open_fields,  // the table of an object's fields, while it is read
  fields,       // afterwards; its handle is the object
  table, storage, tensor, object, function,
  unfinished,  // an object whose head is being read: nothing may refer to it yet
};

// One value of the file while the reader carries it around.
struct Item {
  ItemKind kind = ItemKind::nil;
  Handle handle = nullptr;
  double number = 0;  // a number that is a key has no handle
};

// A storage, for the tensors that look at it.
struct StorageRecord {
  const ClassInfo* info = nullptr;
  int64_t elements = 0;
  Ref<Storage> storage;  // null while only the structure is checked
};

struct MemoEntry {
  Handle handle = nullptr;  // one reference
  int64_t offset = 0;       // in the file, where the object was met
  ItemKind kind = ItemKind::nil;
  bool used = false;
  int32_t storage = -1;     // which StorageRecord
};

class Memo {
 public:
  MemoEntry* find(int32_t index) {
    if (index >= 1 && index <= static_cast<int64_t>(dense_.size())) {
      MemoEntry& entry = dense_[static_cast<size_t>(index) - 1];
      return entry.used ? &entry : nullptr;
    }
    if (sparse_.empty()) return nullptr;
    const auto found = sparse_.find(index);
    return found == sparse_.end() ? nullptr : &found->second;
  }

  // Indices count up from 1 in the files that Torch7 writes; any other is welcome too.
  MemoEntry& add(int32_t index, ItemKind kind, Handle handle, int64_t offset) {
    if (index == static_cast<int64_t>(dense_.size()) + 1) dense_.emplace_back();
    const bool is_dense = index >= 1 && index <= static_cast<int64_t>(dense_.size());
    MemoEntry& entry = is_dense ? dense_[static_cast<size_t>(index) - 1] : sparse_[index];
    entry.kind = kind;
    entry.handle = handle;
    entry.used = true;
    entry.offset = offset;
    newest_ = std::max(newest_, offset);
    return entry;
  }

  void add_storage(int32_t index, StorageRecord record, int64_t offset) {
    add(index, ItemKind::storage, nullptr, offset).storage = static_cast<int32_t>(storages_.size());
    storages_.push_back(std::move(record));
  }
  const StorageRecord& storage_of(const MemoEntry& entry) const {
    return storages_[static_cast<size_t>(entry.storage)];
  }

  // Forgets the objects that were met at `offset` or later.
  void forget_from(int64_t offset, Builder& builder) {
    if (newest_ < offset) return;
    for (MemoEntry& entry : dense_) {
      if (entry.used && entry.offset >= offset) {
        builder.drop(entry.handle);
        entry = MemoEntry();
      }
    }
    for (auto entry = sparse_.begin(); entry != sparse_.end();) {
      if (entry->second.offset < offset) {
        ++entry;
        continue;
      }
      builder.drop(entry->second.handle);
      entry = sparse_.erase(entry);
    }
  }

 private:
  int64_t newest_ = -1;
  std::vector<MemoEntry> dense_;
  std::unordered_map<int32_t, MemoEntry> sparse_;
  std::vector<StorageRecord> storages_;
};

}  // namespace relume::t7
