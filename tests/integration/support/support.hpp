// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the integration tests share: one ensemble a program, paths, and the one way to wait for something to come true.

#include <chrono>
#include <string>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/testing/ensemble.hpp>
#include <latchkey/testing/proxy.hpp>

#include "support/actors.hpp"
#include "support/client.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

/// @returns the ensemble of this program: three servers, started by the first test that asks, with every fault mended.
ensemble& servers();

/// @returns a lock path that nobody has used, three levels deep.
std::string fresh_path();

/// @returns options with a short session, whose lease outlasts what machines stall.
client_options quick(std::chrono::milliseconds session_timeout = 8s);

/// Of sessions that do not expire within a test.
inline constexpr auto long_session = 40s;

/// How long something may take that takes milliseconds on an idle machine: scaled for sanitizers, a limit and not a
/// pace.
std::chrono::milliseconds patience();

/// Waits for a connection of `who`, for `patience()` at most. @returns empty when there is one; otherwise what the client
/// and the servers say.
std::string missing_connection(client& who);

/// @returns whether a sanitizer slows the tests down.
bool slowed_down();

/// Polls until `pred` holds, for `patience()` at most. @returns whether it held.
/// @throws called_off when an actor of the test has failed
template <class Predicate>
bool eventually(Predicate pred) {
  const auto end = std::chrono::steady_clock::now() + patience();
  while (!pred()) {
    if (std::chrono::steady_clock::now() > end) return false;
    pause();
  }
  return true;
}

/// @returns the names of the contenders at `path`, in the order of the queue.
std::vector<std::string> queue_at(const std::string& path);

/// @returns whether it is the name of a reader.
inline bool is_reader(const std::string& node) { return node.find("__READ__") != std::string::npos; }

/// Waits until `count` contenders are in the queue at `path`.
bool queued(const std::string& path, std::size_t count);

}  // namespace latchkey::testing
