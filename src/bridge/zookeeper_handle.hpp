// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One session of the C client.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/secrets.hpp"
#include "bridge/access_list.hpp"
#include "bridge/next_servers.hpp"
#include "bridge/znodes.hpp"

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {

/// What the sessions of one client have in common.
struct handle_options {
  std::chrono::milliseconds session_timeout{};
  std::shared_ptr<const access_list> acl;
  std::shared_ptr<const secrets> identity;
  bool tls = false;
};

/// One session of the C client: its asynchronous calls, its callbacks.
/// The listener is called on the completion thread of the C client, with no lock held that anything but `hush` takes.
/// `open` and `close` block, and run on helper threads; `send` does not.
class zookeeper_handle final : public znodes {
 public:
  zookeeper_handle(std::uint64_t epoch, znodes_listener& listener, handle_options options);
  ~zookeeper_handle() override;  ///< closes, if that has not been done
  zookeeper_handle(const zookeeper_handle&) = delete;
  zookeeper_handle& operator=(const zookeeper_handle&) = delete;

  /// Begins to connect. The listener may be called before it returns. @pre all signals are blocked: the C client's
  /// threads inherit that
  /// @param servers numeric addresses in the C client's form, an odd number of them (HAZARDS 3)
  /// @param former of id 0: the session is to be a new one
  /// @returns why it was not possible; empty when it was.
  std::string open(const std::string& servers, const former_session& former = {});

  bool send(std::uint64_t id, request what) override;
  void use_servers(std::string list) override { servers_.use(std::move(list)); }
  std::uint64_t turned_away() const noexcept override { return servers_.turned_away(); }
  bool awaits_server() const noexcept override;
  bool hush() noexcept override;

  /// Ends the session at the ensemble, if there is a connection; afterwards the listener is not called any more.
  /// Takes up to 5 s, but as long as it likes if the session has never begun (HAZARDS 36). @pre not called on a thread of the C client, which it joins (HAZARDS 1)
  void close() noexcept;

 private:
  /// A request between its call and its completion. The C client has a pointer to it and may lose that (HAZARDS 1): it
  /// is owned by `in_flight_`, which keeps it until the completion or the closing.
  struct in_flight;
  friend struct completions;

  int call(request what, in_flight& operation);
  std::list<in_flight> take(in_flight& operation);
  void answer(in_flight& operation, int rc, reply with) noexcept;
  void on_session_event(zhandle_t* handle, int state) noexcept;
  void tell(connection_state state, session_info info = {}) noexcept;
  bool authenticate(zhandle_t* handle) noexcept;
  void drain() noexcept;

  const std::uint64_t epoch_;
  znodes_listener& listener_;
  const handle_options options_;
  next_servers servers_;
  zhandle_t* handle_ = nullptr;  // not for callbacks: the first may come before it is known (HAZARDS 23)
  bool connected_ = false;       // the three are of the completion thread
  bool closing_ = false;
  std::size_t authenticated_ = 0;

  std::mutex telling_;  // of what follows; held while the listener is told of the session
  bool begun_ = false;
  bool hushed_ = false;

  std::mutex mutex_;  // of what follows; never held while the listener is called
  std::condition_variable drained_;
  std::list<in_flight> in_flight_;
};

}  // namespace latchkey::detail
