// SPDX-License-Identifier: Apache-2.0
#include "other_servers.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <thread>
#include <utility>

namespace chaos {

using namespace std::chrono_literals;
using latchkey::testing::child_process;
using latchkey::testing::cluster_error;

namespace {

/// @returns ports of the loopback that nobody listens on.
std::vector<std::uint16_t> free_ports(std::size_t count) {
  std::vector<std::uint16_t> ports;
  std::vector<int> sockets;  // open until all are found, so that no port is found twice
  for (std::size_t i = 0; i < count; ++i) {
    sockets.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(sockets.back(), any, size) != 0 || ::getsockname(sockets.back(), any, &size) != 0) {
      throw cluster_error("no free port");
    }
    ports.push_back(ntohs(address.sin_port));
  }
  for (const auto each : sockets) ::close(each);
  return ports;
}

}  // namespace

other_servers::other_servers(std::vector<std::string> program, std::size_t count, const std::filesystem::path& folder)
    : program_{std::move(program)}, folder_{folder / "servers"}, ports_{free_ports(2 * count)}, processes_(count) {
  std::filesystem::create_directories(folder_);
  for (std::size_t i = 0; i < count; ++i) start(i);
  for (std::size_t i = 0; i < count; ++i) wait_until_serving(i, 60s);
}

std::vector<latchkey::testing::endpoint> other_servers::addresses() const {
  std::vector<latchkey::testing::endpoint> all;
  for (std::size_t i = 0; i < processes_.size(); ++i) all.push_back({"127.0.0.1", ports_[i]});
  return all;
}

/// @returns what the program says; no after a while.
bool other_servers::ask(const char* what, std::size_t server) const {
  auto command = program_;
  command.insert(command.end(), {what, std::to_string(ports_.at(server))});
  const child_process answer{command, {.log = folder_ / "questions.log", .talks = false}};
  return answer.wait(5s) == "exit code 0";
}

std::optional<std::size_t> other_servers::leader() const {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (processes_.at(i).alive() && !processes_.at(i).paused() && ask("leads", i)) return i;
  }
  return std::nullopt;
}

void other_servers::start(std::size_t server) {
  auto command = program_;
  command.insert(command.end(), {"serve", std::to_string(server), folder_.string()});
  for (const auto each : ports_) command.push_back(std::to_string(each));
  processes_.at(server).start(command, {.log = folder_ / ("server" + std::to_string(server) + ".log"), .talks = false});
}

void other_servers::wait_until_serving(std::size_t server, std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (!ask("healthy", server)) {
    if (std::chrono::steady_clock::now() > end) {
      throw cluster_error("server " + std::to_string(server) + " does not serve, see " + folder_.string());
    }
    std::this_thread::sleep_for(50ms);
  }
}

void other_servers::wait_for_quorum(std::chrono::milliseconds timeout) {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (alive(i)) return wait_until_serving(i, timeout);
  }
  throw cluster_error("no server runs");
}

}  // namespace chaos
