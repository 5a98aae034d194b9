// The classes that Torch7 packages write in a format of their own.
#pragma once
#include <memory>
#include <string_view>
#include <unordered_map>

#include "converters/t7/builder.h"

namespace relume::t7 {

// The classes of one file, by name.
class ClassTable {
 public:
  ClassInfo& find(std::string_view name);
  const std::unordered_map<std::string, std::unique_ptr<ClassInfo>>& all() const { return classes_; }

 private:
  std::unordered_map<std::string, std::unique_ptr<ClassInfo>> classes_;
  ClassInfo* recent_[2] = {nullptr, nullptr};  // tensors and their storages alternate
};

}  // namespace relume::t7
