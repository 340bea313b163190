// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the nemeses write down.

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>

#include "recorder.hpp"

namespace chaos {

/// The files of the run itself. From any thread.
class fault_log {
 public:
  explicit fault_log(const std::filesystem::path& folder)
      : events_{folder / "chaos.events"}, faults_{folder / "chaos.faults"} {}

  void tell(const std::string& who, event_kind kind, std::string text = {}, int lock = -1) {
    events_.add({clock::now(), who, kind, lock, access::exclusive, {}, 0, std::move(text)});
  }
  void tell(const event& what) { events_.add(what); }
  void add(const fault& what) { faults_.add(what); }

 private:
  recorder events_;
  recorder faults_;
};

/// A fault that is going on: it ends, and is written down, when this object does.
class ongoing {
 public:
  ongoing(fault_log& log, std::string kind, std::string victim, bool from_outside = false)
      : log_{log}, what_{clock::now(), {}, std::move(kind), std::move(victim), from_outside, -1} {}
  ongoing(const ongoing&) = delete;
  ongoing& operator=(const ongoing&) = delete;
  ~ongoing() {
    what_.end = clock::now();
    log_.add(what_);
  }

 private:
  fault_log& log_;
  fault what_;
};

/// Sleeps; less when `stop` is requested.
void sleep(std::chrono::milliseconds time, const std::stop_token& stop);

}  // namespace chaos
