// SPDX-License-Identifier: Apache-2.0
#include "reader_writer.hpp"

#include <string>
#include <string_view>

#include <latchkey/shared_mutex.hpp>

namespace tour {

namespace {

class reader_writer {
 public:
  reader_writer(std::string name, const latchkey::client& client, latchkey::shared_mutex& lock, parent_link& link)
      : name_{std::move(name)}, client_{client}, lock_{lock}, link_{link} {}

  ~reader_writer() { unlock(); }
  reader_writer(const reader_writer&) = delete;
  reader_writer& operator=(const reader_writer&) = delete;

  void carry_out(std::string_view order) {
    if (order == "read") {
      link_.tell({.who = name_, .text = "waits to read"});
      if (lock_.lock_shared(link_.stop_token())) begin(event_kind::reads, lock_.held_shared());
    } else if (order == "write") {
      link_.tell({.who = name_, .text = "waits to write"});
      if (lock_.lock(link_.stop_token())) begin(event_kind::writes, lock_.held());
    } else if (order == "downgrade") {
      end();
      lock_.downgrade();
      begin(event_kind::reads, lock_.held_shared(), ", without having let go in between");
    } else if (order == "unlock") {
      unlock();
    }
  }

 private:
  void begin(event_kind mode, latchkey::grant grant, std::string text = {}) {
    mode_ = mode;
    grant_ = std::move(grant);
    const auto now = clock::now();  // before the look
    grant_ ? tell(mode, now, std::move(text)) : tell(event_kind::failed, now, "it was lost at once");
  }

  void end() {
    const auto now = clock::now();
    grant_ ? tell(event_kind::held_until, now) : tell(event_kind::failed, now, "the lock is lost");
  }

  void unlock() {
    if (mode_ == event_kind::note) return;
    end();
    tell(event_kind::released, clock::now());
    mode_ == event_kind::reads ? lock_.unlock_shared() : lock_.unlock();
    mode_ = event_kind::note;
  }

  void tell(event_kind kind, clock::time_point at, std::string text = {}) const {
    link_.tell({.at = at,
                .who = name_,
                .kind = kind,
                .token = grant_.fence(),
                .session = client_.session_id(),
                .text = std::move(text)});
  }

  const std::string name_;
  const latchkey::client& client_;
  latchkey::shared_mutex& lock_;
  parent_link& link_;
  latchkey::grant grant_;
  event_kind mode_ = event_kind::note;  // what it does now; nothing
};

}  // namespace

void obey(const worker_options& how, latchkey::client& client, parent_link& link) {
  latchkey::shared_mutex lock{client, "/latchkey-tour/read-write-lock"};
  reader_writer self{how.name, client, lock, link};
  while (const auto order = link.next_order()) self.carry_out(*order);
}

}  // namespace tour
