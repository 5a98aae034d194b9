#include "autograd/derivative.h"

#include <unordered_map>

namespace relume {
namespace {

// Rows may be read before the op they belong to is registered (static initialisation has
// no order between files), so they wait here by name.
std::unordered_map<std::string, Derivative>& derivatives() {
  static auto* table = new std::unordered_map<std::string, Derivative>;
  return *table;
}

}  // namespace

Saves Derivative::saves_for(uint32_t arguments) const {
  if (joint) return joint_saves;
  Saves result = 0;
  for (const Gradient& gradient : gradients) {
    if (arguments & (1u << gradient.argument)) result |= gradient.saves;
  }
  return result;
}

Derive::Derive(const char* op, std::initializer_list<Gradient> gradients) {
  derivatives()[op].gradients.assign(gradients.begin(), gradients.end());
}

Derive::Derive(const char* op, Saves saves, void (*joint)(Backward&)) {
  Derivative& derivative = derivatives()[op];
  derivative.joint_saves = saves;
  derivative.joint = joint;
}

const Derivative* find_derivative(const std::string& op) {
  auto found = derivatives().find(op);
  return found == derivatives().end() ? nullptr : &found->second;
}

}  // namespace relume
