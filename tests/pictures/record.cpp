// SPDX-License-Identifier: Apache-2.0
// What the pictures in recipes/pictures are drawn from: runs the scene on three real servers, and writes what was seen.
// record_pictures SCENE >SCENE.json

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/clock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/testing/ensemble.hpp>
#include <latchkey/testing/proxy.hpp>
#include <latchkey/testing/raw_client.hpp>
#include <nlohmann/json.hpp>

#include "scenes.hpp"

namespace latchkey::testing {
namespace {

const std::string path = "/press";

/// The digits at the end of the name of an entry.
std::string number_of(const std::string& node) { return node.substr(node.size() - 10); }

/// One contender: a client behind a proxy of its own, and its thread.
struct contender_process {
  std::string name;
  proxy net;
  client owner;
  mutex lock;
  std::promise<void> may_release;
  std::atomic<bool> holds = false;
  std::future<void> done;

  contender_process(std::string called, const ensemble& servers, std::chrono::milliseconds timeout)
      : name{std::move(called)},
        net{servers.addresses()},
        owner{net.connect_string(), client_options{.session_timeout = timeout, .label = name}},
        lock{owner, path} {
    if (!owner.wait_for_connection(patience)) throw std::runtime_error{"no connection"};
  }

  void start() {
    done = std::async(std::launch::async, [this] {
      lock.lock();
      holds = true;
      may_release.get_future().get();
      lock.unlock();
      holds = false;
    });
  }
};

using contenders = std::vector<std::unique_ptr<contender_process>>;

/// What the servers say: the entries, and who watches which.
json state_of(ensemble& servers, const contenders& all) {
  std::map<std::int64_t, std::string> names;
  for (const auto& each : all) names[each->owner.session_id()] = each->name;
  raw_client reader{servers.address(servers.wait_for_leader(patience))};
  json entries = json::array();
  std::map<std::string, json> watches;
  for (const auto& node : reader.children(path)) {
    const auto stat = reader.exists(path + "/" + node);
    if (!stat) continue;
    const auto& name = names.at(stat->ephemeral_owner);
    bool holds = false;
    for (const auto& each : all) holds = holds || (each->name == name && each->holds);
    entries.push_back({{"number", number_of(node)}, {"of", name}, {"holds", holds}});
    watches[path + "/" + node] = json::array();
  }
  for (std::size_t i = 0; i < servers.size(); ++i) {
    for (const auto& [watched, sessions] : servers.admin(i).wchp()) {
      if (!watches.contains(watched)) throw std::runtime_error{"a watch on " + watched};
      for (const auto session : sessions) watches[watched].push_back(names.at(session));
    }
  }
  json watched = json::object();
  std::sort(entries.begin(), entries.end(), [](const json& a, const json& b) { return a["number"] < b["number"]; });
  std::map<std::string, json> by_number;
  for (auto& [node, by] : watches) {
    std::sort(by.begin(), by.end());
    by_number[number_of(node)] = by;
  }
  for (const auto& [number, by] : by_number) watched[number] = by;
  return {{"entries", entries}, {"watched_by", watched}};
}

/// Every entry watches itself, and every waiter the one ahead of it.
bool settled(const json& state) {
  std::string behind;
  for (auto at = state["entries"].rbegin(); at != state["entries"].rend(); ++at) {
    json expected = json::array({(*at)["of"]});
    if (!behind.empty()) expected.push_back(behind);
    std::sort(expected.begin(), expected.end());
    if (state["watched_by"][std::string{(*at)["number"]}] != expected) return false;
    behind = (*at)["of"];
  }
  return true;
}

json record_queue() {
  constexpr auto timeout = 60s;  // so long that no proof gets between the requests that are counted
  ensemble servers;
  json result = header("queue", servers, timeout);
  contenders all;
  for (const char* name : {"A", "B", "C", "D", "E"}) {
    all.push_back(std::make_unique<contender_process>(name, servers, timeout));
    all.back()->start();
    wait_for("an entry for each", [&] { return servers.children(path).size() == all.size(); });
  }
  const auto settle = [&] {
    json now;
    wait_for("one watch per waiter", [&] { return settled(now = state_of(servers, all)); });
    return now;
  };
  wait_for("the first holds", [&] { return all[0]->holds.load(); });
  result["before"] = settle();
  for (const auto& each : all) each->net.reset_requests();
  all[0]->may_release.set_value();
  wait_for("the second holds", [&] { return all[1]->holds.load(); });
  wait_for("the first entry is gone", [&] { return servers.children(path).size() == all.size() - 1; });
  result["after"] = settle();
  json sent = json::object();
  for (const auto& each : all) {
    sent[each->name] = json::object();
    for (const auto& [request, count] : each->net.requests()) {
      if (count > 0 && request != "sync") sent[each->name][request] = count;  // a sync keeps the lease ready
    }
  }
  result["requests_for_the_release"] = sent;
  for (std::size_t i = 1; i < all.size(); ++i) all[i]->may_release.set_value();
  for (const auto& each : all) each->done.get();
  return result;
}

/// Looks at the grant, and at what its client sends, every millisecond.
void watch_holder(const grant& held, const proxy& net, recording& into, const std::atomic<bool>& stop) {
  instant until{};
  auto syncs = net.requests(opcode::sync);
  auto writes = net.requests(opcode::multi);
  bool was_held = true;
  while (!stop) {
    const bool is_held{held};
    if (const auto now = held.valid_until(); is_held && now != until) {
      until = now;
      into.add("lease", {{"until", until.time_since_epoch().count()}});
    }
    if (const auto now = net.requests(opcode::sync); now != syncs) {
      syncs = now;
      into.add("sync");
    }
    if (const auto now = net.requests(opcode::multi); now != writes) {
      writes = now;
      into.add("write");
    }
    if (was_held && !is_held) into.add("seen to be lost");
    was_held = is_held;
    std::this_thread::sleep_for(1ms);
  }
}

json record_lease() {
  constexpr auto timeout = 4s;
  recording seen;
  ensemble servers;
  json result = header("lease", servers, timeout);
  proxy net{servers.addresses()};
  client_options options{.session_timeout = timeout};
  options.observer = [&](const client_event& event) { seen.add(std::string{to_string(event.what)}); };
  client first{net.connect_string(), options};
  mutex lock{first, path};
  lock.lock();
  const auto held = lock.held();
  result["token"] = to_string(held.fence());
  const auto node = path + "/" + servers.children(path).at(0);

  std::atomic<bool> stop = false;
  std::thread eye{[&] { watch_holder(held, net, seen, stop); }};
  client second{servers.connect_string(), client_options{.session_timeout = timeout}};
  mutex next{second, path};
  auto granted = std::async(std::launch::async, [&] {
    next.lock();
    seen.add("next grant");
    return to_string(next.held().fence());
  });
  std::this_thread::sleep_for(2 * timeout);  // two session timeouts of a lease in steady state
  const auto cut = boottime_clock::now();
  net.black_hole();
  seen.add("cut off", json::object(), cut);
  {
    raw_client ensemble_view{servers.address(servers.wait_for_leader(patience))};
    wait_for("the session expires", [&] { return !ensemble_view.exists(node); });
    seen.add("node deleted");
  }
  result["next_token"] = granted.get();
  std::this_thread::sleep_for(100ms);
  stop = true;
  eye.join();
  result["events"] = seen.since(cut);
  next.unlock();
  net.heal();
  lock.unlock();
  return result;
}

/// @returns what was seen of a scene; null for an unknown one.
json record(const std::string& scene, const std::string& program) {
  if (scene == "queue") return record_queue();
  if (scene == "lease") return record_lease();
  if (scene == "unfenced" || scene == "fenced") return record_pause(scene == "fenced", program);
  return nullptr;
}

}  // namespace
}  // namespace latchkey::testing

int main(int count, char** arguments) {
  const std::vector<std::string> words{arguments + 1, arguments + count};
  try {
    if (words.size() == 4 && words[0] == "client") {
      const std::chrono::milliseconds session_timeout{std::atoi(words[2].c_str())};
      return latchkey::testing::run_paused_client(words[1], session_timeout, words[3]);
    }
    if (words.size() == 1) {
      if (const auto seen = latchkey::testing::record(words[0], arguments[0]); !seen.is_null()) {
        std::puts(seen.dump(1).c_str());
        return 0;
      }
    }
    std::fputs("usage: record_pictures queue|lease|unfenced|fenced\n", stderr);
    return 2;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "record_pictures: %s\n", failure.what());
    return 1;
  }
}
