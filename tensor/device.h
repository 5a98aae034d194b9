// Where memory lives. A device type is a small table of functions, so that another
// one (a GPU) can be added at run time without touching this room.
#pragma once
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>

namespace relume {

enum class DeviceType : uint8_t { cpu, cuda };
constexpr int kDeviceTypeCount = 2;

struct Device {
  DeviceType type = DeviceType::cpu;
  int8_t index = 0;
  bool operator==(const Device& other) const { return type == other.type && index == other.index; }
  bool operator!=(const Device& other) const { return !(*this == other); }
};

struct DeviceInterface {
  // All sizes in bytes. `allocate` throws std::bad_alloc; its memory is 64-byte aligned.
  void* (*allocate)(int index, std::size_t bytes);
  void (*free)(int index, void* pointer, std::size_t bytes);
  void (*copy_from_host)(int index, void* target, const void* source, std::size_t bytes);
  void (*copy_to_host)(int index, void* target, const void* source, std::size_t bytes);
};

void register_device(DeviceType type, const DeviceInterface* device);
// Throws Error when this build has no such device.
const DeviceInterface& device_interface(DeviceType type);
bool device_available(DeviceType type);

std::string to_string(Device device);                // "cpu", "cuda:0"
std::ostream& operator<<(std::ostream& stream, Device device);
Device device_from_string(const std::string& text);  // throws ValueError

}  // namespace relume
