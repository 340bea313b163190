// SPDX-License-Identifier: Apache-2.0
// A place in line that is taken now and waited for later.

#include <latchkey/fair_mutex.hpp>

#include <chrono>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

#include "with_connect_string.hpp"

using namespace std::chrono_literals;

namespace {

std::string printed;  // protected by the lock

void print(const std::string& what) {
  std::cout << "prints " << what << '\n';
  printed += what;
}

void print_in_turn(latchkey::fair_mutex& press, const std::string& what) {
  latchkey::ticket ticket = press.enqueue();  // returns with the place taken
  std::cout << what << ": " << ticket.ahead() << " before us\n";
  while (!ticket.wait_for(200ms)) std::cout << what << ": still in line\n";  // the place is kept
  const std::lock_guard guard{press, std::adopt_lock};
  print(what);
}

bool example(const std::string& connect_string) {
  latchkey::client ours{connect_string};
  latchkey::client another{connect_string};
  latchkey::fair_mutex press{ours, "/locks/fair_queue"};
  latchkey::fair_mutex theirs{another, "/locks/fair_queue"};

  std::unique_lock busy{press};
  latchkey::ticket first = theirs.enqueue();
  std::thread later{[&] { print_in_turn(press, "B"); }};  // behind A, whenever A begins to wait
  std::this_thread::sleep_for(500ms);
  busy.unlock();

  first.wait();
  print("A");
  theirs.unlock();
  later.join();
  return printed == "AB";
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
