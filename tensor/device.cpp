#include "tensor/device.h"

#include <cstring>

#include "tensor/error.h"
#include "tensor/memory.h"

namespace relume {
namespace {

const DeviceInterface kCpu = {
    [](int, std::size_t bytes) { return allocate_memory(bytes); },
    [](int, void* pointer, std::size_t bytes) { free_memory(pointer, bytes); },
    [](int, void* target, const void* source, std::size_t bytes) { std::memcpy(target, source, bytes); },
    [](int, void* target, const void* source, std::size_t bytes) { std::memcpy(target, source, bytes); },
};

const DeviceInterface* devices[kDeviceTypeCount] = {&kCpu, nullptr};
constexpr const char* kNames[kDeviceTypeCount] = {"cpu", "cuda"};

}  // namespace

void register_device(DeviceType type, const DeviceInterface* device) {
  devices[static_cast<int>(type)] = device;
}

bool device_available(DeviceType type) { return devices[static_cast<int>(type)] != nullptr; }

const DeviceInterface& device_interface(DeviceType type) {
  const DeviceInterface* device = devices[static_cast<int>(type)];
  if (!device) {
    throw Error(message("no ", kNames[static_cast<int>(type)], " device is available in this process"));
  }
  return *device;
}

std::string to_string(Device device) {
  std::string text = kNames[static_cast<int>(device.type)];
  if (device.type != DeviceType::cpu) text += ":" + std::to_string(device.index);
  return text;
}

std::ostream& operator<<(std::ostream& stream, Device device) { return stream << to_string(device); }

Device device_from_string(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string type = text.substr(0, colon);
  int index = 0;
  if (colon != std::string::npos) {
    const std::string digits = text.substr(colon + 1);
    check(!digits.empty() && digits.size() <= 2 && digits.find_first_not_of("0123456789") == std::string::npos,
          "expected a device such as 'cpu' or 'cuda:0', got '", text, "'");
    index = std::stoi(digits);
  }
  for (int i = 0; i < kDeviceTypeCount; ++i) {
    if (type == kNames[i]) return Device{static_cast<DeviceType>(i), static_cast<int8_t>(index)};
  }
  throw ValueError(message("expected a device such as 'cpu' or 'cuda:0', got '", text, "'"));
}

}  // namespace relume
