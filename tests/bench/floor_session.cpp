// SPDX-License-Identifier: Apache-2.0
#include "floor_session.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

namespace bench {

using namespace std::chrono_literals;

void floor_mailbox::post(floor_event event) {
  bool first = false;
  {
    const std::lock_guard guard{lock_};
    first = waiting_.empty();
    waiting_.push_back(event);
  }
  if (first) some_.notify_one();
}

const std::vector<floor_event>& floor_mailbox::wait() {
  taken_.clear();
  std::unique_lock guard{lock_};
  some_.wait_for(guard, 200ms, [this] { return !waiting_.empty(); });
  taken_.swap(waiting_);
  return taken_;
}

namespace {

void ignore_event(zhandle_t*, int, int, const char*, void*) {}
void ignore_reply(int, const char*, const void*) {}
void ignore_log(const char*) {}

}  // namespace

floor_session::floor_session(const std::string& host) {
  handle_ = ::zookeeper_init2(host.c_str(), ignore_event, 10'000, nullptr, nullptr, ZOO_NO_LOG_CLIENTENV, ignore_log);
  if (handle_ == nullptr) throw std::runtime_error{"zookeeper_init2 failed"};
  ::zoo_set_servers_resolution_delay(handle_, -1);  // else names are resolved on every turn of its loop
  const auto limit = std::chrono::steady_clock::now() + 10s;
  while (::zoo_state(handle_) != ZOO_CONNECTED_STATE) {
    if (std::chrono::steady_clock::now() > limit) throw std::runtime_error{"no session in 10 s"};
    std::this_thread::sleep_for(1ms);
  }
}

floor_session::~floor_session() { ::zookeeper_close(handle_); }

void floor_session::create_all(const std::string& path) {
  if (!known_.insert(path).second) return;
  for (auto slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const auto part = path.substr(0, slash);
    const int code = ::zoo_create(handle_, part.c_str(), nullptr, -1, &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0);
    if (code != ZNODEEXISTS) expect_ok(code, part.c_str());
    if (slash == std::string::npos) return;
  }
}

void floor_session::nudge() { ::zoo_async(handle_, "/", ignore_reply, nullptr); }

void expect_ok(int code, const char* what) {
  if (code != ZOK) throw std::runtime_error{std::string{what} + ": " + ::zerror(code)};
}

}  // namespace bench
