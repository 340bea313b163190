// SPDX-License-Identifier: Apache-2.0
#include "secure_ensemble.hpp"

#include <chrono>
#include <fstream>
#include <iterator>

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

void make_certificates(const std::filesystem::path& folder) {
  const child_process script{{CERTIFICATES, folder.string(), name_of(0), name_of(1), name_of(2), "client"},
                             {.log = folder / "certificates.log", .talks = false}};
  const auto end = script.wait(60s);
  if (end != "exit code 0") throw cluster_error(std::string{CERTIFICATES} + " failed: " + end.value_or("it hangs"));
}

}  // namespace

std::string name_of(std::size_t server) { return "zk" + std::to_string(server + 1) + ".example"; }

secure_ensemble::secure_ensemble() {
  make_certificates(folder());
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const auto secure = secure_address(i);
    servers_.configure(i, {"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
                           "secureClientPortAddress=" + secure.host, "secureClientPort=" + std::to_string(secure.port),
                           "ssl.keyStore.location=" + (folder() / (name_of(i) + ".store.pem")).string(),
                           "ssl.trustStore.location=" + (folder() / "ca.pem").string(), "ssl.clientAuth=need"});
    servers_.restart(i);
    servers_.wait_until_serving(i, 60s);
  }
}

tunnel::tunnel(secure_ensemble& to, const std::string& authority, const std::vector<std::string>& names) {
  static int count = 0;
  const auto number = std::to_string(++count);
  const auto config = to.folder() / ("stunnel" + number + ".conf");
  log_ = to.folder() / ("stunnel" + number + ".log");
  std::ofstream out{config};
  out << "foreground = yes\npid =\nsyslog = no\nclient = yes\nTIMEOUTconnect = 2\n"
      << "CAfile = " << (to.folder() / authority).string() << "\nverifyChain = yes\n"
      << "cert = " << (to.folder() / "client.pem").string() << "\nkey = " << (to.folder() / "client.key").string()
      << "\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const endpoint accept{"127.0.0.3", to.servers().address(i).port};
    out << "[" << name_of(i) << "]\naccept = " << accept.to_string()
        << "\nconnect = " << to.secure_address(i).to_string() << "\ncheckHost = " << names[i] << "\n";
    connect_string_ += (i == 0 ? "" : ",") + accept.to_string();
  }
  out.close();
  stunnel_.start({STUNNEL, config.string()}, {.log = log_, .talks = false});
}

bool tunnel::has_said(const std::string& words) const {
  std::ifstream in{log_};
  const std::string all{std::istreambuf_iterator<char>{in}, {}};
  return all.find(words) != std::string::npos;
}

}  // namespace latchkey::testing
