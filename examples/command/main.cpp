// SPDX-License-Identifier: Apache-2.0
// latchkey: looks at the locks of an ensemble, and gets one back. Built on the public headers of the library alone.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <latchkey/settings.hpp>
#include <latchkey/version.hpp>

#include "commands.hpp"
#include "completion.hpp"
#include "connection.hpp"
#include "doctor.hpp"
#include "exit_code.hpp"
#include "parsed_options.hpp"
#include "restart.hpp"
#include "run.hpp"
#include "run_sessions.hpp"
#include "show.hpp"

namespace {

using command::add_choice;
using command::add_duration;
using command::add_number;
using command::add_parsed;
using command::context;
using command::exit_code;
using command::most_int;

/// All that the command line can say.
struct arguments {
  command::settings connection;
  bool json = false;
  std::string path;
  std::size_t most = 100;
  command::list_options list;
  std::optional<std::chrono::milliseconds> wait;
  command::evict_options evict;
  std::string sequencer;
  std::string root = "/";
  std::chrono::milliseconds pause = std::chrono::seconds{5};
  std::chrono::milliseconds bench_for = std::chrono::seconds{2};
  bool follow = false;
  command::watch_options watch;
  command::doctor_options doctor;
  std::string shell;
  command::run_options run;
  bool restart = false;
};

void add_peers(CLI::App& app, arguments& to) {
  app.add_option("--peers", to.connection.peers,
                 "Tell the next process by a datagram; where to listen, as 0.0.0.0:0, and what others send to")
      ->expected(0, 1);
}

void describe_run(CLI::App& app, arguments& to) {
  auto& set = to.run;
  auto* run = app.add_subcommand("run", "Run a command under a lock: it is dead before another contender has the lock");
  run->add_option("--path", set.paths, "Of the lock; given several times: all of these locks together")
      ->required()
      ->allow_extra_args(false);
  run->add_flag("--any", set.any, "Of several paths whichever is free first");
  run->add_flag("-s,--shared", set.shared, "As a reader");
  run->add_flag("--robust", set.robust, "Tell the next such run if the command dies, or does not end with 0");
  add_duration(*run, "--lock-delay", set.lock_delay, "After a death keep a --robust lock for so long, at most 1m");
  add_number(*run, "--semaphore", set.permits_in_all, "A permit of so many", 1, most_int);
  add_number(*run, "--permits", set.permits, "So many permits together; default: 1", 1, 500);
  add_peers(*run, to);
  run->add_option("--elect", set.elect, "As a candidate with this identity; default: the name of the host")
      ->expected(0, 1)
      ->option_text("[ID]");
  run->add_flag("--selector", set.selector, "Of an election of Curator's LeaderSelector");
  run->add_flag("-n,--try", set.try_once, "Do not wait");
  add_duration(*run, "-w,--wait", set.wait, "Wait so long for the lock, as 30s; default: for ever");
  add_number(*run, "-E,--conflict-exit-code", set.conflict_code, "If the lock was not taken in time; default: 1", 0,
             255);
  add_choice(
      *run, "--on-loss", set.how, "What becomes of the command: term (the default), kill or notify",
      {{"term", command::on_loss::term}, {"kill", command::on_loss::kill}, {"notify", command::on_loss::notify}});
  add_duration(*run, "--grace", set.grace, "Between TERM and KILL at a loss");
  add_parsed(*run, "--loss-signal", set.loss_signal, "Of --on-loss=notify; default: USR1", command::parse_signal)
      ->type_name("SIGNAL");
  run->add_flag("--stop-when-asked", set.stop_when_asked, "End the command when `latchkey ask` wants the lock");
  add_duration(*run, "-k,--kill-after", set.kill_after, "After a signal that ends the command, KILL so much later");
  add_duration(*run, "--max-hold", set.max_hold, "End the command then; exit code 124");
  add_duration(*run, "--hold-for", set.hold_for, "Keep the lock for so long at least");
  add_choice(
      *run, "--leftover", set.rest, "What becomes of processes that outlive the command: wait, term or leave",
      {{"wait", command::leftover::wait}, {"term", command::leftover::end}, {"leave", command::leftover::leave}});
  add_choice(*run, "--contain", set.where,
             "How the processes of the command are found: auto (the default), tree or cgroup",
             {{"auto", command::containment::automatic},
              {"tree", command::containment::tree},
              {"cgroup", command::containment::cgroup}});
  run->add_flag("--restart", to.restart, "Again and again, until a signal or wrong arguments end it");
  run->add_option("--session-file", set.session_folder,
                  "A folder on this host, by which the next run frees the lock at once if this one is killed; or none")
      ->type_name("FOLDER");
  run->add_flag("--notify", set.notify, "Tell systemd when the command runs, and what is waited for before");
  run->add_option("--report", set.report, "Write how it ended to this file, as JSON");
  run->add_option("--textfile", set.textfile, "Write metrics to this file, for Prometheus");
  run->footer(
      "The command and its arguments follow after --, as in: latchkey run -n --path /locks/nightly -- ./nightly.sh");
}

void describe_connection(CLI::App& app, arguments& to) {
  auto& set = to.connection;
  app.add_option("-c,--connect", set.connect,
                 "The servers, as zk1:2181,zk2:2181/chroot; else LATCHKEY_CONNECT, or connect= of the settings file");
  app.add_option("--auth-file", set.auth_file,
                 "A file with credentials, a line each as digest:user:password, of mode 0600; else LATCHKEY_AUTH_FILE");
  app.add_option("-T,--session-timeout", set.session_timeout, "Of the session; else LATCHKEY_SESSION_TIMEOUT, or 10s");
  app.add_option("--label", set.label, "The name of this client, which its nodes show to others; else LATCHKEY_LABEL");
  app.add_option("--acl", set.acl, "Of nodes that are created, as auth::cdrwa,world:anyone:r; else LATCHKEY_ACL");
  app.add_option("--tls", set.tls, "Certificates, as ca.pem,client.pem,client.key; else LATCHKEY_TLS");
  app.add_option("--config", set.config, "The settings file; default: /etc/latchkey.conf");
  add_duration(app, "--timeout", set.timeout, "How long the ensemble may take to answer; default: 10s");
  app.add_flag("--json", to.json, "Print JSON, an object a line");
  app.add_flag("-v,--verbose", set.verbose, "Print the log of the library to the standard error");
}

void describe_commands(CLI::App& app, arguments& to) {
  auto* status = app.add_subcommand("status", "Show who holds a lock, who waits, and since when");
  status->add_option("path", to.path, "Of the lock")->required();
  add_number(*status, "--most", to.most, "Read so many contenders, and count the others; default: 100", 0, most_int);

  auto* list = app.add_subcommand("list", "List the locks that are held or waited for; exit code 1 if none matches");
  list->add_option("path", to.list.root, "Those below it, and itself; default: /");
  list->add_flag("--names", to.list.names, "Print the paths only");
  list->add_flag("--waiting", to.list.waiting, "Those that a contender waits for");
  add_duration(*list, "--older-than", to.list.older_than, "Those whose first holder has held for longer, as 10m or 3d",
               command::longest_age);

  auto* watch =
      app.add_subcommand("watch", "Show each change of a queue, until a signal; creates a path that is missing");
  watch->add_option("path", to.watch.path, "Of the lock")->required();
  watch->add_flag("--semaphore", to.watch.semaphore, "It is a semaphore, also if no one uses it now");
  add_number(*watch, "--most", to.watch.most,
             "Read so many contenders, and name the others by their nodes; default: 100", 0, most_int);

  auto* ask = app.add_subcommand("ask", "Ask the holders of a lock to release it");
  ask->add_option("path", to.path, "Of the lock")->required();
  add_duration(*ask, "--wait", to.wait, "Wait so long until they have released it; exit code 1 if they have not");

  auto* evict = app.add_subcommand("evict", "Delete the node of a contender by force");
  evict->add_option("path", to.evict.path, "Of the lock")->required();
  evict->add_option("node", to.evict.node, "Its name, as status shows it")->required();
  evict->add_flag("--yes", to.evict.yes, "Do it; without this, say what it means");
  evict->add_flag("--holder", to.evict.holder, "Also if it holds the lock");

  auto* check = app.add_subcommand("check", "Ask a quorum whether the holder who sent a sequencer is still there");
  check->add_option("sequencer", to.sequencer, "As to_string(sequencer) prints it: lk1:...")->required();

  auto* leader = app.add_subcommand("leader", "Show who leads an election; exit code 1 if no candidate does");
  leader->add_option("path", to.path, "Of the election")->required();
  leader->add_flag("--follow", to.follow, "Go on with each change, until a signal; creates a path that is missing");

  auto* release = app.add_subcommand("release", "End the session that a process which has died has left in its file");
  release->add_option("file", to.path, "Of client_options::session_file")->required();

  auto* doctor = app.add_subcommand(
      "doctor", "Look whether locks work well with these servers; exit code 0, 1 (warnings) or 2 (failures)");
  doctor->add_option("--path", to.doctor.path, "Of a lock, or above it: whether it is open to anyone");
  add_peers(*doctor, to);
  add_duration(*doctor, "--server-tick", to.doctor.server_tick, "The tickTime of the servers, as 2s");

  auto* deadlocks =
      app.add_subcommand("deadlocks", "Show sessions that wait for one another; exit code 1 if there are any");
  deadlocks->add_option("path", to.root, "Of locks below it, and at it; default: /");
  add_duration(*deadlocks, "--pause", to.pause, "Between two looks, which must see the same; default: 5s");

  auto* bench = app.add_subcommand("bench", "Measure how fast locks are with these servers");
  bench->add_option("path", to.path, "Locks a fresh path below it")->required();
  add_parsed(*bench, "--for", to.bench_for, "Measure each for so long; default: 2s", [](const std::string& given) {
    const auto time = latchkey::parse_duration(given);
    return time > std::chrono::milliseconds{0} ? time : throw command::usage_error{"nothing is measured in no time"};
  })->type_name("DURATION");

  auto* completion = app.add_subcommand("completion", "Print a script that completes command lines in a shell");
  completion->add_option("shell", to.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

latchkey::sequencer sequencer_of(const std::string& text) try {
  return latchkey::parse_sequencer(text);
} catch (const std::invalid_argument&) {
  throw command::usage_error{fmt::format(
      "\"{}\" is not a sequencer; give what a holder has sent, lk1:..., as latchkey run has it in LATCHKEY_SEQUENCER",
      command::printable(text))};
}

int fail(const std::string& what, exit_code code) {
  std::cerr << "latchkey: " << command::printable_sentence(what) << '\n';
  return static_cast<int>(code);
}

int fail_to_write() { return fail("the output could not be written", exit_code::failed); }

/// From the environment and the settings file, what was not given.
void fill_in(arguments& with) {
  command::fill_in(with.connection, [](const char* variable) { return std::getenv(variable); });
}

int run_under_lock(arguments& with) {
  if (with.run.command.empty()) throw command::usage_error{"no command to run; write it after --"};
  if (with.run.loss_signal && with.run.how != command::on_loss::notify)
    throw command::usage_error{"--loss-signal goes with --on-loss=notify"};
  fill_in(with);
  with.run.direct = with.connection.peers.has_value();
  const auto one = [&] { return command::run_under_lock(with.connection, with.run); };
  return with.restart ? command::run_again_and_again(one, with.run.notify) : one().code;
}

int examine(arguments& with) {
  fill_in(with);
  const auto worst = command::examine(with.connection, with.doctor, std::cout, with.json);
  return std::cout ? static_cast<int>(worst) : fail_to_write();  // as nagios has them
}

exit_code run(const CLI::App& app, arguments& with) {
  const auto& name = app.get_subcommands().front()->get_name();
  if (name == "completion") {
    std::cout << command::completion_for(with.shell, app);
    return exit_code::yes;
  }
  std::optional<latchkey::sequencer> sequencer;
  if (name == "check") sequencer = sequencer_of(with.sequencer);
  const bool follows = with.follow || name == "watch";
  if (follows) command::block_ending_signals();
  fill_in(with);
  if (name == "release") return command::release(with.connection, with.path, std::cout, with.json);
  const command::budget time{with.connection.timeout};
  const auto client = command::connect(with.connection, time, command::purpose::look,
                                       follows ? command::ending_signal_is_pending : command::never);
  if (follows && command::ending_signal_is_pending()) return exit_code::yes;
  const context here{*client, time, std::cout, with.json};
  if (name == "status") return command::show_status(here, with.path, with.most);
  if (name == "list") return command::list_locks(here, with.list);
  if (name == "watch") return command::watch(here, with.watch);
  if (name == "ask") return command::ask(here, with.path, with.wait);
  if (name == "evict") return command::evict(here, with.evict);
  if (name == "deadlocks") return command::find_deadlocks(here, with.root, with.pause);
  if (name == "bench") return command::bench(here, with.connection, with.path, with.bench_for);
  if (name == "check") return command::check(here, *sequencer);
  return with.follow ? command::follow_leader(here, with.path) : command::show_leader(here, with.path);
}

/// What follows "--" after "run" is the command, whatever it looks like: CLI11 would read its options.
std::vector<std::string> cut_command(std::vector<std::string>& given) {
  const auto end = std::find(given.begin(), given.end(), "--");
  if (end == given.end() || std::find(given.begin(), end, "run") == end) return {};
  std::vector<std::string> cut(end + 1, given.end());
  given.erase(end, given.end());
  return cut;
}

/// CLI11 takes the word behind an empty value for the value, and an empty value for none.
void refuse_empty(const std::vector<std::string>& given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto& each = given[i];
    const bool lacks = each.starts_with("--") && each.ends_with('=');
    if (!lacks && !each.empty()) continue;
    throw command::usage_error{
        lacks ? fmt::format("{} has no value; leave it out, or write one", command::printable(each))
              : fmt::format("the argument behind {} is empty; leave both out, or write one",
                            i == 0 ? "latchkey" : command::printable(given[i - 1]))};
  }
}

bool is_command(CLI::App& app, const std::string& name) {
  const auto all = app.get_subcommands([&](const CLI::App* each) { return each->get_name() == name; });
  return !all.empty();
}

/// A command may well exit with 2, and a doctor does.
exit_code usage_of(const std::vector<std::string>& given) {
  const auto names = [&](const char* command) { return std::find(given.begin(), given.end(), command) != given.end(); };
  return names("run") || names("doctor") ? exit_code::usage_of_run : exit_code::usage;
}

/// @returns the exit code, whatever happens.
int run_safely(CLI::App& app, arguments& with, std::vector<std::string> given) try {
  with.run.command = cut_command(given);
  refuse_empty(given);
  if (given.empty()) throw command::usage_error{"no command is given; see latchkey --help"};
  if (!given.front().starts_with('-') && !is_command(app, given.front()))
    throw command::usage_error{fmt::format("there is no command \"{}\"; see latchkey --help", given.front())};
  app.parse(std::vector<std::string>(given.rbegin(), given.rend()));  // as CLI11 wants them
  if (app.got_subcommand("run")) return run_under_lock(with);
  if (app.got_subcommand("doctor")) return examine(with);
  const auto code = run(app, with);
  std::cout.flush();
  return std::cout ? static_cast<int>(code) : fail_to_write();
} catch (const CLI::ParseError& wrong) {
  if (wrong.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help, --version
    app.exit(wrong);
    return static_cast<int>(exit_code::yes);
  }
  const auto used = app.get_subcommands();
  const auto of = used.empty() ? std::string{} : used.front()->get_name() + " ";
  const bool misses_dashes = dynamic_cast<const CLI::ExtrasError*>(&wrong) != nullptr && of == "run ";
  const auto* const hint = misses_dashes ? "write the command after --; " : "";
  return fail(fmt::format("{}; {}see latchkey {}--help", wrong.what(), hint, of), usage_of(given));
} catch (const command::usage_error& wrong) {
  return fail(wrong.what(), usage_of(given));
} catch (const latchkey::error& failed) {
  const auto code = command::code_of(command::errc_of(failed));
  return fail(command::text_of(failed), code == exit_code::usage ? usage_of(given) : code);
} catch (const std::exception& failed) {
  return fail(failed.what(), exit_code::failed);
}

}  // namespace

int main(int argc, char** argv) {
  arguments given;
  CLI::App app{"Run a command under a lock, look at the locks of an ensemble, and get one back", "latchkey"};
  app.set_version_flag("--version", fmt::format("latchkey {}.{}.{}", LATCHKEY_VERSION_MAJOR, LATCHKEY_VERSION_MINOR,
                                                LATCHKEY_VERSION_PATCH));
  app.require_subcommand(1);
  app.fallthrough();
  describe_connection(app, given);
  describe_run(app, given);
  describe_commands(app, given);
  return run_safely(app, given, {argv + std::min(argc, 1), argv + argc});
}
