// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a chaos run writes down: what the workers did and saw, and what was done to them.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/clock.hpp>
#include <latchkey/fencing_token.hpp>

#include "family.hpp"

namespace chaos {

using clock = latchkey::boottime_clock;

inline double milliseconds(clock::duration time) { return std::chrono::duration<double, std::milli>{time}.count(); }

/// In the order of a call. The time of a record is read before that of which it speaks, unless said otherwise.
enum class event_kind {
  note,      ///< of no consequence
  opened,    ///< a worker process has begun
  closed,    ///< a worker process has closed its client, and ends
  family,    ///< what kind of lock this is; the text is the family
  waits,     ///< a call begins; the text is the manner: "lock", "cancelled", "try", "for <ms>"; "enqueue" for a ticket
  refused,   ///< it returned false (the time is read after that)
  queued,    ///< it returned with a ticket (the time is read after that): the place in line is taken
  left,      ///< the ticket was given up, or its place is lost; the text says which
  failed,    ///< something threw that should not
  missed,    ///< it returned true, and the first look at the grant already said lost
  granted,   ///< it returned true, and the first look said held; with the text of `held`
  held,      ///< a later look said held; the text is the lease: "<valid_until in ns>"
  entered,   ///< the holder has taken the lock once more
  wrote,     ///< a write with the token to the store that the lock protects
  weakens,   ///< a writer that holds the lock is about to become a reader; as such it is granted, or missed
  stopped,   ///< the stop callback ran; the text is what a look in it said: "held" or "over"
  lost,      ///< a look said not held; the text is the reason
  unlocks,   ///< unlock() is about to be called
  killed,    ///< by the nemesis
  crashed,   ///< a worker ended by itself
  hung,      ///< a worker did not finish
  leftover,  ///< something was still there when all was over
};

std::string_view to_string(event_kind kind) noexcept;

struct event {
  clock::time_point at;
  std::string who;  ///< "w2.1/0/3": worker 2, its process number 1, thread 0, fiber 3; "chaos": the run itself
  event_kind kind = event_kind::note;
  int lock = -1;  ///< -1: none
  access how = access::exclusive;
  latchkey::fencing_token token{};
  std::int64_t session = 0;
  std::string text;
};

/// @returns "w2.1" of "w2.1/0/3".
std::string_view process_of(std::string_view who) noexcept;
/// @returns "w2.1/0": the fibers of one thread share a lock object, and nothing runs between two lines of one.
std::string_view thread_of(std::string_view who) noexcept;

/// Something the nemesis did.
struct fault {
  clock::time_point begin;
  clock::time_point end;
  std::string kind;
  std::string victim;  ///< "w2" or "w2.1" or "server 1"; "" for all

  /// No lease can foresee that somebody else ends the session, or deletes the node.
  bool from_outside = false;
  int lock = -1;  ///< of the node that was deleted: its owner hears of it at once. -1: none
};

struct history {
  std::vector<event> events;  ///< by time
  std::vector<fault> faults;  ///< by their beginning
  int locks = 0;
  std::map<int, family> families;

  /// @returns of which family the lock is; a plain mutex when nobody has said.
  family family_of(int lock) const noexcept;
};

std::string to_line(const event& what);
std::string to_line(const fault& what);

/// @throws std::invalid_argument for what `to_line` did not write
event parse_event(std::string_view line);
fault parse_fault(std::string_view line);

/// @returns what the files "*.events" and "*.faults" of the folder say; a last line that is cut short does not count.
/// @throws std::runtime_error naming the file and line that cannot be read
history load(const std::filesystem::path& folder);

}  // namespace chaos
