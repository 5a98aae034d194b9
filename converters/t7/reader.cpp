#include "converters/t7/reader.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "converters/t7/format_error.h"

namespace relume::t7 {
namespace {

constexpr int64_t kGeneratorBytes = 5048;  // Torch7's C struct, on 64-bit machines

// "V 3" and "V 3.0" are versions; anything else is the class name of an older file.
bool parse_version(std::string_view text, double& version) {
  if (text.substr(0, 2) != "V ") return false;
  if (text.size() == 3 && text[2] >= '0' && text[2] <= '9') {
    version = text[2] - '0';
    return true;
  }
  const std::string number(text.substr(2));
  char* end = nullptr;
  version = std::strtod(number.c_str(), &end);
  return end != number.c_str() && *end == '\0';
}

const char* kind_name(ItemKind kind) {
  switch (kind) {
    case ItemKind::nil: return "nil";
    case ItemKind::number:
    case ItemKind::not_a_number: return "a number";
    case ItemKind::boolean: return "a boolean";
    case ItemKind::string: return "a string";
    case ItemKind::open_fields:
    case ItemKind::fields:
    case ItemKind::table: return "a table";
    case ItemKind::storage: return "a storage";
    case ItemKind::tensor: return "a tensor";
    case ItemKind::object: return "an object";
    case ItemKind::function: return "a function";
    case ItemKind::unfinished: return "an object that is still being read";
  }
  return "";
}

struct Geometry {
  int ndim = 0;
  int64_t shape[kMaxDims];
  int64_t strides[kMaxDims];
  int64_t offset = 0;

  IntSpan sizes() const { return {shape, ndim}; }
  IntSpan steps() const { return {strides, ndim}; }
};

// Throws unless every element lies inside the storage.
void check_geometry(Geometry& view, int64_t elements, bool has_storage, int64_t at) {
  int64_t numel = 1;
  bool empty = false;
  for (const int64_t size : view.sizes()) {
    if (size < 0) fail("damaged", at, "a tensor has the negative size ", size);
    empty = empty || size == 0;
  }
  if (empty) {
    // Where an empty tensor points does not matter; absurd values mean misread longs.
    constexpr int64_t kAbsurd = int64_t{1} << 31;
    if (view.offset >= kAbsurd) fail("damaged", at, "an empty tensor has the offset ", view.offset + 1);
    if (view.offset < 0 || view.offset > elements) view.offset = 0;
    return;
  }
  for (const int64_t size : view.sizes()) {
    if (__builtin_mul_overflow(numel, size, &numel)) {
      fail("damaged", at, "a tensor has too many elements: its shape is ", to_string(view.sizes()));
    }
  }
  if (!has_storage) {
    fail("damaged", at, "a tensor of shape ", to_string(view.sizes()), " has no storage");
  }
  if (view.offset < 0) fail("damaged", at, "a tensor's offset is ", view.offset + 1, "; offsets count from 1");
  int64_t last = view.offset;
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] < 0) fail("damaged", at, "a tensor has the negative stride ", view.strides[i]);
    int64_t reach;
    if (__builtin_mul_overflow(view.shape[i] - 1, view.strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      last = INT64_MAX;
      break;
    }
  }
  if (last >= elements) {
    fail("damaged", at, "a tensor of shape ", to_string(view.sizes()), ", strides ",
         to_string(view.steps()), " and offset ", view.offset + 1,
         " reaches outside of its storage of ", elements, " elements");
  }
}

}  // namespace

Reader::Reader(Source& source, const Form& form, Builder& builder, bool strict, Era era)
    : decoder_(source, form), builder_(builder), strict_(strict), era_(era) {}

Reader::~Reader() {
  for (const Frame& frame : frames_) {
    if (frame.has_key) builder_.drop(frame.key.handle);
    builder_.drop(frame.item.handle);
  }
  for (const Entry& entry : entries_) {
    if (!entry.has_number) builder_.drop(entry.key);
    builder_.drop(entry.value);
  }
  memo_.forget_from(INT64_MIN, builder_);
}

Handle Reader::read_object() {
  try {
    if (era_ != Era::standard) open_early_root();
    return run().handle;
  } catch (FormatError& error) {
    if (error.path.empty()) error.path = path();
    throw;
  }
}

