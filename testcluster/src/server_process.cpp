// SPDX-License-Identifier: Apache-2.0
#include "server_process.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "latchkey/testing/error.hpp"

namespace latchkey::testing::detail {

namespace fs = std::filesystem;

namespace {

constexpr const char* install_hint = "apt-get install zookeeper default-jre-headless";

std::string environment(const char* name) {
  const auto* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string{value};
}

/// java of JAVA_HOME, or the first one on the PATH.
std::string find_java() {
  if (const auto home = environment("JAVA_HOME"); !home.empty()) {
    if (const auto java = home + "/bin/java"; ::access(java.c_str(), X_OK) == 0) return java;
  }
  std::istringstream path{environment("PATH")};
  for (std::string folder; std::getline(path, folder, ':');) {
    if (const auto java = folder + "/java"; ::access(java.c_str(), X_OK) == 0) return java;
  }
  throw missing_package(std::string{"java is not installed (neither in JAVA_HOME nor on the PATH): "} + install_hint);
}

/// Debian's jar names what it needs in its manifest, but no logger, and not all that Netty's secure port needs.
std::string find_class_path() {
  if (auto given = environment("LATCHKEY_ZOOKEEPER_CLASSPATH"); !given.empty()) return given;
  const fs::path jars{"/usr/share/java"};
  const auto zookeeper = jars / "zookeeper.jar";
  if (!fs::exists(zookeeper)) {
    throw missing_package(zookeeper.string() + " is missing: " + install_hint +
                          " (or set LATCHKEY_ZOOKEEPER_CLASSPATH)");
  }
  auto path = zookeeper.string();
  for (const auto* name : {"slf4j-simple", "netty-codec", "netty-resolver", "netty-transport-native-unix-common"}) {
    if (const auto jar = jars / (std::string{name} + ".jar"); fs::exists(jar)) {
      path.append(":").append(jar.string());  // of ":" + a string g++ 12 warns with -O3
    }
  }
  return path;
}

std::vector<std::string> java_command(std::size_t index, const fs::path& folder, const std::string& class_path,
                                      const ensemble_options& how) {
  std::vector<std::string> command{
      find_java(),
      "-Xmx256m",
      "-XX:+UseSerialGC",
      "-XX:TieredStopAtLevel=1",
      "-Xshare:auto",
      "-XX:-UsePerfData",
      "-Djava.net.preferIPv4Stack=true",
      "-Dorg.slf4j.simpleLogger.showDateTime=true",
      "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
      "-Dzookeeper.forceSync=no",
      "-Dzookeeper.preAllocSize=1024",
      "-Dzookeeper.admin.enableServer=false",
      "-Dzookeeper.jmx.log4j.disable=true",
      "-Dzookeeper.extendedTypesEnabled=true",
      "-Dznode.container.checkIntervalMs=" + std::to_string(how.container_check_interval.count()),
  };
  command.insert(command.end(), how.jvm_args.begin(), how.jvm_args.end());
  if (const auto own = how.server_jvm_args.find(index); own != how.server_jvm_args.end()) {
    command.insert(command.end(), own->second.begin(), own->second.end());
  }
  command.insert(command.end(), {"-cp", class_path.empty() ? find_class_path() : class_path,
                                 "org.apache.zookeeper.server.quorum.QuorumPeerMain", (folder / "zoo.cfg").string()});
  return command;
}

void write_file(const fs::path& file, const std::string& content) {
  std::ofstream out{file};
  out << content << std::flush;
  if (!out) throw cluster_error("cannot write " + file.string());
}

}  // namespace

server_process::server_process(std::size_t index, fs::path folder) : index_(index), folder_(std::move(folder)) {}

void server_process::configure(const ensemble_options& how, const std::vector<peer_address>& peers,
                               const std::vector<std::string>& own_lines) const {
  fs::create_directories(folder_ / "data");
  write_file(folder_ / "data" / "myid", std::to_string(index_ + 1) + "\n");
  std::ostringstream config;
  config << "tickTime=" << how.tick.count()  //
         << "\ninitLimit=" << how.init_limit << "\nsyncLimit=" << how.sync_limit
         << "\nminSessionTimeout=" << how.min_session_timeout.value_or(2 * how.tick).count()
         << "\nmaxSessionTimeout=" << how.max_session_timeout.count() << "\ndataDir=" << (folder_ / "data").string()  //
         << "\nclientPort=" << client_.number() << "\nclientPortAddress=" << host_
         << "\nmaxClientCnxns=0\nadmin.enableServer=false\n4lw.commands.whitelist=*\n";
  for (std::size_t i = 0; peers.size() > 1 && i < peers.size(); ++i) {
    config << "server." << i + 1 << "=127.0.0.1:" << peers[i].quorum << ":" << peers[i].election << "\n";
  }
  for (const auto& line : how.config_lines) config << line << "\n";
  for (const auto& line : own_lines) config << line << "\n";
  write_file(folder_ / "zoo.cfg", config.str());
}

void server_process::launch(const ensemble_options& how) {
  resume_threads();  // of the process before
  process.start(java_command(index_, folder_, class_path, how), {.log = log(), .talks = false});
}

void server_process::resume_threads() {
  pings.reset();
  log_writers.reset();
}

void server_process::limit_files(bool limited) const {
  const auto pid = process.pid();
  if (pid == 0) return;
  rlimit limit{};
  if (::prlimit(pid, RLIMIT_FSIZE, nullptr, &limit) == 0) {
    limit.rlim_cur = limited ? 0 : limit.rlim_max;
    if (::prlimit(pid, RLIMIT_FSIZE, &limit, nullptr) == 0) return;
  }
  if (errno == ESRCH) return;
  throw cluster_error("cannot limit the files of process " + std::to_string(pid) + ": " + std::strerror(errno));
}

std::string server_process::log_tail() const {
  constexpr std::streamoff most = 2'000;
  std::ifstream in{log(), std::ios::ate};
  const std::streamoff size = in ? std::streamoff{in.tellg()} : 0;
  in.seekg(std::max(std::streamoff{0}, size - most));
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (size > most) text.erase(0, text.find('\n') + 1);
  return "--- the end of " + log().string() + " (set LATCHKEY_KEEP_DATA to keep it):\n" + text + "---";
}

bool server_process::lost_its_port() const {
  std::ifstream in{log()};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  return text.find("Address already in use") != text.npos;
}

}  // namespace latchkey::testing::detail
