// SPDX-License-Identifier: Apache-2.0
// A store that refuses who has lost the lock.

#include <latchkey/mutex.hpp>

#include <iostream>
#include <mutex>
#include <string>

#include "with_connect_string.hpp"

namespace {

/// Stands for what the lock protects: it knows nothing of locks, it compares two numbers.
class invoice_store {
 public:
  bool write(latchkey::fencing_token token, const std::string& invoice) {
    if (token < largest_) return false;  // from somebody who had the lock before
    largest_ = token;
    newest_ = invoice;
    return true;
  }

 private:
  latchkey::fencing_token largest_;
  std::string newest_;
};

bool example(const std::string& connect_string) {
  latchkey::client client{connect_string};
  latchkey::mutex nightly{client, "/locks/fenced_write"};
  invoice_store invoices;

  std::unique_lock first{nightly};
  const auto old_token = nightly.held().fence();
  first.unlock();

  const auto held = nightly.acquire();
  const bool written = invoices.write(held.fence(), "invoice 1");
  const bool late = invoices.write(old_token, "invoice 1, by one who does not know that its time is over");

  std::cout << "the holder's write: " << (written ? "accepted" : "refused") << '\n'
            << "the late write:     " << (late ? "accepted" : "refused") << '\n';
  return written && !late;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