// Reads one value after the other; what is complete goes to the container below.
Item Reader::run() {
  while (true) {
    if (parent_ && --work_left_ < 0) fail("damaged", decoder_.offset(), "gave up checking");
    Item item;
    if (!read_next(item)) {
      if (frames_.back().remaining > 0) continue;
      item = close();
    }
    while (!frames_.empty() && deliver(item)) item = close();
    if (frames_.empty()) return item;
  }
}

// True: `item` is complete. False: a container was opened, or goes on.
bool Reader::read_next(Item& item) {
  if (frames_.empty()) return !open(item);
  const FrameKind kind = frames_.back().kind;
  if (kind == FrameKind::early && read_early_numbers()) {
    item = close();
    return true;
  }
  if (kind != FrameKind::object) return !open(item);
  const size_t depth = frames_.size();
  try {
    return !open(item);
  } catch (const FormatError&) {
    // Not even the start of a table: the class may have a format of its own.
    if (frames_.size() != depth || !take_payload(-1)) throw;
    item = close();
    return true;
  }
}

void Reader::push(FrameKind kind, const Item& item, int64_t remaining, ClassInfo* info) {
  Frame frame;
  frame.kind = kind;
  frame.item = item;
  frame.remaining = remaining;
  frame.info = info;
  frame.start = decoder_.offset();
  frame.first_entry = entries_.size();
  frames_.push_back(frame);
}

// Completes the innermost container.
Item Reader::close() {
  const Frame frame = frames_.back();
  if (frame.kind != FrameKind::vector && !frame.repeated) hand_over_entries(frame);
  if (frame.kind == FrameKind::fields) {
    if (MemoEntry* entry = memo_.find(frame.index)) entry->kind = ItemKind::fields;
  }
  frames_.pop_back();
  return frame.item;
}

void Reader::hand_over_entries(const Frame& frame) {
  const Entries entries{entries_.data() + frame.first_entry, entries_.size() - frame.first_entry};
  try {
    if (frame.kind == FrameKind::table) builder_.fill(frame.item.handle, entries);
    if (frame.kind == FrameKind::fields || frame.kind == FrameKind::early) {
      builder_.fill_fields(frame.item.handle, entries);
    }
  } catch (...) {
    entries_.resize(frame.first_entry);  // the builder has taken them
    throw;
  }
  entries_.resize(frame.first_entry);
}

bool Reader::expects_key() const {
  if (frames_.empty()) return false;
  const Frame& frame = frames_.back();
  return !frame.has_key && (frame.kind == FrameKind::table || frame.kind == FrameKind::fields);
}

// Puts a complete value into the open container; true when that was the last one.
bool Reader::deliver(Item item) {
  Frame& frame = frames_.back();
  switch (frame.kind) {
    case FrameKind::table:
    case FrameKind::fields:
      if (frame.has_key) {
        add_entry(frame, item);
        return --frame.remaining == 0;
      }
      if (item.kind == ItemKind::nil || item.kind == ItemKind::not_a_number) {
        builder_.drop(item.handle);
        fail("damaged", decoder_.offset(), "a table has ", item.kind == ItemKind::nil ? "nil" : "NaN",
             " as a key");
      }
      frame.key = item;
      frame.has_key = true;
      return false;
    case FrameKind::vector:
      builder_.append(frame.item.handle, item.handle);
      return --frame.remaining == 0;
    case FrameKind::object:
      if (--frame.remaining > 0) {  // the header
        builder_.drop(item.handle);
        return false;
      }
      deliver_fields(frame, item);
      return !continue_early(frame);
    case FrameKind::early:
      return deliver_early(frame, item);
    case FrameKind::function:
      if (item.kind != ItemKind::table) {
        builder_.drop(item.handle);
        fail("damaged", decoder_.offset(), "the upvalues of a function are ", kind_name(item.kind),
             ", not a table");
      }
      builder_.set_upvalues(frame.item.handle, item.handle);
      return true;
  }
  return true;
}

void Reader::add_entry(Frame& frame, const Item& value) {
  if (parent_ && value.kind == ItemKind::nil) fail("damaged", decoder_.offset(), "nil in a table");
  constexpr size_t kMostAtOnce = 4096;
  Entry entry;
  entry.has_number = frame.key.kind == ItemKind::number;
  if (entry.has_number) {
    entry.number = frame.key.number;
  } else {
    entry.key = frame.key.handle;
  }
  entry.value = value.handle;
  entry.is_nil = value.kind == ItemKind::nil;
  entries_.push_back(entry);
  frame.has_key = false;
  if (frame.kind == FrameKind::table && entries_.size() - frame.first_entry >= kMostAtOnce) {
    hand_over_entries(frame);
  }
}

