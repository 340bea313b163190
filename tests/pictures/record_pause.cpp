// SPDX-License-Identifier: Apache-2.0
// Two processes, one lock, and a storage: the example of M. Kleppmann, "How to do distributed locking", 2016.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <latchkey/client.hpp>
#include <latchkey/fence_gate.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/testing/child_process.hpp>
#include <latchkey/testing/ensemble.hpp>
#include <latchkey/testing/raw_client.hpp>

#include "scenes.hpp"

namespace latchkey::testing {
namespace {

constexpr auto timeout = 4s;
const std::string path = "/storage";

std::int64_t count_of(instant when) { return when.time_since_epoch().count(); }

/// Has one value. With a gate it refuses smaller tokens.
class storage {
 public:
  storage(bool fenced, recording& into) : fenced_{fenced}, seen_{into} {}

  std::string read(const std::string& client, fencing_token token) {
    if (fenced_ && !gate_.seal("value", token)) throw std::runtime_error{"client " + client + " cannot seal"};
    seen_.add("read", {{"of", client}, {"value", value_}});
    return value_;
  }

  const std::string& value() const { return value_; }

  bool write(const std::string& client, fencing_token token, const std::string& value) {
    const auto pass = fenced_ ? gate_.admit("value", token) : std::nullopt;
    const bool accepted = !fenced_ || pass;
    if (accepted) value_ = value;
    seen_.add("write", {{"of", client}, {"value", value}, {"accepted", accepted}});
    return accepted;
  }

 private:
  bool fenced_;
  recording& seen_;
  fence_gate<std::string> gate_;
  std::string value_ = "A";
};

/// A client as the storage sees it.
class remote_client {
 public:
  remote_client(std::string name, const ensemble& servers, const std::string& program, storage& at, recording& into)
      : name_{std::move(name)}, storage_{at}, seen_{into} {
    const auto ms = std::chrono::milliseconds{timeout}.count();
    process_.start({program, "client", servers.connect_string(), std::to_string(ms), name_});
  }

  void hold_and_read() {
    std::string token;
    hear("granted") >> token;
    token_ = parse_fencing_token(token);
    seen_.add("grant", {{"of", name_}});
    process_.say(storage_.read(name_, token_));
  }

  /// Lets it check its grant.
  void check() {
    process_.say("check");
    std::int64_t until = 0;
    hear("held") >> until;
    seen_.add("checked its grant", {{"of", name_}, {"until", until}});
  }

  /// Lets it do what it has meant to do since that check.
  bool write() {
    process_.say("write");
    if (process_.paused()) process_.resume();
    std::string value;
    hear("write") >> value;
    return storage_.write(name_, token_, value);
  }

  std::string loss() {
    process_.say("check");
    std::string why;
    std::getline(hear("lost") >> std::ws, why);
    return why;
  }

  void pause() { process_.pause(); }
  fencing_token token() const { return token_; }

 private:
  std::istringstream hear(const std::string& word) {
    const auto line = process_.hear(patience).value_or("nothing");
    std::istringstream words{line};
    std::string first;
    if (!(words >> first) || first != word) throw std::runtime_error{"client " + name_ + " says: " + line};
    return words;
  }

  std::string name_;
  storage& storage_;
  recording& seen_;
  child_process process_;
  fencing_token token_;
};

}  // namespace

json record_pause(bool fenced, const std::string& program) {
  recording seen;
  ensemble servers;
  json result = header(fenced ? "fenced" : "unfenced", servers, timeout);
  storage data{fenced, seen};
  remote_client first{"1", servers, program, data, seen};
  wait_for("client 1 has an entry", [&] { return servers.children(path).size() == 1; });
  const auto node = path + "/" + servers.children(path).at(0);
  first.hold_and_read();
  remote_client second{"2", servers, program, data, seen};
  wait_for("client 2 has an entry", [&] { return servers.children(path).size() == 2; });
  seen.add("waits", {{"of", "2"}});
  std::this_thread::sleep_for(1s);  // to be seen in the picture
  first.check();
  first.pause();
  const auto stopped = boottime_clock::now();
  seen.add("stopped", {{"of", "1"}}, stopped);
  std::thread eye{[&] {
    raw_client view{servers.address(servers.wait_for_leader(patience))};
    wait_for("the session expires", [&] { return !view.exists(node); });
    seen.add("node deleted", {{"of", "1"}});
  }};
  second.hold_and_read();
  std::this_thread::sleep_for(500ms);
  second.check();
  second.write();
  std::this_thread::sleep_for(1s);
  seen.add("continued", {{"of", "1"}});
  const bool late = first.write();
  eye.join();
  result["fenced"] = fenced;
  result["late_write_accepted"] = late;
  result["tokens"] = {to_string(first.token()), to_string(second.token())};
  result["loss"] = first.loss();
  std::this_thread::sleep_for(300ms);
  result["value"] = data.value();
  result["events"] = seen.since(stopped);
  return result;
}

int run_paused_client(const std::string& connect_string, std::chrono::milliseconds session_timeout,
                      const std::string& name) {
  client owner{connect_string, client_options{.session_timeout = session_timeout}};
  mutex lock{owner, path};
  const auto held = lock.acquire();
  std::cout << "granted " << to_string(held.fence()) << std::endl;
  std::string value;
  std::getline(std::cin, value);
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "write") {
      std::cout << "write " << value << name << std::endl;
    } else if (const auto why = held.grant().loss()) {
      std::cout << "lost " << to_string(*why) << std::endl;
    } else {
      std::cout << "held " << count_of(held.grant().valid_until()) << std::endl;
    }
  }
  return 0;
}

}  // namespace latchkey::testing
