#include "converters/t7/classes.h"

namespace relume::t7 {
namespace {

struct Element {
  std::string_view prefix;
  DType dtype;
  bool from_gpu;
};

// torch.<prefix>Tensor and torch.<prefix>Storage.
constexpr Element kElements[] = {
    {"Byte", DType::uint8, false},          {"Char", DType::int8, false},
    {"Short", DType::int16, false},         {"Int", DType::int32, false},
    {"Long", DType::int64, false},          {"Half", DType::float16, false},
    {"Float", DType::float32, false},       {"Double", DType::float64, false},
    {"Cuda", DType::float32, true},         {"CudaByte", DType::uint8, true},
    {"CudaChar", DType::int8, true},        {"CudaShort", DType::int16, true},
    {"CudaInt", DType::int32, true},        {"CudaLong", DType::int64, true},
    {"CudaHalf", DType::float16, true},     {"CudaDouble", DType::float64, true},
    {"Cl", DType::float32, true},
};

struct Special {
  std::string_view name;
  ClassKind kind;
};

constexpr Special kSpecial[] = {
    {"tds.Hash", ClassKind::hash},          {"tds_hash", ClassKind::hash},
    {"tds.Vec", ClassKind::vector},         {"tds_vec", ClassKind::vector},
    {"torch.Generator", ClassKind::generator},
    {"nn.GPU", ClassKind::headed},           {"nn.DataParallelTable", ClassKind::headed},
};

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (text.size() < suffix.size() || text.substr(text.size() - suffix.size()) != suffix) return false;
  text.remove_suffix(suffix.size());
  return true;
}

void classify(ClassInfo& info) {
  std::string_view name = info.name;
  for (const Special& special : kSpecial) {
    if (special.name == name) info.kind = special.kind;
  }
  if (name.substr(0, 6) != "torch.") return;
  name.remove_prefix(6);
  const bool is_tensor = remove_suffix(name, "Tensor");
  if (!is_tensor && !remove_suffix(name, "Storage")) return;
  for (const Element& element : kElements) {
    if (element.prefix != name) continue;
    info.kind = is_tensor ? ClassKind::tensor : ClassKind::storage;
    info.dtype = element.dtype;
    info.from_gpu = element.from_gpu;
  }
}

}  // namespace

ClassInfo& ClassTable::find(std::string_view name) {
  for (ClassInfo* recent : recent_) {
    if (recent && recent->name == name) return *recent;
  }
  std::unique_ptr<ClassInfo>& entry = classes_[std::string(name)];
  if (!entry) {
    entry = std::make_unique<ClassInfo>();
    entry->name = name;
    classify(*entry);
  }
  recent_[1] = recent_[0];
  recent_[0] = entry.get();
  return *entry;
}

}  // namespace relume::t7