void Reader::deliver_fields(Frame& frame, Item item) {
  if (item.kind == ItemKind::fields) return builder_.drop(item.handle);  // they are in place
  if (item.kind == ItemKind::table) return builder_.set_fields(frame.item.handle, item.handle);
  const int64_t end = decoder_.offset();
  builder_.drop(item.handle);
  if (!take_payload(end)) {
    fail("damaged", frame.start, "the fields of an object of class ", frame.info->name, " are ",
         kind_name(item.kind), ", not a table");
  }
}

// Reads the head of the next value. False: it is a container, now open as a frame.
bool Reader::open(Item& item) {
  const int64_t at = decoder_.offset();
  const int32_t tag = decoder_.read_int();
  switch (tag) {
    case kNil:
      item = {ItemKind::nil, builder_.nil()};
      return false;
    case kNumber: {
      const double value = decoder_.read_double();
      item.kind = std::isnan(value) ? ItemKind::not_a_number : ItemKind::number;
      item.number = value;
      if (!expects_key()) item.handle = builder_.number(value);
      return false;
    }
    case kString:
      item = read_string();
      return false;
    case kTable:
      return open_table(item);
    case kTorch:
      return open_torch_object(item);
    case kBoolean: {
      const int32_t value = decoder_.read_int();
      if (value != 0 && value != 1) fail("damaged", at, "a boolean is ", value, ", not 0 or 1");
      item = {ItemKind::boolean, builder_.boolean(value == 1)};
      return false;
    }
    case kFunction:
    case kRecursiveFunction:
    case kClosure:
      return open_function(item, tag);
    default:
      fail("damaged", at, "expected the type of an object (0 to 8), found ", tag);
  }
}

MemoEntry* Reader::known(int32_t index) {
  if (MemoEntry* entry = memo_.find(index)) return entry;
  if (!parent_) return nullptr;
  MemoEntry* entry = parent_->known(index);
  return entry && entry->offset < parent_limit_ ? entry : nullptr;
}

// Looks for an earlier object with that index, whose kind must be in [first, last].
bool Reader::refer(int32_t index, Item& item, ItemKind first, ItemKind last) {
  MemoEntry* entry = known(index);
  if (!entry) return false;
  if (entry->kind == ItemKind::fields) {
    const Handle object = entry->handle;
    entry->handle = builder_.table_of_fields(object);
    entry->kind = ItemKind::table;
    builder_.drop(object);
  }
  if (entry->kind < first || entry->kind > last) {
    fail("damaged", decoder_.offset(), "expected ", kind_name(first), ", found a reference to ",
         kind_name(entry->kind), " (index ", index, ")");
  }
  // Most storages are never met outside of their tensors: they get a handle on demand.
  if (entry->kind == ItemKind::storage && !entry->handle) {
    const StorageRecord& record = storage_of(*entry, index);
    if (record.storage) entry->handle = builder_.storage(record.storage, *record.info);
  }
  item.kind = entry->kind;
  item.handle = builder_.share(entry->handle);
  return true;
}

void Reader::remember(int32_t index, const Item& item, int64_t at) {
  check_new_index(index, at);
  memo_.add(index, item.kind, builder_.share(item.handle), at);
}

void Reader::check_new_index(int32_t index, int64_t at) {
  // Torch7 counts up. A check of whether bytes make sense may insist on it.
  if (parent_ && index <= highest_index_) fail("damaged", at, "an index out of order");
  if (index > highest_index_) highest_index_ = index;
}

Item Reader::read_string() {
  const int32_t length = decoder_.read_count("a string");
  return {ItemKind::string, builder_.string(decoder_.read_chars(length, "a string"))};
}

