// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What happens in the tour, as a value and as a line of text between processes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <latchkey/clock.hpp>
#include <latchkey/fencing_token.hpp>

namespace tour {

using clock = latchkey::boottime_clock;  // all processes of one machine agree on it

enum class event_kind {
  note,            ///< for the reader only
  waits,           ///< a fiber has asked for the lock
  granted,         ///< `bool(grant)` has been seen true
  reads,           ///< the same of a reader, of the read-write lock
  writes,          ///< the same of a writer, of the read-write lock
  held_until,      ///< the last time that `bool(grant)` was seen true
  released,        ///< unlocked while it was held
  stop_requested,  ///< the stop token of the grant was asked to stop
  lost,            ///< `bool(grant)` has been seen false before the unlock
  accepted,        ///< the store took a write
  refused,         ///< the store refused a write
  failed,          ///< something that must not happen
};

std::string_view to_string(event_kind kind) noexcept;

struct event {
  clock::time_point at = clock::now();
  std::string who;  ///< "w1" a process, "w1.a" one of its fibers, "tour", "store"
  event_kind kind = event_kind::note;
  std::optional<latchkey::fencing_token> token{};
  std::int64_t session = 0;
  std::string text{};
};

/// @returns the process of `event::who`.
inline std::string process_of(const std::string& who) { return who.substr(0, who.find('.')); }

/// One line, without its end.
std::string to_line(const event& what);

/// @throws std::invalid_argument for anything but what `to_line` gives.
event parse_event(std::string_view line);

/// @returns the text before the first space, which is removed from `line` together with that space.
std::string_view next_word(std::string_view& line) noexcept;

/// @throws std::invalid_argument
std::int64_t parse_number(std::string_view text);

}  // namespace tour
