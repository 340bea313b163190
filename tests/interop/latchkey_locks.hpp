// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The locks of latchkey behind one face, and the history that contenders of all languages append to.

#include <latchkey/election.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/shared_mutex.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace latchkey::testing {

/// A lock in one of its modes.
class some_lock {
 public:
  virtual ~some_lock() = default;
  virtual void lock() = 0;
  virtual bool try_lock_for(std::chrono::milliseconds timeout) = 0;
  virtual void unlock() = 0;
  virtual grant held() const = 0;
  /// @returns the mode in which it is held afterwards.
  virtual some_lock& downgrade() { throw std::invalid_argument{"there is nothing below"}; }
};

template <class Lock>
class exclusive_lock : public some_lock {
 public:
  template <class Paths, class... Options>
  exclusive_lock(client& owner, const Paths& paths, Options... options) : lock_{owner, paths, options...} {}

  void lock() override { lock_.lock(); }
  bool try_lock_for(std::chrono::milliseconds timeout) override { return lock_.try_lock_for(timeout); }
  void unlock() override { lock_.unlock(); }
  grant held() const override { return lock_.held(); }

 private:
  Lock lock_;
};

/// A read-write lock held to read.
class reading : public some_lock {
 public:
  explicit reading(std::shared_ptr<shared_mutex> lock) : lock_{std::move(lock)} {}

  void lock() override { lock_->lock_shared(); }
  bool try_lock_for(std::chrono::milliseconds timeout) override { return lock_->try_lock_shared_for(timeout); }
  void unlock() override { lock_->unlock_shared(); }
  grant held() const override { return lock_->held_shared(); }

 private:
  std::shared_ptr<shared_mutex> lock_;
};

/// A read-write lock held to write.
class writing : public some_lock {
 public:
  explicit writing(std::shared_ptr<shared_mutex> lock) : lock_{lock}, below_{std::move(lock)} {}

  void lock() override { lock_->lock(); }
  bool try_lock_for(std::chrono::milliseconds timeout) override { return lock_->try_lock_for(timeout); }
  void unlock() override { lock_->unlock(); }
  grant held() const override { return lock_->held(); }
  some_lock& downgrade() override {
    lock_->downgrade();
    return below_;
  }

 private:
  std::shared_ptr<shared_mutex> lock_;
  reading below_;
};

/// A permit of a semaphore.
class one_permit : public some_lock {
 public:
  one_permit(client& owner, const std::string& path, std::uint32_t permits) : of_{owner, path, permits} {}

  void lock() override { held_ = of_.acquire(); }
  bool try_lock_for(std::chrono::milliseconds timeout) override {
    held_ = of_.try_acquire_for(timeout);
    return static_cast<bool>(held_);
  }
  void unlock() override { held_.release(); }
  grant held() const override { return held_.grant(); }

 private:
  semaphore of_;
  guard held_;
};

/// @param kind mutex, linger (a mutex that does), fair, reentrant, direct (a fair mutex that hands off so), read, write; group (of mutexes, at paths joined by
/// '+'); latch, selector (elections); semaphoreN, a permit of N
inline std::unique_ptr<some_lock> make_lock(client& owner, const std::string& kind, const std::string& path) {
  if (kind == "mutex") return std::make_unique<exclusive_lock<mutex>>(owner, path);
  if (kind == "linger") {
    return std::make_unique<exclusive_lock<mutex>>(owner, path, mutex_options{.linger = std::chrono::milliseconds{50}});
  }
  if (kind == "fair") return std::make_unique<exclusive_lock<fair_mutex>>(owner, path);
  if (kind == "direct") {
    return std::make_unique<exclusive_lock<fair_mutex>>(owner, path, fair_mutex_options{.how = hand_off::direct});
  }
  if (kind == "reentrant") return std::make_unique<exclusive_lock<reentrant_mutex>>(owner, path);
  if (kind == "read") return std::make_unique<reading>(std::make_shared<shared_mutex>(owner, path));
  if (kind == "write") return std::make_unique<writing>(std::make_shared<shared_mutex>(owner, path));
  if (kind == "group") {  // path+path+...
    std::vector<lock_request> locks;
    std::istringstream paths{path};
    for (std::string each; std::getline(paths, each, '+');) locks.push_back({each});
    return std::make_unique<exclusive_lock<multi_lock>>(owner, locks);
  }
  if (kind == "latch") return std::make_unique<exclusive_lock<election>>(owner, path);
  if (kind == "selector") {
    return std::make_unique<exclusive_lock<election>>(owner, path,
                                                      election_options{.as = election_options::naming::selector});
  }
  if (constexpr std::string_view permits = "semaphore"; kind.starts_with(permits)) {
    return std::make_unique<one_permit>(owner, path, std::stoul(kind.substr(permits.size())));
  }
  throw std::invalid_argument{"no kind of lock: " + kind};
}

/// What a record says beside its event and its time.
struct record {
  std::string who;
  std::string kind;
  std::int64_t session = 0;
  std::int64_t czxid = 0;
};

/// What all contenders append to: one record is one line, and one write with O_APPEND.
class history_file {
 public:
  /// @param paths joined by '+': each record goes to each of these files
  explicit history_file(const std::string& paths) {
    std::istringstream parts{paths};
    for (std::string each; std::getline(parts, each, '+');)
      files_.push_back(::open(each.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  }
  ~history_file() {
    for (const int each : files_) ::close(each);
  }
  history_file(const history_file&) = delete;
  history_file& operator=(const history_file&) = delete;

  /// @returns the time of CLOCK_MONOTONIC, in nanoseconds.
  static std::int64_t now() {
    return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
  }

  void add(std::string_view event, const record& what, std::int64_t time) {
    std::ostringstream text;
    text << event << ' ' << what.who << ' ' << what.kind << ' ' << time << ' ' << what.session << ' ' << what.czxid
         << '\n';
    const auto line = text.str();
    for (const int each : files_) {
      if (::write(each, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
    }
  }

 private:
  std::vector<int> files_;
};

}  // namespace latchkey::testing
