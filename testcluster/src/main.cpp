// SPDX-License-Identifier: Apache-2.0
// latchkey-testcluster: a ZooKeeper ensemble for as long as this program runs.

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "latchkey/testing/ensemble.hpp"
#include "latchkey/testing/proxy.hpp"

namespace {

using latchkey::testing::ensemble;
using latchkey::testing::ensemble_options;
using std::chrono::milliseconds;

constexpr int cannot_start = 1;
constexpr int bad_usage = 2;

struct settings {
  ensemble_options options;
  std::uint16_t port = 0;
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

/// A whole number above 0. That of CLI11 names the largest double as the limit.
const CLI::Validator positive{[](const std::string& given) {
                                long long number = 0;
                                if (CLI::detail::lexical_cast(given, number) && number > 0) return std::string{};
                                return given + " is no whole number above 0";
                              },
                              "POSITIVE"};

void describe(CLI::App& up, settings& set) {
  up.add_option("--servers", set.options.servers, "How many servers")->check(CLI::Range(1, 9))->capture_default_str();
  up.add_option("--port", set.port, "Where the first server serves, the others on the next ports; default: free ports")
      ->check(CLI::Range(1, 65'526));
  up.add_option("--tick", set.tick, "tickTime, in milliseconds")->check(positive)->capture_default_str();
  up.add_option("--init-limit", set.options.init_limit, "initLimit, in ticks")->check(positive)->capture_default_str();
  up.add_option("--sync-limit", set.options.sync_limit, "syncLimit, in ticks")->check(positive)->capture_default_str();
  up.add_option("--min-session-timeout", set.min_session_timeout, "In milliseconds; default: two ticks")
      ->check(positive);
  up.add_option("--max-session-timeout", set.max_session_timeout, "In milliseconds")
      ->check(positive)
      ->capture_default_str();
  up.add_option("--container-check-interval", set.container_check_interval, "In milliseconds")
      ->check(positive)
      ->capture_default_str();
  up.add_option("--start-timeout", set.start_timeout, "In milliseconds")->check(positive)->capture_default_str();
  up.add_option("--data", set.options.data_dir, "Keep the data here; default: a temporary folder, removed at the end");
  up.add_option("--config", set.options.config_lines, "A line for every zoo.cfg; may be repeated");
  up.add_option("--jvm", set.options.jvm_args, "An argument for every JVM, as --jvm=-Xmx1g; may be repeated");
}

/// Blocks the signals that end us, for this thread and those it starts, so that `serve` sees them.
sigset_t block_ending_signals() {
  sigset_t ending;
  ::sigemptyset(&ending);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ending, number);
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  return ending;
}

constexpr auto commands =
    "pause N (SIGSTOP), resume N, kill N (SIGKILL), start N, restart N; N is the number of a server, from 0";

/// Does what a line of the standard input says.
void obey(ensemble& servers, const std::string& line) try {
  static const std::map<std::string, void (ensemble::*)(std::size_t)> all{{"pause", &ensemble::pause},
                                                                          {"resume", &ensemble::resume},
                                                                          {"kill", &ensemble::kill},
                                                                          {"start", &ensemble::start},
                                                                          {"restart", &ensemble::restart}};
  std::istringstream words{line};
  std::string what;
  std::string more;
  std::size_t server = 0;
  if (!(words >> what)) return;
  const auto command = all.find(what);
  if (command == all.end() || !(words >> server) || server >= servers.size() || words >> more) {
    std::cerr << "Commands: " << commands << std::endl;
    return;
  }
  (servers.*command->second)(server);
  std::cerr << "server " << server << ": " << what << " done" << std::endl;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
}

/// Says which servers have died, by a command or otherwise, once.
class obituaries {
 public:
  explicit obituaries(const ensemble& servers) : servers_{servers}, alive_(servers.size(), true) {}

  void tell() {
    for (std::size_t i = 0; i < alive_.size(); ++i) {
      const bool alive = servers_.pid(i) != 0;
      if (alive_[i] && !alive) {
        std::cerr << "server " << i << " is dead; its log: " << servers_.log(i).string() << std::endl;
      }
      alive_[i] = alive;
    }
  }

 private:
  const ensemble& servers_;
  std::vector<bool> alive_;
};

/// Obeys the standard input, and tells of servers that die, until a signal of `ending` comes.
void serve(ensemble& servers, const sigset_t& ending) {
  std::signal(SIGTTIN, SIG_IGN);  // in the background there is no input
  std::string input;
  obituaries dead{servers};
  std::array<pollfd, 2> watched{{{::signalfd(-1, &ending, SFD_CLOEXEC), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  for (;;) {
    ::poll(watched.data(), watched.size(), 200);
    if (watched[0].revents != 0) return;
    dead.tell();
    if (watched[1].revents == 0) continue;
    std::array<char, 256> some{};
    const auto size = ::read(STDIN_FILENO, some.data(), some.size());
    if (size <= 0) watched[1].fd = -1;
    input.append(some.data(), static_cast<std::size_t>(std::max<::ssize_t>(size, 0)));
    for (auto end = input.find('\n'); end != input.npos; end = input.find('\n')) {
      obey(servers, input.substr(0, end));
      input.erase(0, end + 1);
    }
  }
}

int up(const ensemble_options& options, std::uint16_t port) {
  const auto ending = block_ending_signals();
  ensemble servers{options};
  std::optional<latchkey::testing::proxy> fixed;
  if (port != 0) fixed.emplace(servers.addresses(), port);
  std::cout << (fixed ? fixed->connect_string() : servers.connect_string()) << std::endl;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    std::cerr << "server " << i << ": " << (fixed ? fixed->connect_string(i) : servers.connect_string(i))
              << ", ZooKeeper " << servers.admin(i).srvr().version << ", pid " << servers.pid(i) << ", log "
              << servers.log(i).string() << "\n";
  }
  std::cerr << "Press Ctrl-C to end. Commands: " << commands << std::endl;
  serve(servers, ending);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  settings set;
  CLI::App app{"A real ZooKeeper ensemble on this machine, for tests.", "latchkey-testcluster"};
  auto* command =
      app.add_subcommand("up", "Start an ensemble, print its connect string, serve until Ctrl-C or SIGTERM");
  describe(*command, set);
  const auto note = std::string{"Commands, one on each line of the standard input:\n  "} + commands;
  app.footer(note);
  command->footer(note);
  try {
    app.parse(argc, argv);
    if (!command->parsed()) throw CLI::RequiredError{"A command (`up`)"};
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? EXIT_SUCCESS : bad_usage;
  }
  try {
    return up(set.finished(), set.port);
  } catch (const std::exception& error) {
    std::cerr << "latchkey-testcluster: " << error.what() << std::endl;
    return cannot_start;
  }
}
