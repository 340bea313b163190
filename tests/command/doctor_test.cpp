// SPDX-License-Identifier: Apache-2.0
/// `latchkey doctor`, with each of its warnings provoked.

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <latchkey/client.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/testing/proxy.hpp>

#include "program.hpp"

namespace latchkey::testing {
namespace {

/// What it has found.
struct examination {
  explicit examination(std::vector<std::string> arguments, const std::string& where = servers().connect_string()) {
    arguments.insert(arguments.begin(), {"doctor", "--json", "-c", where});
    run one{std::move(arguments)};
    how = one.end();
    err = one.err;
    std::istringstream lines{one.out};
    for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line));
  }

  /// @returns the verdict of the first finding about `what` that says `text`.
  std::string verdict_of(std::string_view what, std::string_view text = "") const {
    for (const auto& each : all)
      if (has(each["about"], what) && has(each["text"], text)) return each["verdict"];
    return "none";
  }
  bool any(std::string_view verdict) const {
    return std::any_of(all.begin(), all.end(), [&](const json& each) { return each["verdict"] == verdict; });
  }

  std::string how;
  std::string err;
  std::vector<json> all;
};

const std::string failures = "exit code 2";
const std::string wrong_arguments = "exit code 64";

}  // namespace

TEST_CASE("doctor looks at the server, the quorum, the lease, a lock and the clock") {
  const examination seen{{"-T", "60s"}};
  CAPTURE(json(seen.all).dump(1));
  CHECK(seen.verdict_of("server " + servers().connect_string(), "round trip: median ") != "none");
  CHECK(seen.verdict_of("server " + servers().connect_string(), "session timeouts from 1.0s to 60.0s") == "ok");
  CHECK(seen.verdict_of("quorum", "transaction: median ") != "none");
  CHECK(seen.verdict_of("lease", "T = 60.0s: a lease lasts 55.0s, and is proved every 15.0s") == "ok");
  CHECK(seen.verdict_of("lock", "/latchkey-doctor-") == "ok");
  CHECK(seen.verdict_of("clock") != "none");  // it may be that of a machine that is not synchronised
  CHECK_FALSE(seen.any("failure"));
  CHECK(seen.how == (seen.any("warning") ? "exit code 1" : "exit code 0"));
  CHECK(seen.err.empty());
}

TEST_CASE("doctor prints a line of text for each finding") {
  run one{{"doctor", "-c", servers().connect_string()}};
  one.end();
  CHECK(has(one.out, "ok       lock: /latchkey-doctor-"));
  CHECK(std::count(one.out.begin(), one.out.end(), '\n') == 6);
}

TEST_CASE("doctor warns of a T that the servers do not grant, and of one that is too near to their tick") {
  CHECK(examination{{"-T", "900ms"}}.verdict_of("server", "T = 900ms is raised to 1.0s") == "warning");
  CHECK(examination{{"-T", "1h"}}.verdict_of("server", "T = 3600.0s is lowered to 60.0s") == "warning");
  CHECK(examination{{"-T", "2s"}}.verdict_of("lease", "below five ticks of 500ms") == "warning");
  CHECK(examination{{"--server-tick", "2s"}}.verdict_of("server", "minSessionTimeout is below two ticks") == "warning");
}

TEST_CASE("doctor warns of servers that grant different session timeouts, and of one that is down") {
  ensemble other{{.servers = 1, .min_session_timeout = 2s}};
  const auto both = servers().connect_string() + "," + other.connect_string();
  const examination seen{{}, both};
  CAPTURE(json(seen.all).dump(1));
  CHECK(seen.verdict_of("limits", "different session timeouts") == "warning");
  other.kill(0);
  const examination again{{"--timeout", "2s"}, both};
  CAPTURE(json(again.all).dump(1));
  CHECK(again.verdict_of("server " + other.connect_string(), "has answered for 2.0 s") == "warning");
  CHECK(again.verdict_of("lock") == "ok");
  CHECK(again.how == "exit code 1");
}

