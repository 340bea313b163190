// SPDX-License-Identifier: Apache-2.0
// bank CONNECT_STRING PORT CONFIG: serves until SIGTERM or SIGINT. With port 0, on a free one: see the log.

#include <latchkey/log.hpp>

#include <csignal>
#include <iostream>
#include <stdexcept>

#include "http.hpp"

int main(int argc, char** argv) try {
  if (argc != 4) throw std::invalid_argument{"usage: bank CONNECT_STRING PORT CONFIG"};
  sigset_t signals;  // blocked before the first thread starts, so that sigwait() takes them
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  latchkey::set_log_sink([](latchkey::log_level level, std::string_view line) {
    if (level >= latchkey::log_level::info) bank::log(to_string(level), line, {{"from", "latchkey"}});
  });

  bank::reachability ensemble;
  bank::ledger accounts;
  latchkey::client client{argv[1], {.label = "bank", .observer = std::ref(ensemble)}};
  bank::service service{client, ensemble, accounts, argv[3]};
  bank::http_server front{static_cast<std::uint16_t>(std::stoi(argv[2])),
                          [&](auto method, auto target) { return service.handle(method, target); }};
  std::jthread nightly{[&](std::stop_token shutdown) { service.every_night(shutdown); }};
  bank::log("info", "serving", {{"port", front.port()}});

  int signal = 0;
  sigwait(&signals, &signal);
  bank::log("info", "stopping", {{"signal", signal}});
  front.stop();  // answers the requests that are under way; then the nightly job ends, then the client
} catch (const std::exception& failure) {
  std::cerr << "bank: " << failure.what() << '\n';
  return 1;
}
