// SPDX-License-Identifier: Apache-2.0
// tour: three processes, one lock, and an ensemble that fails on the way; then a read-write lock.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "checks.hpp"
#include "script.hpp"
#include "signals.hpp"
#include "worker.hpp"

namespace {

constexpr int check_failed = 1;
constexpr int cannot_run = 2;

constexpr auto description =
    "Three worker processes of several fibers each contend for one latchkey::mutex on a real ensemble of three "
    "servers,\n"
    "which is started here and hurt on the way: the leader is killed, and a holder is cut off until its session "
    "expires.\n"
    "Then four more processes share a latchkey::shared_mutex: readers, a writer, and a writer that becomes a reader.\n"
    "Each line of the timeline says after how many milliseconds who did what, and with which fencing token.\n"
    "The exit code is 0 when no holders overlapped, no token went backwards and all that had to happen happened;\n"
    "1 when not; 2 when the tour cannot run; 130 after Ctrl-C.";

int run_tour(const tour::script_options& how) {
  const tour::signals ending;
  tour::summary result;
  bool was_interrupted = false;
  {
    tour::script script{how, ending.stop_token()};
    result = script.run();
    was_interrupted = script.interrupted();
  }
  fmt::print("\n{}", to_text(result));
  if (!result.complaints.empty()) return check_failed;
  fmt::print("{}\n", was_interrupted ? "Interrupted; so far all was well." : "All is well.");
  return was_interrupted ? tour::interrupted : EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  tour::script_options how;
  CLI::App app{description, "tour"};
  app.add_option("--connect", how.connect_string, "Use this ensemble, and make no faults")->envname("LATCHKEY_CONNECT");
  app.add_flag("--log", how.log, "What the library and the C client say, on stderr");

  tour::worker_options work;
  long long session_timeout = 0;
  auto* worker = app.add_subcommand("worker", "")->group("");  // for the tour itself
  worker->add_option("name", work.name)->required();
  worker->add_option("--connect", work.connect_string)->required();
  worker->add_option("--session-timeout", session_timeout)->required();
  worker->add_flag("--obeys", work.obeys);
  worker->add_flag("--log", work.log);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? EXIT_SUCCESS : cannot_run;
  }
  try {
    if (!worker->parsed()) return run_tour(how);
    work.session_timeout = std::chrono::milliseconds{session_timeout};
    return tour::run_worker(work);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tour: {}\n", error.what());
    return cannot_run;
  }
}
