// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The resource of http_resource.hpp on a loopback port, and a client of it.

#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "../../examples/fencing/http_resource.hpp"

namespace latchkey::testing {

/// Serves until it ends.
class http_server {
 public:
  template <class... Arguments>
  explicit http_server(Arguments&&... of_resource) : resource_{std::forward<Arguments>(of_resource)...} {
    port_ = resource_.server().bind_to_any_port("127.0.0.1");
    if (port_ < 0) throw std::runtime_error{"no port to listen on"};
    thread_ = std::thread{[this] { resource_.server().listen_after_bind(); }};
    while (!resource_.server().is_running()) std::this_thread::yield();
  }
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;
  ~http_server() {
    resource_.server().stop();
    thread_.join();
  }

  int port() const noexcept { return port_; }

 private:
  fencing::http_resource resource_;
  int port_ = 0;
  std::thread thread_;
};

inline httplib::Headers header_of(fencing_token token) { return {{"Fencing-Token", to_string(token)}}; }

/// @throws std::runtime_error if there was no answer
inline httplib::Response answer(httplib::Result got) {
  if (!got) throw std::runtime_error{"no answer: " + to_string(got.error())};
  return *got;
}

/// One item of a server, through a connection of its own.
class http_item {
 public:
  http_item(int port, std::string id) : client_{"127.0.0.1", port}, path_{"/items/" + id} {}

  httplib::Response get(const httplib::Headers& headers = {}) { return answer(client_.Get(path_, headers)); }
  httplib::Response put(const httplib::Headers& headers, const std::string& value) {
    return answer(client_.Put(path_, headers, value, "text/plain"));
  }

  std::optional<std::string> read(fencing_token token) {
    const auto got = get(header_of(token));
    return got.status == 200 ? std::optional{got.body} : std::nullopt;
  }
  bool write(fencing_token token, const std::string& value) { return put(header_of(token), value).status == 204; }
  std::string peek() { return get().body; }

 private:
  httplib::Client client_;
  std::string path_;
};

}  // namespace latchkey::testing
