// SPDX-License-Identifier: Apache-2.0
#include <libpq-fe.h>
#include <pwd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "servers.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using words = std::vector<std::string>;

/// @returns the command, for a user that PostgreSQL runs as. The signal at the death of this process stays.
words for_its_user(const words& command) {
  if (::geteuid() != 0) return command;
  words all{SETPRIV, "--reuid", "postgres", "--regid", "postgres", "--init-groups", "--pdeathsig", "keep", "--"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

void give_to_its_user(const std::string& folder) {
  if (::geteuid() != 0) return;
  const auto* const user = ::getpwnam("postgres");
  if (user == nullptr || ::chown(folder.c_str(), user->pw_uid, user->pw_gid) != 0)
    throw std::runtime_error{"the folder cannot be given to the user postgres"};
}

}  // namespace

postgres_server::postgres_server() {
  const auto folder = folder_.path().string();
  give_to_its_user(folder);
  const auto bin = std::string{POSTGRES_BIN} + "/";
  const child_options quiet{.log = folder_.path() / "log", .talks = false};
  // Danish sorts aa after z.
  const child_process init{
      for_its_user({bin + "initdb", "--pgdata=" + folder + "/data", "--username=latchkey", "--auth=trust", "--no-sync",
                    "--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=da-DK"}),
      quiet};
  if (init.wait() != "exit code 0") throw std::runtime_error{"initdb failed: " + init.wait().value_or("")};
  process_.start(for_its_user({bin + "postgres", "-D", folder + "/data", "-k", folder, "-h", "", "-F"}), quiet);
  while (::PQping(connect_string().c_str()) != PQPING_OK) {
    if (!process_.alive()) throw std::runtime_error{"PostgreSQL ended: " + process_.wait().value_or("")};
    std::this_thread::sleep_for(10ms);
  }
}

postgres_server::~postgres_server() {
  process_.signal(SIGINT);  // its fast shutdown
  if (!process_.wait(10s)) process_.kill();
}

postgres_server& postgres_server::shared() {
  static postgres_server one;
  return one;
}

}  // namespace latchkey::testing
