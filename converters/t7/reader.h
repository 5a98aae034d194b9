// Reads the objects of a Torch7 file, one after the other, into a builder's values.
//
// Nothing recurses: what is open (a table between two entries, an object before its
// fields) is a frame on an explicit stack, so the depth of a file costs memory only.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "converters/t7/builder.h"
#include "converters/t7/classes.h"
#include "converters/t7/decoder.h"
#include "converters/t7/early_layouts.h"
#include "converters/t7/memo.h"

namespace relume::t7 {

class Reader {
 public:
  // `strict` refuses what Torch7 never wrote, for a form that is only a guess.
  Reader(Source& source, const Form& form, Builder& builder, bool strict = false,
         Era era = Era::standard);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // The next object; the caller owns the handle. Throws FormatError with its path set.
  Handle read_object();
  bool at_end() { return decoder_.at_end(); }
  // How many objects were read by the rules of an early era.
  int64_t early_objects() const { return early_objects_; }

  Decoder& decoder() { return decoder_; }
  const ClassTable& classes() const { return *classes_; }

 private:
  enum class FrameKind : uint8_t { table, fields, vector, object, early, function };
  struct Frame {
    FrameKind kind;
    bool has_key = false;
    int64_t remaining = 0;  // entries of a table, values of a vector
    Item item;              // what is being filled; one reference
    Item key;               // of the entry whose value comes next; one reference
    size_t first_entry = 0; // of a table's entries among `entries_`
    ClassInfo* info = nullptr;
    int64_t start = 0;      // where an object's own data begins
    int32_t index = 0;      // of an object, or of a table of fields
    const EarlyLayout* layout = nullptr;  // of an early object
    size_t position = 0;                  // in the layout
    bool repeated = false;                // the values were in the object's table already
  };

  // A reader that checks what follows `offset`, as if `parent` had come there.
  Reader(Reader& parent, int64_t offset, Builder& nothing);

  Item run();
  bool read_next(Item& item);
  bool open(Item& item);
  bool deliver(Item item);
  void deliver_fields(Frame& frame, Item item);
  bool expects_key() const;
  void add_entry(Frame& frame, const Item& value);
  void hand_over_entries(const Frame& frame);
  Item close();
  void push(FrameKind kind, const Item& item, int64_t remaining, ClassInfo* info = nullptr);

  bool open_table(Item& item);
  bool open_torch_object(Item& item);
  bool open_function(Item& item, int tag);
  Item read_string();
  void read_storage(int32_t index, ClassInfo& info, int64_t at);
  Item read_tensor(int32_t index, ClassInfo& info, int64_t at);
  StorageRecord read_storage_of(const ClassInfo& tensor_class);
  ClassInfo& read_class(double& version);
  bool refer(int32_t index, Item& item, ItemKind first, ItemKind last);
  MemoEntry* known(int32_t index);
  const StorageRecord& storage_of(const MemoEntry& entry, int32_t index);
  void remember(int32_t index, const Item& item, int64_t at);
  void check_new_index(int32_t index, int64_t at);

  // early_objects.cpp: what was written in 2011.
  void open_early_root();
  void open_early(const Item& item, ClassInfo& info);
  bool continue_early(Frame& frame);
  bool read_early_numbers();
  bool deliver_early(Frame& frame, const Item& item);

  // payload.cpp: classes that wrote themselves in a format of their own.
  bool take_payload(int64_t single_value_end);
  int64_t find_payload_end(int64_t start, int64_t single_value_end);
  bool may_start_object(int64_t offset);
  bool continues_well(int64_t offset, bool to_the_last_byte);
  bool finish_and_check(bool to_the_last_byte);

  std::string path() const;

  Decoder decoder_;
  Builder& builder_;
  ClassTable own_classes_;
  ClassTable* classes_ = &own_classes_;
  std::vector<Frame> frames_;
  std::vector<Entry> entries_;  // complete entries of the open tables, outermost first
  Memo memo_;
  int32_t highest_index_ = 0;
  bool strict_ = false;
  Era era_ = Era::standard;
  int64_t early_objects_ = 0;

  // Of a reader that only checks structure:
  Reader* parent_ = nullptr;
  int64_t parent_limit_ = 0;                 // parent's objects met before here are known
  std::map<int64_t, int64_t> payload_ends_;  // start -> end, as found so far
  int64_t work_left_ = 4'000'000;            // what looking for ends may still cost
};

}  // namespace relume::t7
