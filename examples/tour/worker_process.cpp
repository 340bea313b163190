// SPDX-License-Identifier: Apache-2.0
#include "worker_process.hpp"

#include <utility>

namespace tour {

worker_process::worker_process(std::string name, const std::vector<std::string>& command, line_handler on_line)
    : name_{std::move(name)}, on_line_{std::move(on_line)}, process_{command}, reader_{[this] {
        while (const auto line = process_.hear()) on_line_(*this, *line);
        on_line_(*this, "gone");
      }} {}

void worker_process::hang_up() {
  hung_up_ = true;
  process_.hang_up();
}

void worker_process::end() {
  hang_up();
  process_.kill();
  if (reader_.joinable()) reader_.join();
}

}  // namespace tour
