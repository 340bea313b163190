// SPDX-License-Identifier: Apache-2.0
#include "base/process.hpp"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

namespace latchkey::detail {
namespace {

struct kept {
  std::shared_ptr<const void> what;
  kept* next;
};

std::atomic<kept*> first_kept{nullptr};  // of a list that no thread reads

/// For a child that is forked without the handlers of pthread_atfork (vfork, posix_spawn) latchkey does not exist: it
/// only executes another program.
bool count_forks() noexcept {
  return ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }) == 0;
}

}  // namespace

/// With the mutex of the registry held.
struct unshared_file::entry {
  int descriptor;
  dev_t device{};
  ino_t inode{};
  bool is_taken = false;

  /// @returns negative if something else has closed it: the number may be that of another file now.
  int intact() const noexcept {
    struct stat file {};
    const bool same =
        descriptor >= 0 && ::fstat(descriptor, &file) == 0 && file.st_dev == device && file.st_ino == inode;
    return same ? descriptor : -1;
  }
  void close() noexcept {
    const int open = intact();
    descriptor = -1;
    if (open >= 0) ::close(open);
  }
};

namespace {

/// Never destroyed: static clients may end later.
struct unshared_files {
  std::mutex mutex;
  std::list<unshared_file::entry> open;

  static unshared_files& all() {
    static auto& only = *new unshared_files;
    [[maybe_unused]] static const int registered =
        ::pthread_atfork([] { only.mutex.lock(); }, [] { only.mutex.unlock(); },
                         [] {
                           for (auto& each : only.open) each.close();
                           only.mutex.unlock();
                         });
    return only;
  }
};

}  // namespace

unshared_file::unshared_file(int descriptor) {
  if (descriptor < 0) return;
  struct stat file {};
  ::fstat(descriptor, &file);
  auto& files = unshared_files::all();
  const std::lock_guard lock{files.mutex};
  own_ = &files.open.emplace_back(entry{descriptor, file.st_dev, file.st_ino, false});
}

unshared_file::unshared_file(unshared_file&& other) noexcept : own_{std::exchange(other.own_, nullptr)} {}

unshared_file& unshared_file::operator=(unshared_file&& other) noexcept {
  std::swap(own_, other.own_);
  return *this;
}

unshared_file::~unshared_file() {
  if (!own_) return;
  auto& files = unshared_files::all();
  const std::lock_guard lock{files.mutex};
  own_->close();
  files.open.remove_if([this](const entry& each) { return &each == own_; });
}

int unshared_file::get() const noexcept { return own_ ? own_->intact() : -1; }

bool unshared_file::take() {
  auto& files = unshared_files::all();
  const std::lock_guard lock{files.mutex};
  own_->is_taken = std::none_of(files.open.begin(), files.open.end(), [this](const entry& each) {
    return each.is_taken && each.descriptor >= 0 && each.device == own_->device && each.inode == own_->inode;
  });
  return own_->is_taken;
}

std::atomic<std::uint32_t> forks{0};

home::home() : made_{forks.load(std::memory_order_relaxed)} {
  [[maybe_unused]] static const bool counted = count_forks();
}

void keep_for_ever(std::shared_ptr<const void> what) noexcept {
  auto* const mine = new kept{std::move(what), first_kept.load(std::memory_order_relaxed)};
  while (!first_kept.compare_exchange_weak(mine->next, mine, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace latchkey::detail
