// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The service, without sockets: a unit test can drive it on a simulated ensemble.

#include <atomic>
#include <filesystem>
#include <utility>  // boost/asio/awaitable.hpp of 1.74 needs it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <latchkey/mutex.hpp>
#include <latchkey/shared_mutex.hpp>

#include <nlohmann/json.hpp>

#include "ledger.hpp"

namespace bank {

/// Writes one line of JSON to the standard output.
void log(std::string_view level, std::string_view event, nlohmann::json fields = nlohmann::json::object());

/// What a request is answered with.
struct answer {
  int status = 200;
  std::string body{};
  std::string type = "application/json";
};

/// Whether the ensemble answers: an observer of the client. It overlooks outages shorter than `connect_timeout`.
struct reachability {
  std::atomic<bool> up{false};
  void operator()(const latchkey::client_event& event) {
    if (event.what == latchkey::client_event::kind::connected) up = true;
    if (event.what == latchkey::client_event::kind::unreachable) up = false;
  }
};

/// How a run of the nightly job ended.
enum class ending { finished, lost, shutdown };

class service {
 public:
  /// @param config a file that all instances read: {"max_deposit": 1000}
  service(latchkey::client& client, const reachability& ensemble, ledger& accounts, std::filesystem::path config);

  /// Answers a request. Does not throw. Blocks no thread: a request that waits for a lock is suspended.
  boost::asio::awaitable<answer> handle(std::string method, std::string target);

  /// The nightly job: closes a day, account by account, and calls `print` for each. It leaves out what is closed
  /// already, so any instance may resume it.
  ending close_day(std::chrono::sys_days day, std::stop_token shutdown, std::function<void(const std::string&)> print);

  /// Runs the job now, if the last night was missed, and at each midnight (UTC).
  void every_night(std::stop_token shutdown);

 private:
  boost::asio::awaitable<answer> route(std::string method, std::string target);
  boost::asio::awaitable<answer> deposit(std::string id, std::int64_t amount);
  boost::asio::awaitable<answer> reload();
  boost::asio::awaitable<answer> locked(std::string path);
  boost::asio::awaitable<answer> holders_of(std::string path);
  std::int64_t max_deposit(const latchkey::guard& reading);

  latchkey::client& client_;
  const reachability& ensemble_;
  ledger& ledger_;
  latchkey::mutex nightly_;
  latchkey::shared_mutex config_;
  const std::filesystem::path config_file_;
  std::mutex settings_;
  std::int64_t max_deposit_;
  std::int64_t read_under_ = 0;         // the number of the entry in the queue of `config_`
  boost::asio::thread_pool asking_{1};  // waits for answers to what has no asynchronous form
};

}  // namespace bank
