// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Clients whose network can be hurt and counted, and what can be done to their sessions.

#include <cstdint>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include <doctest/doctest.h>
#include <latchkey/client.hpp>
#include <latchkey/queue_snapshot.hpp>

#include "error_of.hpp"
#include "support/support.hpp"

namespace latchkey::testing {

using counts = std::map<std::string, std::uint64_t>;

}  // namespace latchkey::testing

template <>
struct doctest::StringMaker<latchkey::testing::counts> {
  static String convert(const latchkey::testing::counts& what) {
    std::string text;
    for (const auto& [name, count] : what) text += name + ' ' + std::to_string(count) + "; ";
    return text.c_str();
  }
};

namespace latchkey::testing {

/// @returns how many requests of each kind have been sent through `net`, but for syncs: those keep the lease ready.
inline counts requests_of(const proxy& net) {
  counts result = net.requests();
  std::erase_if(result, [](const auto& each) { return each.second == 0 || each.first == "sync"; });
  return result;
}

/// Waits until the server of `who` has what has been written before: a try believes its server, which may lag.
inline void catch_up(client& who) { const queue_snapshot behind_a_sync{who, "/nothing"}; }

/// A client behind a proxy of its own.
struct reached_by_proxy {
  proxy net{servers().addresses()};
  client owner;

  explicit reached_by_proxy(client_options options = quick()) : owner{net.connect_string(), std::move(options)} {
    REQUIRE(missing_connection(owner) == "");
  }
};

/// A client whose requests are counted on the wire. A session so long that no proof gets between them, and no report.
struct counted : reached_by_proxy {
  counted() : reached_by_proxy{without_reports()} { net.reset_requests(); }

  void catch_up() {
    testing::catch_up(owner);
    since();
  }

  /// @returns what has been sent since the last time.
  counts since() {
    auto result = requests_of(net);
    net.reset_requests();
    return result;
  }
  /// @returns the same without the reads: an entry that is 10 ms old reads its own node, and no caller waits for that.
  counts waited_for_since() {
    auto result = since();
    result.erase("getData");
    return result;
  }
  std::uint64_t total_since() {
    std::uint64_t total = 0;
    for (const auto& [name, count] : since()) total += count;
    return total;
  }

 private:
  static client_options without_reports() {
    auto options = quick(60s);
    options.report_waits_after = 0ms;
    return options;
  }
};

/// Ends the session of `owner` at the ensemble, as an expiry would.
inline void expire_session(client& owner) { REQUIRE(servers().expire(owner.session_id())); }

/// Waits until `count` requests of the kind have been sent through `net`. Other fibers of this thread go on meanwhile.
inline bool has_sent(const proxy& net, opcode operation, std::uint64_t count = 1) {
  return eventually([&] { return net.requests(operation) >= count; });
}

/// @returns how many watches the session has at the servers.
inline std::size_t watches_of(std::int64_t session) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < servers().size(); ++i) count += servers().admin(i).wchc()[session].size();
  return count;
}

/// Deletes the path of a lock that is not used, with the record that a dead owner of a robust mutex leaves.
inline bool remove_path(const std::string& path) {
  servers().remove(path + "/robust-owner");
  return servers().remove(path);
}

/// Takes the path away, which must be empty, and with it the watch of its children: nothing else may be left.
/// @returns whether the servers then watch nothing at or below it.
inline bool leaves_nothing(const std::string& path) {
  if (!queued(path, 0)) return false;
  remove_path(path);
  return eventually([&] {
    for (std::size_t i = 0; i < servers().size(); ++i) {
      for (const auto& [watched, sessions] : servers().admin(i).wchp()) {
        if (watched.starts_with(path)) return false;
      }
    }
    return true;
  });
}

/// @returns the code and the message of the error that `call` throws.
template <class Callable>
std::pair<std::error_code, std::string> failure_of(Callable call) {
  try {
    call();
  } catch (const error& failure) {
    return {failure.code(), failure.what()};
  }
  return {};
}

inline bool mentions(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

inline const auto deadlock = std::make_error_code(std::errc::resource_deadlock_would_occur);
inline const auto not_permitted = std::make_error_code(std::errc::operation_not_permitted);

}  // namespace latchkey::testing
