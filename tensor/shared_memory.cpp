#include "tensor/shared_memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "tensor/error.h"

namespace relume {
namespace {

// Closes a descriptor at the end of a scope, unless it was given away.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  int give() { return std::exchange(number_, -1); }

 private:
  int number_;
};

using FileId = std::pair<dev_t, ino_t>;

// One file in this process's memory. Any number of storages look at it.
struct Mapping {
  FileId file;
  int descriptor;
  void* data;
  std::size_t bytes;
  int users = 1;
};

// All mappings of this process, so that memory that comes back from another process is
// found at the address it has here.
struct Mappings {
  std::mutex mutex;
  std::map<FileId, Mapping*> by_file;
};

Mappings& mappings() {
  // Never destroyed: storages may be freed after static destructors have run.
  static Mappings* instance = new Mappings;
  return *instance;
}

// A child must not find the table in the middle of a change.
const int fork_handler = pthread_atfork([] { mappings().mutex.lock(); }, [] { mappings().mutex.unlock(); },
                                        [] { mappings().mutex.unlock(); });

[[noreturn]] void fail(const char* what) {
  const int error = errno;
  if (error == ENOMEM || error == ENOSPC || error == EFBIG) throw std::bad_alloc();
  const char* advice = error == EMFILE ? "; each shared storage needs an open file (see `ulimit -n`)" : "";
  throw Error(message("shared memory: ", what, ": ", std::strerror(error), advice));
}

FileId file_id(const struct stat& status) { return {status.st_dev, status.st_ino}; }

struct stat status_of(int descriptor) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) fail("cannot look at the file");
  return status;
}

int create_file(std::size_t bytes) {
  // The system would promise more than it has, and kill the process on use.
  const auto physical = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (bytes > physical) throw std::bad_alloc();
  Descriptor file(memfd_create("relume", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) fail("cannot create the file");
  int status;
  do {
    status = fallocate(file.get(), 0, 0, static_cast<off_t>(bytes));
  } while (status != 0 && errno == EINTR);
  if (status != 0) fail("cannot reserve the memory");
  // Nobody can pull the memory away under another process's feet.
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) fail("cannot seal the file");
  return file.give();
}

// Takes the descriptor over.
Mapping* map_file(int descriptor) {
  Descriptor file(descriptor);
  const struct stat status = status_of(descriptor);
  check(S_ISREG(status.st_mode) && status.st_size > 0, "the descriptor is not one of shared memory");
  Mappings& all = mappings();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto found = all.by_file.find(file_id(status));
  if (found != all.by_file.end()) {
    ++found->second->users;
    return found->second;
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) fail("cannot map the file");
  auto* mapping = new Mapping{file_id(status), file.give(), data, bytes};
  all.by_file[mapping->file] = mapping;
  return mapping;
}

void unmap(void* context) {
  auto* mapping = static_cast<Mapping*>(context);
  {
    Mappings& all = mappings();
    std::lock_guard<std::mutex> lock(all.mutex);
    if (--mapping->users > 0) return;
    all.by_file.erase(mapping->file);
  }
  munmap(mapping->data, mapping->bytes);
  close(mapping->descriptor);
  delete mapping;
}

Mapping& mapping_of(const Storage& storage) { return *static_cast<Mapping*>(storage.context); }

// A file has at least one byte, since an empty one cannot be mapped.
Mapping* allocate_mapping(std::size_t bytes) { return map_file(create_file(std::max<std::size_t>(bytes, 1))); }

}  // namespace

Ref<Storage> allocate_shared(std::size_t bytes, DType dtype) {
  Mapping* mapping = allocate_mapping(bytes);
  return Storage::wrap(mapping->data, bytes, dtype, unmap, mapping);
}

void share(Storage& storage) {
  if (is_shared(storage)) return;
  check<NotImplementedError>(storage.device.type == DeviceType::cpu, "sharing memory of ", storage.device);
  Mapping* mapping = allocate_mapping(storage.bytes);
  if (storage.bytes > 0) std::memcpy(mapping->data, storage.data, storage.bytes);
  replace_memory(storage, mapping->data, unmap, mapping);
}

bool is_shared(const Storage& storage) { return storage.deleter == unmap; }

int shared_descriptor(const Storage& storage) {
  check(is_shared(storage), "the storage is not in shared memory; call share_memory_() first");
  return mapping_of(storage).descriptor;
}

Ref<Storage> open_shared(int descriptor, std::size_t bytes, DType dtype) {
  Mapping* mapping = map_file(descriptor);
  if (bytes > mapping->bytes) {
    const std::size_t size = mapping->bytes;
    unmap(mapping);
    throw ValueError(message("shared memory of ", size, " bytes was announced with ", bytes));
  }
  return Storage::wrap(mapping->data, bytes, dtype, unmap, mapping);
}

}  // namespace relume
