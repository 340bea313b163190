// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include "../../examples/fencing/redis_fence.hpp"
#include "servers.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

redis_server::redis_server(bool remembers) : remembers_{remembers} {
  // The program looks at the name it is called by: redis-tools has it under another one.
  std::filesystem::create_symlink(REDIS_PROGRAM, folder_.path() / "redis-server");
  start();
}

void redis_server::kill_and_start() {
  process_.kill();
  start();
}

void redis_server::start() {
  const auto folder = folder_.path().string();
  process_.start({folder + "/redis-server", "--port", "0", "--unixsocket", socket(), "--dir", folder, "--save", "",
                  "--appendonly", remembers_ ? "yes" : "no", "--appendfsync", "always"},
                 {.log = folder_.path() / "log", .talks = false});
  while (true) {
    try {
      if (fencing::redis{socket()}.run({"PING"}) == "PONG") return;
    } catch (const std::runtime_error&) {  // not yet
      if (!process_.alive()) throw std::runtime_error{"Redis ended: " + process_.wait().value_or("")};
    }
    std::this_thread::sleep_for(5ms);
  }
}

}  // namespace latchkey::testing
