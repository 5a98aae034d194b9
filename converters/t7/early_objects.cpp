// Objects as they were written in 2011: values in an agreed order, without names.
#include "converters/t7/format_error.h"
#include "converters/t7/reader.h"

namespace relume::t7 {

// The file starts in the middle of its first object: after what would name its class.
void Reader::open_early_root() {
  ClassInfo& info = classes_->find(kEarlyRoot);
  ++info.count;
  const Item item = {ItemKind::object, builder_.object(info, 1)};
  if (era_ == Era::streams) {
    open_early(item, info);
  } else {
    push(FrameKind::object, item, 1, &info);
  }
  early_objects_ = 0;  // the root is only assumed
}

void Reader::open_early(const Item& item, ClassInfo& info) {
  const EarlyLayout* layout = early_layout(Era::streams, info.name);
  if (!layout) {
    builder_.drop(item.handle);
    fail("damaged", decoder_.offset(), "nobody knows how the class ", info.name, " was written in 2011");
  }
  push(FrameKind::early, item, 1, &info);
  frames_.back().layout = layout;
  ++early_objects_;
}

// In the era of tables some objects repeat the values that they had in their table.
bool Reader::continue_early(Frame& frame) {
  frame.layout = frame.kind == FrameKind::object ? early_layout(era_, frame.info->name) : nullptr;
  if (!frame.layout) return false;
  frame.kind = FrameKind::early;
  frame.repeated = true;
  ++early_objects_;
  return true;
}

// Reads numbers up to the next object of the layout; true when it is complete.
bool Reader::read_early_numbers() {
  Frame& frame = frames_.back();
  while (frame.position < frame.layout->size()) {
    const EarlyField& field = (*frame.layout)[frame.position];
    if (field.kind == EarlyField::Kind::object) return false;
    const double value = field.kind == EarlyField::Kind::integer ? decoder_.read_int() : decoder_.read_double();
    deliver_early(frame, {ItemKind::number, builder_.number(value)});
  }
  return true;
}

// Puts a value at its place in the layout; true when that completes the object.
bool Reader::deliver_early(Frame& frame, const Item& item) {
  if (frame.repeated) {
    builder_.drop(item.handle);
  } else {
    frame.key = {ItemKind::string, builder_.string((*frame.layout)[frame.position].name)};
    add_entry(frame, item);
  }
  return ++frame.position == frame.layout->size();
}

}  // namespace relume::t7
