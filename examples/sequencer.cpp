// SPDX-License-Identifier: Apache-2.0
// A server that asks the ensemble whether the sender of a request still has the lock.

#include <latchkey/fence_gate.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/sequencer.hpp>

#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "with_connect_string.hpp"

namespace {

/// The server: it has a client of its own, and takes no lock.
class ledger {
 public:
  explicit ledger(const std::string& connect_string) : client_{connect_string} {
    if (!client_.wait_for_connection(std::chrono::seconds{10})) throw std::runtime_error{"no server answers"};
  }

  /// @param sender from the header of the request
  bool book(const std::string& sender, const std::string& entry) {
    const auto claim = latchkey::parse_sequencer(sender);
    const auto pass = gate_.admit("ledger", claim.token);  // until the end of the scope the next holder waits here
    if (!pass || !check_sequencer(client_, claim)) return false;
    entries_.push_back(entry);
    return true;
  }

  /// May be wrong for a moment, and mostly costs no request.
  bool shows_page(const std::string& sender) { return seen_.looks_valid(latchkey::parse_sequencer(sender)); }

 private:
  latchkey::client client_;
  latchkey::sequencer_cache seen_{client_};
  latchkey::fence_gate<std::string> gate_;
  std::vector<std::string> entries_;
};

bool example(const std::string& connect_string) {
  ledger server{connect_string};
  latchkey::client one{connect_string};
  latchkey::client two{connect_string};
  latchkey::mutex nightly{one, "/locks/sequencer"};
  latchkey::mutex next{two, "/locks/sequencer"};

  auto held = nightly.acquire();
  const auto header = to_string(sequencer_of(held.grant()));
  const bool shown = server.shows_page(header);
  const bool booked = server.book(header, "invoice 1");
  held.release();

  const auto next_held = next.acquire();
  const bool late = server.book(header, "invoice 1 again, by one who does not know that its time is over");

  std::cout << "Lock: " << header << '\n'
            << "the holder's request: " << (shown && booked ? "accepted" : "refused") << '\n'
            << "the late request:     " << (late ? "accepted" : "refused") << '\n';
  return shown && booked && !late;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
