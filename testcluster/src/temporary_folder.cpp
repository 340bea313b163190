// SPDX-License-Identifier: Apache-2.0
#include "temporary_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "latchkey/testing/error.hpp"

namespace latchkey::testing::detail {

namespace fs = std::filesystem;

namespace {

constexpr const char* prefix = "latchkey-testcluster-";
constexpr const char* lock_name = "in-use";  // absent from folders that are to be kept

unique_fd lock_file(const fs::path& file, int flags) {
  unique_fd fd{::open(file.c_str(), O_RDWR | O_CLOEXEC | flags, 0600)};
  if (fd && ::flock(fd.value(), LOCK_EX | LOCK_NB) != 0) fd.reset();
  return fd;
}

void remove_orphans(const fs::path& base) {
  std::error_code error;
  for (fs::directory_iterator it{base, error}, end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with(prefix)) continue;
    if (const auto lock = lock_file(it->path() / lock_name, 0)) {
      std::error_code ignored;
      fs::remove_all(it->path(), ignored);
    }
  }
}

}  // namespace

temporary_folder::temporary_folder(const fs::path& given) : path_(given) {
  if (!given.empty()) {
    std::error_code error;
    fs::create_directories(given, error);
    if (error) throw cluster_error("cannot create " + given.string() + ": " + error.message());
    path_ = fs::absolute(given);
    return;
  }
  const fs::path memory{"/dev/shm"};
  const auto base = ::access(memory.c_str(), W_OK | X_OK) == 0 ? memory : fs::temp_directory_path();
  remove_orphans(base);
  auto name = (base / prefix).string() + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw cluster_error("cannot create " + name + ": " + std::strerror(errno));
  path_ = name;
  keep_ = std::getenv("LATCHKEY_KEEP_DATA") != nullptr;
  if (keep_) return;
  const auto unlocked = path_ / "not-yet-in-use";  // gets its name when it is locked, lest others take us for an orphan
  lock_ = lock_file(unlocked, O_CREAT);
  fs::rename(unlocked, path_ / lock_name);
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  if (!keep_) fs::remove_all(path_, ignored);
}

}  // namespace latchkey::testing::detail
