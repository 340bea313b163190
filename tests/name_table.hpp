// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Names that move. Takes the place of getaddrinfo in the program that includes it: once, in a program of its own. With
/// LATCHKEY_ZONE_FILE the names are written to that file instead, for a name server that reads it.

#include <dlfcn.h>
#include <netdb.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace latchkey::testing {

/// What names that end in ".test" resolve to: "address" with the port that is asked for, or "address:port". Those that
/// are not in the table do not resolve.
class name_table {
 public:
  static name_table& of_program() {
    static auto& all = *new name_table;  // helper threads may still wait when the program ends
    return all;
  }

  void set(const std::string& name, std::vector<std::string> addresses) {
    const std::lock_guard lock{mutex_};
    names_[name] = std::move(addresses);
    write_zone();
  }
  void forget(const std::string& name) {
    const std::lock_guard lock{mutex_};
    names_.erase(name);
    write_zone();
  }
  /// Nothing is said of names that end so until `release()`.
  void hold_back(std::string name) {
    const std::lock_guard lock{mutex_};
    held_back_ = std::move(name);
  }
  void release() {
    hold_back({});
    changed_.notify_all();
  }
  void wait_until_asked_for_what_is_held_back() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return !waiting_.empty(); });
  }
  /// @returns the names that are held back from who has asked, one for each time.
  std::vector<std::string> asked() {
    const std::lock_guard lock{mutex_};
    return {waiting_.begin(), waiting_.end()};
  }

  /// @returns the file for the name server; empty when there is none.
  const std::string& zone_file() const noexcept { return zone_file_; }

  std::vector<std::string> ask(const std::string& name) {
    std::unique_lock lock{mutex_};
    const auto is_told = [&] { return held_back_.empty() || !name.ends_with(held_back_); };
    if (!is_told()) {
      const auto self = waiting_.insert(name);
      changed_.notify_all();
      changed_.wait(lock, is_told);
      waiting_.erase(self);
    }
    const auto found = names_.find(name);
    return found == names_.end() ? std::vector<std::string>{} : found->second;
  }

 private:
  void write_zone() const {
    if (zone_file_.empty()) return;
    const auto next = zone_file_ + ".next";
    std::ofstream out{next};
    for (const auto& [name, addresses] : names_) {
      out << name;
      for (const auto& each : addresses) out << ' ' << each;
      out << '\n';
    }
    out.close();
    std::filesystem::rename(next, zone_file_);
  }

  const std::string zone_file_ = [] {
    const auto* const file = std::getenv("LATCHKEY_ZONE_FILE");
    return std::string{file == nullptr ? "" : file};
  }();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::string>> names_;
  std::string held_back_;
  std::multiset<std::string> waiting_;
};

}  // namespace latchkey::testing

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** result) {
  using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto next = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  auto& table = latchkey::testing::name_table::of_program();
  if (node == nullptr || !std::string_view{node}.ends_with(".test") || !table.zone_file().empty()) {
    return next(node, service, hints, result);
  }
  *result = nullptr;
  addrinfo** end = result;
  for (const auto& each : table.ask(node)) {
    const auto colon = each.find(':');
    const auto port = colon == std::string::npos ? std::string{service} : each.substr(colon + 1);
    if (next(each.substr(0, colon).c_str(), port.c_str(), hints, end) != 0) continue;
    while (*end != nullptr) end = &(*end)->ai_next;
  }
  return *result == nullptr ? EAI_NONAME : 0;
}
