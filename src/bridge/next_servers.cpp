// SPDX-License-Identifier: Apache-2.0
#include "bridge/next_servers.hpp"

#include <algorithm>
#include <utility>

#include <latchkey/clock.hpp>

namespace latchkey::detail {
namespace {

std::ptrdiff_t count(const std::string& list) { return 1 + std::count(list.begin(), list.end(), ','); }

}  // namespace

/// The IO thread waits for the handle when an attempt to connect fails: that is the only place where it calls.
zhandle_t* next_servers::begin(const std::string& list, const std::function<zhandle_t*()>& open) {
  const std::lock_guard lock{mutex_};
  handle_ = open();
  listed_ = count(list);
  return handle_;
}

void next_servers::end() noexcept {
  const std::lock_guard lock{mutex_};
  handle_ = nullptr;
}

void next_servers::use(std::string list) {
  const std::lock_guard lock{mutex_};
  // The C client compares hosts without their ports, and how many there are: as many of the same would be nothing new.
  if (count(list) == listed_) {
    const auto first = list.substr(0, list.find(','));
    list += "," + first + "," + first;
  }
  next_ = std::move(list);
}

time_point next_servers::attempted_at() {
  const std::lock_guard lock{mutex_};
  return attempted_at_;
}

std::string next_servers::server_of_next(std::string current) {
  const std::lock_guard lock{mutex_};
  ++made_;
  if (ended_.empty()) return current;
  auto server = std::move(ended_.front());
  ended_.erase(ended_.begin());
  return server;
}

/// Other servers are not given when a connection has failed: the C client would not tell of its end.
void next_servers::on_failed_connection(std::string_view why) noexcept {
  std::string list;
  zhandle_t* handle = nullptr;
  {
    const std::lock_guard lock{mutex_};
    if (handle_ == nullptr) return;  // it is being closed
    const int state = zoo_state(handle_);
    if (state == ZOO_CONNECTED_STATE || state == ZOO_READONLY_STATE) {
      if (++gone_ > made_) ended_.push_back(server_in(why));
    } else if (gone_ == 0) {
      attempted_at_ = boottime_clock::now();
    }
    if (state == ZOO_ASSOCIATING_STATE && says_closed_by_server(why)) ++turned_away_;
    if (next_.empty() || state < 0 || state == ZOO_CONNECTED_STATE || state == ZOO_READONLY_STATE) return;
    handle = handle_;
    list.swap(next_);
    listed_ = count(list);
  }
  zoo_set_servers(handle, list.c_str());  // not closed meanwhile: that waits for this thread
}

}  // namespace latchkey::detail
