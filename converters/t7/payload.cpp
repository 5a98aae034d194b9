// Objects of classes that wrote themselves in a format of their own.
//
// Without the class nobody knows where such data ends. But what follows it must complete
// the containers that are still open, up to the last byte of the file, and hardly any
// wrong place does: the first place where it does is the end. The data is kept as bytes.
#include <cstdlib>

#include "converters/t7/format_error.h"
#include "converters/t7/reader.h"

namespace relume::t7 {

Reader::Reader(Reader& parent, int64_t offset, Builder& nothing)
    : decoder_(parent.decoder_.source(), parent.decoder_.form()),
      builder_(nothing),
      classes_(parent.classes_),
      highest_index_(parent.highest_index_),
      strict_(parent.strict_),
      parent_(&parent),
      parent_limit_(parent.frames_.back().start),
      work_left_(parent.work_left_) {
  decoder_.source().seek(offset);
  // The object whose data ended here is complete; those around it are not.
  for (size_t i = 0; i + 1 < parent.frames_.size(); ++i) {
    Frame frame = parent.frames_[i];
    frame.item.handle = frame.key.handle = nullptr;
    frame.first_entry = 0;
    frames_.push_back(frame);
  }
}

// Reads the data of the open object as bytes. `single_value_end`: where the one value ends
// that it seems to consist of, or -1. False when no end makes sense.
bool Reader::take_payload(int64_t single_value_end) {
  Frame& frame = frames_.back();
  if (frame.info->cookie) return false;  // the builder has this class: its data is a table
  if (early_layout(Era::streams, frame.info->name)) return false;  // an early file, or damage
  const int64_t start = frame.start;
  const int64_t back = decoder_.offset();
  memo_.forget_from(start, builder_);
  const int64_t end = find_payload_end(start, single_value_end);
  decoder_.source().seek(start);
  if (end < 0) {
    decoder_.source().seek(back);
    return false;
  }
  std::string data(static_cast<size_t>(end - start), '\0');
  decoder_.source().read(&data[0], data.size());
  builder_.set_payload(frame.item.handle, builder_.bytes(data), frame.index);
  return true;
}

int64_t Reader::find_payload_end(int64_t start, int64_t single_value_end) {
  const auto found = payload_ends_.find(start);
  if (found != payload_ends_.end()) return found->second;
  const int64_t size = decoder_.source().size();
  if (frames_.size() == 1) return start < size ? size : -1;  // the root: all the rest
  for (const bool to_the_last_byte : {true, false}) {
    if (single_value_end >= 0 && continues_well(single_value_end, to_the_last_byte)) return single_value_end;
    for (int64_t end = start; end <= size && --work_left_ >= 0; ++end) {
      if (may_start_object(end) && continues_well(end, to_the_last_byte)) {
        return payload_ends_[start] = end;
      }
    }
  }
  return -1;
}

// A quick look: is there the type of an object, or the end of the file?
bool Reader::may_start_object(int64_t offset) {
  Source& source = decoder_.source();
  if (offset == source.size()) return true;
  const bool is_ascii = decoder_.form().encoding == Encoding::ascii;
  source.seek(is_ascii && offset > 0 ? offset - 1 : offset);
  const std::string_view bytes = source.peek(4);
  if (is_ascii) {
    return bytes.size() >= 3 && (offset == 0 || bytes[0] == '\n') && bytes[1] >= '0' && bytes[1] <= '8';
  }
  if (bytes.size() < 4) return false;
  const char tag = decoder_.form().big_endian ? bytes[3] : bytes[0];
  const char other = decoder_.form().big_endian ? bytes[0] : bytes[3];
  return tag >= 0 && tag <= 8 && other == 0 && bytes[1] == 0 && bytes[2] == 0;
}

// Would everything from `offset` on complete what is open?
bool Reader::continues_well(int64_t offset, bool to_the_last_byte) {
  constexpr int64_t kCostOfCheck = 200;  // in values read
  work_left_ -= kCostOfCheck + static_cast<int64_t>(frames_.size());
  if (work_left_ < 0) return false;
  NullBuilder nothing;
  Reader check(*this, offset, nothing);
  const bool good = check.finish_and_check(to_the_last_byte);
  work_left_ = check.work_left_ - std::abs(decoder_.offset() - offset) / 256;
  if (good) payload_ends_.insert(check.payload_ends_.begin(), check.payload_ends_.end());
  return good;
}

bool Reader::finish_and_check(bool to_the_last_byte) {
  try {
    const Item nothing = {ItemKind::object, nullptr};
    bool complete = true;
    while (!frames_.empty() && complete) {
      complete = deliver(nothing);
      if (complete) close();
    }
    if (!frames_.empty()) run();
    while (!to_the_last_byte && !at_end()) run();
    return at_end();
  } catch (const FormatError&) {
    return false;
  }
}

}  // namespace relume::t7
