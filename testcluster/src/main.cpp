// SPDX-License-Identifier: Apache-2.0
// latchkey-testcluster: a ZooKeeper ensemble for as long as this program runs.

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "latchkey/testing/ensemble.hpp"

namespace {

using latchkey::testing::ensemble;
using latchkey::testing::ensemble_options;
using std::chrono::milliseconds;

constexpr int cannot_start = 1;
constexpr int bad_usage = 2;

struct settings {
  ensemble_options options;
  long long tick = options.tick.count();
  long long min_session_timeout = 0;
  long long max_session_timeout = options.max_session_timeout.count();
  long long container_check_interval = options.container_check_interval.count();
  long long start_timeout = options.start_timeout.count();

  ensemble_options finished() {
    options.tick = milliseconds{tick};
    if (min_session_timeout > 0) options.min_session_timeout = milliseconds{min_session_timeout};
    options.max_session_timeout = milliseconds{max_session_timeout};
    options.container_check_interval = milliseconds{container_check_interval};
    options.start_timeout = milliseconds{start_timeout};
    return options;
  }
};

void describe(CLI::App& up, settings& set) {
  up.add_option("--servers", set.options.servers, "How many servers")->check(CLI::Range(1, 9))->capture_default_str();
  up.add_option("--tick", set.tick, "tickTime, in milliseconds")->check(CLI::PositiveNumber)->capture_default_str();
  up.add_option("--init-limit", set.options.init_limit, "initLimit, in ticks")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  up.add_option("--sync-limit", set.options.sync_limit, "syncLimit, in ticks")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  up.add_option("--min-session-timeout", set.min_session_timeout, "In milliseconds; default: two ticks")
      ->check(CLI::PositiveNumber);
  up.add_option("--max-session-timeout", set.max_session_timeout, "In milliseconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  up.add_option("--container-check-interval", set.container_check_interval, "In milliseconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  up.add_option("--start-timeout", set.start_timeout, "In milliseconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  up.add_option("--data", set.options.data_dir, "Keep the data here; default: a temporary folder, removed at the end");
  up.add_option("--config", set.options.config_lines, "A line for every zoo.cfg; may be repeated");
  up.add_option("--jvm", set.options.jvm_args, "An argument for every JVM, as --jvm=-Xmx1g; may be repeated");
}

/// Blocks the signals that end us, for this thread and those it starts, so that wait_for_the_end sees them.
sigset_t block_ending_signals() {
  sigset_t ending;
  ::sigemptyset(&ending);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ending, number);
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  return ending;
}

int up(const ensemble_options& options) {
  const auto ending = block_ending_signals();
  const ensemble servers{options};
  std::cout << servers.connect_string() << std::endl;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    std::cerr << "server " << i << ": " << servers.connect_string(i) << ", ZooKeeper "
              << servers.admin(i).srvr().version << ", pid " << servers.pid(i) << ", log " << servers.log(i).string()
              << "\n";
  }
  std::cerr << "Press Ctrl-C to end." << std::endl;
  int number = 0;
  ::sigwait(&ending, &number);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  settings set;
  CLI::App app{"A real ZooKeeper ensemble on this machine, for tests.", "latchkey-testcluster"};
  app.require_subcommand(1);
  auto* command =
      app.add_subcommand("up", "Start an ensemble, print its connect string, serve until Ctrl-C or SIGTERM");
  describe(*command, set);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? EXIT_SUCCESS : bad_usage;
  }
  try {
    return up(set.finished());
  } catch (const std::exception& error) {
    std::cerr << "latchkey-testcluster: " << error.what() << std::endl;
    return cannot_start;
  }
}