TEST_CASE("doctor calls a server that answers too late for T a failure") {
  proxy between{servers().addresses()};
  between.delay(60ms);
  const examination seen{{"-T", "1s"}, between.connect_string()};
  CAPTURE(json(seen.all).dump(1));
  CHECK(seen.verdict_of("server", "above T/12, 83ms: leases will be lost without a fault") == "failure");
  CHECK(seen.verdict_of("quorum", "above T/16, 62ms") == "warning");
  CHECK(seen.how == failures);
}

TEST_CASE("doctor tells what is open to anyone, and where no lock can be made") {
  const auto path = fresh_path();
  servers().create_all(path + "/open");
  CHECK(examination{{"--path", path + "/open"}}.verdict_of("access", "cdrwa is open to anyone") == "warning");
  CHECK(examination{{"--path", path + "/new"}}.verdict_of("access") == "warning");  // the ACL of its lock
  client_options closed;
  closed.authentication = {{"digest", "owner:secret"}};
  closed.acl = {{"auth", "", "cdrwa"}};
  client owner{servers().connect_string(), closed};
  mutex lock{owner, path + "/closed"};
  const auto held = lock.acquire();
  const examination denied{{"--path", path + "/closed"}};
  CAPTURE(json(denied.all).dump(1));
  CHECK(denied.verdict_of("lock", "ACL above denies creating it") == "failure");
  CHECK(denied.verdict_of("access") == "failure");
  CHECK(denied.verdict_of("clock", "of the leader") == "none");  // there was no node to compare it with
  CHECK(denied.how == failures);
  const temporary_folder folder;
  const auto file = folder.file("auth", "digest:owner:secret\n", 0600);
  const examination allowed{{"--path", path + "/closed", "--auth-file", file}};
  CAPTURE(json(allowed.all).dump(1));
  CHECK(allowed.verdict_of("lock") == "ok");
  CHECK(allowed.verdict_of("access", "nothing is open to anyone") == "ok");
}

TEST_CASE("doctor refuses ClickHouse Keeper, also below a chroot") {
  ensemble keeper{{.servers = 1}};
  keeper.create_all("/keeper/api_version");
  keeper.create_all("/below");
  const examination seen{{}, keeper.connect_string() + "/below"};
  CAPTURE(json(seen.all).dump(1));
  CHECK(seen.verdict_of("servers", "this is ClickHouse Keeper") == "failure");
  CHECK(seen.how == failures);
  CHECK(examination{{}}.verdict_of("servers") == "none");
}

TEST_CASE("doctor tells whether datagrams to the address of --peers arrive") {
  CHECK(examination{{"--peers"}}.verdict_of("peers", "arrive, from this host") == "ok");
  const examination nowhere{{"--peers", "127.0.0.1:0,127.0.0.1:9"}};
  CAPTURE(json(nowhere.all).dump(1));
  CHECK(nowhere.verdict_of("peers", "do not arrive") == "warning");
  CHECK(examination{{"--peers", "here"}}.how == wrong_arguments);
}

TEST_CASE("doctor without any server is a failure, and wrong arguments are told apart from it") {
  const examination none{{"--timeout", "500ms"}, "127.0.0.1:1"};
  CHECK(none.how == failures);
  CHECK(none.verdict_of("ensemble", "no server can be used") == "failure");
  const examination no_path{{"--path", "x"}};
  CHECK(no_path.how == wrong_arguments);
  CHECK(no_path.all.empty());  // arguments are looked at first
  CHECK(examination{{"--server-tick", "soon"}}.how == wrong_arguments);
  CHECK(examination{{"-T", "1ms"}}.how == wrong_arguments);
  CHECK(examination{{}, "zk1:port"}.how == wrong_arguments);
  run nowhere{{"doctor"}};
  CHECK(nowhere.end() == wrong_arguments);
  CHECK(has(nowhere.err, "LATCHKEY_CONNECT"));
}

}  // namespace latchkey::testing
