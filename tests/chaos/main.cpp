// SPDX-License-Identifier: Apache-2.0
// chaos: workers that take locks while servers, processes and links fail at random; then a reader of what happened.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "checker.hpp"
#include "picture.hpp"
#include "run.hpp"
#include "summary.hpp"
#include "worker.hpp"

namespace {

constexpr int violated = 1;
constexpr int cannot_run = 2;
constexpr std::size_t most_shown = 20;

/// What is printed of REPORT.md.
struct rows {
  bool report = false;
  std::string compare;  ///< the name of its row; empty: none
};

/// @returns the exit code.
int judge(const std::filesystem::path& folder, std::uint64_t seed, std::filesystem::path svg, const rows& wanted) {
  const auto all = chaos::load(folder);
  const auto found = chaos::check(all, chaos::default_limits());
  if (svg.empty() && !found.empty()) svg = folder / "history.svg";
  if (!svg.empty()) {
    chaos::draw(all, found, svg);
    fmt::print("picture: {}\n", svg.string());
  }
  const auto begin = all.events.empty() ? chaos::clock::time_point{} : all.events.front().at;
  for (std::size_t i = 0; i < found.size() && i < most_shown; ++i) {
    fmt::print("VIOLATION ({}) at {:.3f} s: {}\n", to_string(found[i].which),
               std::chrono::duration<double>{found[i].at - begin}.count(), found[i].text);
  }
  if (found.size() > most_shown) fmt::print("... and {} more\n", found.size() - most_shown);
  const auto facts = chaos::facts_of(all, found, seed);
  fmt::print("\n{}", chaos::text_of(facts));
  if (wanted.report) fmt::print("\n{}", chaos::row_of_report(facts));
  if (!wanted.compare.empty()) fmt::print("\n{}", chaos::row_of_comparison(wanted.compare, facts));
  return found.empty() ? EXIT_SUCCESS : violated;
}

int run_and_judge(chaos::run_options how, const std::filesystem::path& svg, const rows& wanted) {
  const bool keep = !how.folder.empty();
  if (!keep) {
    how.folder = std::filesystem::temp_directory_path() / fmt::format("latchkey-chaos-{}-{}", how.seed, ::getpid());
  }
  std::filesystem::create_directories(how.folder);
  if (!std::filesystem::is_empty(how.folder)) {
    fmt::print(stderr, "chaos: {} is not empty\n", how.folder.string());
    return cannot_run;
  }
  fmt::print("seed {}, {} s of faults; the history is in {}\n", how.seed, how.duration.count(), how.folder.string());
  std::fflush(stdout);
  chaos::run_chaos(how);
  const int code = judge(how.folder, how.seed, svg, wanted);
  if (code == EXIT_SUCCESS && !keep) std::filesystem::remove_all(how.folder);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  chaos::run_options how;
  long long seconds = how.duration.count();
  std::string families = to_string(how.families);
  std::string svg;
  std::string folder_to_check;
  std::string program;
  std::string service;
  rows wanted;
  CLI::App app{"Workers take locks while servers, processes and links fail at random; what they saw is checked.",
               "chaos"};
  app.add_option("--seed", how.seed, "Of all that is random (default: 1)")->envname("LATCHKEY_SEED");
  app.add_option("--seconds", seconds, "For how long there are faults (default: 45)")
      ->envname("LATCHKEY_CHAOS_SECONDS")
      ->check(CLI::PositiveNumber);
  app.add_option("--servers", how.servers, "3 (default) or 5; of another service also 1")
      ->check(CLI::IsMember({1, 3, 5}));
  app.add_option("--workers", how.workers, "Processes (default: 5)")->check(CLI::Range(1, 50));
  app.add_option("--threads", how.threads, "Of each worker (default: 2)")->check(CLI::Range(1, 50));
  app.add_option("--fibers", how.fibers, "On each thread (default: 2)")->check(CLI::Range(1, 500));
  app.add_option("--locks", how.locks, "How many (default: 4); half of the calls are for the first")
      ->check(CLI::Range(1, 500));
  app.add_option("--families", families, "To draw those of the locks from: some of " + families + " (default: all)");
  app.add_flag("--outside", how.from_outside, "Also end sessions, which no lease can foresee");
  app.add_flag("--log", how.log, "Keep what the library says");
  app.add_option("--keep", how.folder, "Keep the history, in this folder");
  app.add_option("--svg", svg, "Draw the history into this file");
  app.add_flag("--report", wanted.report, "Also print a row of REPORT.md");
  app.add_flag("--common", how.common, "Only faults that there are for every lock service");
  app.add_option("--worker", program,
                 "The command of a worker of another library, see others/worker.py; as with --common");
  app.add_option("--service", service, "The program that has the servers of another service, see others/worker.py");
  app.add_option("--compare", wanted.compare, "Also print a row of the comparison in REPORT.md, with this name");
  app.add_option("--check", folder_to_check, "Make no run, judge the history in this folder");

  chaos::worker_options work;
  long long session_timeout = 0;
  long long linger = 0;
  auto* worker = app.add_subcommand("worker", "")->group("");  // for the run itself
  worker->add_option("name", work.name)->required();
  worker->add_option("--folder", work.folder)->required();
  worker->add_option("--connect", work.connect_string)->required();
  worker->add_option("--session-timeout", session_timeout)->required();
  worker->add_option("--seed", work.seed)->required();
  worker->add_option("--turns", work.turns)->required();
  worker->add_option("--linger", linger)->required();
  worker->add_option("--families", families)->required();
  worker->add_option("--threads", work.threads)->required();
  worker->add_option("--fibers", work.fibers)->required();
  worker->add_flag("--peers", work.peers);
  worker->add_flag("--log", work.log);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? EXIT_SUCCESS : cannot_run;
  }
  try {
    if (worker->parsed()) {
      work.session_timeout = std::chrono::milliseconds{session_timeout};
      work.linger = std::chrono::milliseconds{linger};
      work.families = chaos::parse_families(families);
      return chaos::run_worker(work);
    }
    if (!folder_to_check.empty()) return judge(folder_to_check, how.seed, svg, wanted);
    how.duration = std::chrono::seconds{seconds};
    how.families = chaos::parse_families(families);
    how.program = CLI::detail::split_up(program);
    how.service = CLI::detail::split_up(service);
    if (how.servers == 1 && how.service.empty()) throw std::invalid_argument{"one server is for --service"};
    if (!how.program.empty()) {
      how.families = {chaos::family::foreign};
      how.common = true;
    }
    return run_and_judge(how, svg, wanted);
  } catch (const std::exception& error) {
    fmt::print(stderr, "chaos: {}\n", error.what());
    return cannot_run;
  }
}