bool Reader::open_table(Item& item) {
  const int64_t at = decoder_.offset();
  const int32_t index = decoder_.read_int();
  if (refer(index, item, ItemKind::table, ItemKind::table)) return false;
  const int32_t size = decoder_.read_count("a table", decoder_.smallest_entry());
  const bool are_fields = !frames_.empty() && frames_.back().kind == FrameKind::object &&
                          frames_.back().remaining == 1;
  if (are_fields) {
    const Handle object = frames_.back().item.handle;
    remember(index, {ItemKind::open_fields, object}, at);
    item = {ItemKind::fields, builder_.share(object)};
    push(FrameKind::fields, item, size);
    frames_.back().index = index;
  } else {
    item = {ItemKind::table, builder_.table()};
    remember(index, item, at);
    push(FrameKind::table, item, size);
  }
  return true;
}

bool Reader::open_function(Item& item, int tag) {
  const int64_t at = decoder_.offset();
  int32_t index = 0;
  if (tag != kFunction) {
    index = decoder_.read_int();
    if (refer(index, item, ItemKind::function, ItemKind::function)) return false;
  }
  const int32_t size = decoder_.read_count("a function's bytecode");
  item = {ItemKind::function,
          builder_.function(tag, decoder_.read_chars(size, "a function's bytecode"))};
  if (tag != kFunction) remember(index, item, at);
  push(FrameKind::function, item, 1);
  return true;
}

ClassInfo& Reader::read_class(double& version) {
  version = kNoVersion;
  int32_t length = decoder_.read_count("a class name");
  std::string_view name = decoder_.read_chars(length, "a class name");
  if (parse_version(name, version)) {
    length = decoder_.read_count("a class name");
    name = decoder_.read_chars(length, "a class name");
  }
  if (name.empty()) fail("damaged", decoder_.offset(), "an object has an empty class name");
  ClassInfo& info = classes_->find(name);
  if (!parent_) ++info.count;
  return info;
}

bool Reader::open_torch_object(Item& item) {
  const int64_t at = decoder_.offset();
  const int32_t index = decoder_.read_int();
  // A table or a tensor may be meant: Torch7 looks at the index only, we check the kind.
  if (refer(index, item, ItemKind::storage, ItemKind::object)) return false;
  double version;
  ClassInfo& info = read_class(version);
  switch (info.kind) {
    case ClassKind::storage:
      read_storage(index, info, at);
      refer(index, item, ItemKind::storage, ItemKind::storage);
      return false;
    case ClassKind::tensor:
      item = read_tensor(index, info, at);
      return false;
    case ClassKind::hash: {
      const int64_t size = decoder_.read_long_count("a tds.Hash", decoder_.smallest_entry());
      item = {ItemKind::object, builder_.hash(info)};
      remember(index, item, at);
      push(FrameKind::table, item, size, &info);
      return true;
    }
    case ClassKind::vector: {
      const int64_t size = decoder_.read_long_count("a tds.Vec", decoder_.smallest_value());
      item = {ItemKind::object, builder_.vector(info)};
      remember(index, item, at);
      push(FrameKind::vector, item, size, &info);
      return true;
    }
    case ClassKind::generator:
      item = {ItemKind::object, builder_.object(info, version)};
      remember(index, item, at);
      builder_.set_payload(
          item.handle, builder_.bytes(decoder_.read_chars(kGeneratorBytes, "a generator's state")), index);
      return false;
    case ClassKind::headed:
    case ClassKind::other:
      item = {ItemKind::object, builder_.object(info, version)};
      remember(index, item, at);
      if (era_ == Era::streams) {
        open_early(item, info);
      } else {
        // The first DataParallelTable wrote nothing before its fields.
        const bool is_bare = info.name == "nn.DataParallelTable" && version < 2;
        const bool has_header = info.kind == ClassKind::headed && !is_bare;
        push(FrameKind::object, item, has_header ? 2 : 1, &info);
        frames_.back().index = index;
      }
      return true;
  }
  return false;
}

void Reader::read_storage(int32_t index, ClassInfo& info, int64_t at) {
  check_new_index(index, at);
  const int64_t elements = decoder_.read_long();
  decoder_.check_elements(info.dtype, elements);
  Ref<Storage> storage;
  if (!parent_) {
    storage = Storage::allocate(static_cast<size_t>(elements) * item_size(info.dtype), info.dtype);
  }
  decoder_.read_elements(storage ? storage->data : nullptr, info.dtype, elements);
  memo_.add_storage(index, {&info, elements, std::move(storage)}, at);
}

