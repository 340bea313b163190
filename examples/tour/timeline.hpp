// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The events as a human reads them.

#include <condition_variable>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "event.hpp"

namespace tour {

/// Prints a line for each event that is worth one, in the order in which they happened: what comes from several
/// processes arrives in another order, so each line waits for a moment. Thread-safe.
class timeline {
 public:
  explicit timeline(clock::time_point begin);
  ~timeline();  ///< prints what is left

  void add(const event& what);

  /// Prints a line that is no event, after all that has been added.
  void say(const std::string& line);

 private:
  void run(const std::stop_token& stop);
  void print_until(clock::time_point latest);
  std::string format(const event& what) const;

  const clock::time_point begin_;
  const bool colours_;
  std::mutex mutex_;
  std::condition_variable_any added_;
  std::multimap<clock::time_point, event> waiting_;
  std::jthread printer_;
};

}  // namespace tour
