// SPDX-License-Identifier: Apache-2.0
#include "timeline.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tour {

using namespace std::chrono_literals;

namespace {

constexpr auto patience = 50ms;  // for events that are still on their way

bool shown(event_kind kind) {
  return kind != event_kind::waits && kind != event_kind::held_until && kind != event_kind::accepted;
}

std::string words(const event& what) {
  switch (what.kind) {
    case event_kind::granted:
      return "holds the lock" + what.text;
    case event_kind::reads:
      return "reads" + what.text;
    case event_kind::writes:
      return "writes" + what.text;
    case event_kind::released:
      return "releases it" + what.text;
    case event_kind::stop_requested:
      return "is asked to stop by the stop_token of its grant";
    case event_kind::lost:
      return "sees bool(grant) == false: " + what.text;
    case event_kind::refused:
      return "REFUSES " + what.text;
    case event_kind::failed:
      return "FAILED: " + what.text;
    default:
      return what.text;
  }
}

std::string_view colour(const event& what) {
  switch (what.kind) {
    case event_kind::granted:
    case event_kind::writes:
      return "\033[32m";
    case event_kind::reads:
      return "\033[34m";
    case event_kind::stop_requested:
    case event_kind::lost:
      return "\033[33m";
    case event_kind::refused:
      return "\033[35m";
    case event_kind::failed:
      return "\033[1;31m";
    case event_kind::released:
      return "\033[2m";
    default:
      return what.who == "tour" ? "\033[1m" : "\033[36m";
  }
}

}  // namespace

timeline::timeline(clock::time_point begin)
    : begin_{begin},
      colours_{::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr},
      printer_{[this](const std::stop_token& stop) { run(stop); }} {}

timeline::~timeline() {
  printer_.request_stop();
  printer_.join();
  print_until(clock::time_point::max());
}

void timeline::add(const event& what) {
  if (!shown(what.kind)) return;
  {
    const std::lock_guard lock{mutex_};
    waiting_.emplace(what.at, what);
  }
  added_.notify_one();
}

void timeline::say(const std::string& line) {
  const std::lock_guard lock{mutex_};
  print_until(clock::time_point::max());
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void timeline::run(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  while (added_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
    added_.wait_for(lock, stop, patience, [] { return false; });
    print_until(clock::now() - patience);
  }
}

/// @pre the mutex is held, or there is no other thread
void timeline::print_until(clock::time_point latest) {
  while (!waiting_.empty() && waiting_.begin()->first <= latest) {
    fmt::print("{}\n", format(waiting_.begin()->second));
    waiting_.erase(waiting_.begin());
  }
  std::fflush(stdout);
}

std::string timeline::format(const event& what) const {
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(what.at - begin_);
  const auto line = fmt::format("{:>6} | {:<5} | {:<62} | {}", elapsed.count(), what.who, words(what),
                                what.token ? latchkey::to_string(*what.token) : "");
  return colours_ ? fmt::format("{}{}\033[0m", colour(what), line) : line.substr(0, line.find_last_not_of(" |") + 1);
}

}  // namespace tour