const StorageRecord& Reader::storage_of(const MemoEntry& entry, int32_t index) {
  return memo_.find(index) == &entry ? memo_.storage_of(entry) : parent_->storage_of(entry, index);
}

// The storage that follows a tensor's sizes: a new one, or one that was met before; none
// (without class information) where nil stands for it.
StorageRecord Reader::read_storage_of(const ClassInfo& tensor_class) {
  const int64_t at = decoder_.offset();
  const int32_t tag = decoder_.read_int();
  if (tag == kNil) return StorageRecord();
  if (tag != kTorch) {
    fail("damaged", at, "expected the storage of a tensor of class ", tensor_class.name,
         ", found an object of type ", tag);
  }
  const int64_t index_at = decoder_.offset();
  const int32_t index = decoder_.read_int();
  if (!known(index)) {
    double version;
    ClassInfo& info = read_class(version);
    if (info.kind != ClassKind::storage) {
      fail("damaged", at, "expected the storage of a tensor of class ", tensor_class.name,
           ", found an object of class ", info.name);
    }
    read_storage(index, info, index_at);
  }
  const MemoEntry& entry = *known(index);
  if (entry.kind != ItemKind::storage) {
    fail("damaged", at, "expected the storage of a tensor of class ", tensor_class.name,
         ", found a reference to ", kind_name(entry.kind), " (index ", index, ")");
  }
  const StorageRecord& record = storage_of(entry, index);
  if (record.info->dtype != tensor_class.dtype) {
    fail("damaged", at, "a tensor of class ", tensor_class.name, " has a storage of ", name(record.info->dtype));
  }
  return record;
}

Item Reader::read_tensor(int32_t index, ClassInfo& info, int64_t at) {
  check_new_index(index, at);
  memo_.add(index, ItemKind::unfinished, nullptr, at);
  const int64_t ndim_at = decoder_.offset();
  const int32_t ndim = decoder_.read_count("a tensor's shape", 2);
  if (ndim > kMaxDims) {
    fail("unsupported", ndim_at, "a tensor has ", ndim, " dimensions; at most ", kMaxDims,
         " are supported");
  }
  Geometry view;
  view.ndim = ndim;
  for (int i = 0; i < ndim; ++i) view.shape[i] = decoder_.read_long();
  for (int i = 0; i < ndim; ++i) view.strides[i] = decoder_.read_long();
  view.offset = decoder_.read_long();
  if (view.offset > INT64_MIN) --view.offset;
  if (ndim == 0) {  // Torch7's empty tensor
    view.ndim = 1;
    view.shape[0] = 0;
    view.strides[0] = 1;
  }
  const StorageRecord storage = read_storage_of(info);
  const bool has_storage = storage.info != nullptr;
  if (strict_ && ((ndim > 0 && !has_storage) || (!has_storage && view.offset != 0))) {
    fail("damaged", at, "a tensor has no storage");
  }
  check_geometry(view, storage.elements, has_storage, at);
  Item item = {ItemKind::tensor, nullptr};
  if (!parent_) {
    item.handle = builder_.tensor(
        make_view(storage.storage.get(), view.offset, view.sizes(), view.steps(), info.dtype), info);
  }
  MemoEntry& entry = *memo_.find(index);
  entry.kind = item.kind;
  entry.handle = builder_.share(item.handle);
  return item;
}

std::string Reader::path() const {
  constexpr size_t kShownAtEachEnd = 12;
  std::string text = "root";
  for (size_t i = 0; i < frames_.size(); ++i) {
    if (i == kShownAtEachEnd && frames_.size() > 2 * kShownAtEachEnd) {
      i = frames_.size() - kShownAtEachEnd;
      text += "...";
    }
    const Frame& frame = frames_[i];
    if (frame.kind == FrameKind::function) text += ".upvalues";
    if (frame.kind == FrameKind::early && frame.position < frame.layout->size()) {
      text += "." + (*frame.layout)[frame.position].name;
    }
    if (frame.kind == FrameKind::vector) text += "[next]";
    if (frame.kind == FrameKind::table || frame.kind == FrameKind::fields) {
      text += !frame.has_key                        ? "<key>"
              : frame.key.kind == ItemKind::number ? message("[", frame.key.number, "]")
                                                   : builder_.describe_key(frame.key.handle);
    }
  }
  return text;
}

}  // namespace relume::t7
