// SPDX-License-Identifier: Apache-2.0
#include "history.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

namespace latchkey::testing {
namespace {

namespace fs = std::filesystem;

/// What was said beside the contenders: until when a session, or a process, can have held anything.
using ends = std::map<std::string, std::int64_t>;

[[noreturn]] void makes_no_sense(const std::string& line) {
  throw std::runtime_error{fmt::format("a record that makes no sense: {}", line)};
}

void cut_off(period& each, const ends& at, const std::string& key) {
  if (const auto end = at.find(key); end != at.end())
    each.ended = std::min(each.ended, std::max(end->second, each.granted));
}

}  // namespace

std::int64_t monotonic_now() {
  return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
}

history::history() {
  static std::atomic<int> count{0};
  path_ = fs::temp_directory_path() / fmt::format("latchkey-interop-{}-{}", ::getpid(), ++count);
  append("");
}

history::~history() {
  if (std::getenv("LATCHKEY_KEEP_DATA") != nullptr) return;
  std::error_code ignored;
  fs::remove(path_, ignored);
}

void history::expired(std::int64_t session) { append(fmt::format("expired {} {}\n", session, monotonic_now())); }

void history::killed(const std::string& who) { append(fmt::format("killed {} {}\n", who, monotonic_now())); }

void history::append(std::string_view line) const {
  const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) throw std::system_error{errno, std::generic_category(), path_};
  const auto written = ::write(file, line.data(), line.size());
  ::close(file);
  if (written != static_cast<ssize_t>(line.size())) throw std::runtime_error{"the history cannot be written"};
}

std::map<std::string, std::size_t> history::grants() {
  std::ifstream file{path_};
  file.seekg(static_cast<std::streamoff>(counted_));
  std::string line;
  while (std::getline(file, line) && !file.eof()) {
    counted_ += line.size() + 1;
    std::istringstream words{line};
    std::string event;
    std::string who;
    words >> event >> who;
    if (event == "granted") ++grants_[who];
  }
  return grants_;
}

std::vector<period> history::periods() const {
  std::ifstream file{path_};
  return read_periods(std::string{std::istreambuf_iterator<char>{file}, {}});
}

std::vector<period> read_periods(std::string_view text) {
  std::vector<period> all;
  std::map<std::string, std::size_t> open;  // who -> its period
  ends expired;
  ends killed;
  std::istringstream lines{std::string{text}};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::string event;
    words >> event;
    if (event == "expired" || event == "killed") {
      std::string key;
      std::int64_t time = 0;
      if (!(words >> key >> time)) makes_no_sense(line);
      (event == "expired" ? expired : killed)[key] = time;
      continue;
    }
    period record;
    if (!(words >> record.who >> record.kind >> record.granted >> record.session >> record.czxid)) makes_no_sense(line);
    if (event == "granted") {
      record.ended = period::unended;
      if (!open.try_emplace(record.who, all.size()).second) makes_no_sense(line);
      all.push_back(record);
    } else if (event == "released" || event == "lost") {
      const auto mine = open.find(record.who);
      if (mine == open.end()) makes_no_sense(line);
      all[mine->second].ended = record.granted;
      all[mine->second].czxid = record.czxid;
      open.erase(mine);
    } else if (event != "failed") {
      makes_no_sense(line);
    }
  }
  for (auto& each : all) {
    if (each.session == 0) each.ended = each.granted;
    cut_off(each, expired, std::to_string(each.session));
    cut_off(each, killed, each.who);
  }
  std::sort(all.begin(), all.end(), [](const period& a, const period& b) { return a.granted < b.granted; });
  return all;
}

}  // namespace latchkey::testing
