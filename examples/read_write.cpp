// SPDX-License-Identifier: Apache-2.0
// Readers together, one writer alone, and a writer that becomes a reader.

#include <latchkey/shared_mutex.hpp>

#include <future>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "with_connect_string.hpp"

namespace {

/// Protected by the lock; stands for something that all processes see.
std::string settings = "colour=green";

void use(const std::string& what) { std::cout << "read: " << what << '\n'; }

void read(latchkey::shared_mutex& config) {
  const std::shared_lock reading{config};  // together with all who read
  use(settings);
}

void change(latchkey::shared_mutex& config, const std::string& value) {
  std::unique_lock writing{config};  // alone
  settings = value;
  config.downgrade();  // readers come in; no writer does before this one has read
  writing.release();
  const std::shared_lock reading{config, std::adopt_lock};
  use(settings);
}

bool example(const std::string& connect_string) {
  latchkey::client ours{connect_string};
  latchkey::client another{connect_string};
  latchkey::shared_mutex config{ours, "/locks/read_write"};
  latchkey::shared_mutex theirs{another, "/locks/read_write"};

  std::future<void> changed;
  bool refused = false;
  {
    const std::shared_lock reading{theirs};
    read(config);  // does not wait for the other reader
    refused = !config.try_lock();
    std::cout << "to write: " << (refused ? "not while there is a reader" : "taken") << '\n';
    changed = std::async(std::launch::async, [&] { change(config, "colour=blue"); });
  }
  changed.get();
  read(theirs);
  return refused && settings == "colour=blue";
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
