// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What `latchkey` prints: as text for people, and as JSON. All of it is plain on any terminal, whatever nodes say.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/find_locks.hpp>
#include <latchkey/leader_view.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/robust_mutex.hpp>
#include <latchkey/sequencer.hpp>

namespace command {

using wall_time = std::chrono::system_clock::time_point;

/// The queue of a lock.
struct queue {
  std::string path;
  std::vector<latchkey::contender> contenders;      ///< the first of them, holders first
  std::size_t holders = 0;                          ///< all
  std::size_t waiters = 0;                          ///< all
  std::optional<latchkey::dead_owner> abandoned{};  ///< who has not unlocked it, of robust mutexes
};

queue queue_of(const latchkey::queue_snapshot& seen);

/// One line of `list`.
struct listed_lock {
  latchkey::found_lock lock;
  queue first;  ///< with the data of its first contender
};

/// One contender that has come, gone, or been let in.
struct queue_change {
  enum class kind { there, waits, holds, stops_waiting, stops_holding };

  kind what{};
  latchkey::contender who;
  std::optional<std::chrono::milliseconds> after{};  ///< how long it had waited, or held
  bool read = true;                                  ///< otherwise nothing is known of `who` but its node and mode
};

/// @returns `text` on one line and in valid UTF-8: what is not printable there is written as in C.
std::string printable(std::string_view text);
/// @returns the same of a sentence, whose quotations are `printable` already.
std::string printable_sentence(std::string_view text);

/// @returns "412ms", "42s", "3m12s", "5h03m" or "2d04h"; "0ms" for a time below zero, as when clocks differ.
std::string age_of(std::chrono::milliseconds time);

/// @returns "billing@host3 pid 812", or what the node says instead.
std::string name_of(const latchkey::contender& who);

/// Lines, each with its end. Ages are those at `now`.
std::string text_of(const latchkey::contender& who);
std::string text_of(const queue& of, wall_time now);
std::string text_of(const std::vector<listed_lock>& all, wall_time now);
std::string text_of(const latchkey::leader_sighting& seen);
/// As one of many: with the time.
std::string text_of_change(const latchkey::leader_sighting& seen, wall_time now);
std::string text_of(const queue_change& what, wall_time now);
std::string text_of_not_known(wall_time now);

/// One JSON object, in ASCII.
std::string json_of(const latchkey::dead_owner& who);
/// The same and the end of the line.
std::string json_of(const queue& of);
std::string json_of(const listed_lock& one);
std::string json_of(const latchkey::found_lock& one);
std::string json_of(const std::string& path, const latchkey::leader_sighting& seen);
std::string json_of(const std::string& path, const queue_change& what, wall_time now);
std::string json_of_not_known(const std::string& path, wall_time now);
std::string json_of(const latchkey::sequencer& what, bool valid);
/// @param of before it was asked: the request is written over what the nodes say
std::string json_of_asking(const queue& of, std::size_t asked, bool moved);
std::string json_of_eviction(const std::string& path, const latchkey::contender& who, bool evicted);

}  // namespace command
