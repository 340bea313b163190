// SPDX-License-Identifier: Apache-2.0
// At most three downloads at a time, over all processes.

#include <latchkey/semaphore.hpp>

#include <chrono>
#include <iostream>

#include "with_connect_string.hpp"

using namespace std::chrono_literals;

namespace {

bool download(const latchkey::guard& permit, const char* what) {
  if (!permit) return false;  // lost meanwhile: another process may download now
  std::cout << "downloading " << what << '\n';
  return true;
}

bool example(const std::string& connect_string) {
  latchkey::client client{connect_string};
  latchkey::semaphore downloads{client, "/semaphores/downloads", 3};

  bool done = false;
  if (const auto permit = downloads.try_acquire_for(2s)) done = download(permit, "a page");
  {
    const auto all = downloads.acquire(3);  // together, or not at all
    done = done && download(all, "a whole disk, alone");
    if (const auto another = downloads.try_acquire()) return false;  // none is left
  }                                                                  // gives them back
  return done;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
