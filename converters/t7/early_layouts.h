// How objects were written in 2011, before every object was a table of its fields.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace relume::t7 {

enum class Era : uint8_t {
  standard,
  // The root is the bare table of an nn.Sequential, and some classes wrote the values of
  // their fields a second time after the table.
  tables,
  // The root is an nn.Sequential without a head, and every class wrote the values of its
  // fields one after the other, without their names.
  streams,
};

struct EarlyField {
  enum class Kind : uint8_t { integer, real, object };
  Kind kind;
  std::string name;
};
using EarlyLayout = std::vector<EarlyField>;

// What a class writes in that era (after its table, in the era of tables); null where it
// writes nothing of its own.
const EarlyLayout* early_layout(Era era, std::string_view class_name);

constexpr const char* kEarlyRoot = "nn.Sequential";

}  // namespace relume::t7
