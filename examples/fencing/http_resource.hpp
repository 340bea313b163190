// SPDX-License-Identifier: Apache-2.0
#pragma once

/// An HTTP server that checks the header Fencing-Token.
///
///   GET /items/ID                               200 with the value
///   GET /items/ID   Fencing-Token: TOKEN        seals, then 200 with the value; 412 if it was refused
///   PUT /items/ID   Fencing-Token: TOKEN        204; 412 if it was refused
///
/// A 412 (Precondition Failed) has the largest token in its header Fencing-Token. 400: that is no token. 428
/// (Precondition Required): a PUT needs the header. 503: the server has restarted without its fences, see `opens_at`.

#include <httplib.h>

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include <latchkey/fence_gate.hpp>

namespace fencing {

/// Stands for the storage of the server: put yours in its place. Thread-safe.
class disk {
 public:
  std::string value(const std::string& id) {
    const std::lock_guard lock{mutex_};
    return values_[id];
  }
  void set_value(const std::string& id, const std::string& value) {
    const std::lock_guard lock{mutex_};
    values_[id] = value;
  }
  latchkey::fencing_token fence(const std::string& id) {
    const std::lock_guard lock{mutex_};
    return fences_[id];
  }
  void set_fence(const std::string& id, latchkey::fencing_token token) {
    const std::lock_guard lock{mutex_};
    fences_[id] = token;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
  std::map<std::string, latchkey::fencing_token> fences_;
};

class http_resource {
 public:
  using clock = std::chrono::steady_clock;
  using gate = latchkey::fence_gate<std::string>;

  /// A server that keeps its fences with its values.
  explicit http_resource(disk& data)
      : data_{data},
        gate_{{.load = [&data](const std::string& id) { return data.fence(id); },
               .store = [&data](const std::string& id, latchkey::fencing_token token) { data.set_fence(id, token); }}} {
    serve();
  }

  /// A server that forgets its fences when it restarts.
  /// @param opens_at until then it refuses every token: the restart plus the session timeout of the holders
  http_resource(disk& data, clock::time_point opens_at) : data_{data}, opens_at_{opens_at} { serve(); }

  httplib::Server& server() noexcept { return server_; }

 private:
  using request = httplib::Request;
  using response = httplib::Response;

  void serve() {
    server_.Get("/items/(.+)", [this](const request& asked, response& answer) { get(asked, answer); });
    server_.Put("/items/(.+)", [this](const request& asked, response& answer) { put(asked, answer); });
  }

  void get(const request& asked, response& answer) {
    const std::string id = asked.matches[1];
    std::optional<gate::pass> pass;
    if (asked.has_header("Fencing-Token") && !(pass = admit(id, asked, answer))) return;
    answer.set_header("Cache-Control", "no-store");  // a seal has to reach the server
    answer.set_content(data_.value(id), "text/plain");
  }

  void put(const request& asked, response& answer) {
    const std::string id = asked.matches[1];
    if (!asked.has_header("Fencing-Token")) {
      answer.status = 428;
      return;
    }
    if (const auto pass = admit(id, asked, answer)) {  // until the value has been written
      data_.set_value(id, asked.body);
      answer.status = 204;
    }
  }

  std::optional<gate::pass> admit(const std::string& id, const request& asked, response& answer) {
    try {
      const auto token = latchkey::parse_fencing_token(asked.get_header_value("Fencing-Token"));
      answer.status = 503;
      if (clock::now() < opens_at_) return std::nullopt;
      auto pass = gate_.admit(id, token);
      answer.status = pass ? 200 : 412;
      if (!pass) answer.set_header("Fencing-Token", to_string(gate_.largest(id)));
      return pass;
    } catch (const std::invalid_argument&) {
      answer.status = 400;
      return std::nullopt;
    }
  }

  disk& data_;
  clock::time_point opens_at_ = clock::time_point::min();
  gate gate_;
  httplib::Server server_;
};

}  // namespace fencing
