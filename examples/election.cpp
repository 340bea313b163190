// SPDX-License-Identifier: Apache-2.0
// One of many processes does the work, and all of them know which one.

#include <latchkey/election.hpp>
#include <latchkey/leader_view.hpp>

#include <chrono>
#include <iostream>
#include <sstream>
#include <stop_token>
#include <thread>

#include "with_connect_string.hpp"

using namespace std::chrono_literals;

namespace {

void tell(const latchkey::leader_sighting& seen) {
  std::ostringstream line;
  if (seen.who) {
    line << seen.who->id << " leads, term " << to_string(seen.who->term);
  } else {
    line << (seen.known ? "no process leads" : "not connected: who leads is not known");
  }
  std::cout << line.str() + '\n';
}

bool example(const std::string& connect_string) {
  latchkey::client client{connect_string, {.label = "payout-1"}};
  const latchkey::leader_view view{client, "/elections/payout", tell};
  latchkey::election payout{client, "/elections/payout"};

  std::stop_source shutdown;
  int paid = 0;
  payout.run(shutdown.get_token(), [&](const latchkey::grant& term, std::stop_token stop) {
    while (!stop.stop_requested()) {  // until the term is lost, or the service shuts down
      std::this_thread::sleep_for(100ms);
      std::cout << "paid with token " + to_string(term.fence()) + '\n';
      if (++paid == 3) shutdown.request_stop();
    }
  });  // resigns when the work has returned
  return paid == 3;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
