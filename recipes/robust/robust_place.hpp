// SPDX-License-Identifier: Apache-2.0
#pragma once

/// An entry whose owner is known after its death.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked_state.hpp"
#include "base/path.hpp"
#include "queue/queue_entry.hpp"
#include "recipes/robust/robust_record.hpp"
#include "session/conversation.hpp"

namespace latchkey::detail {

/// A death that has been seen, so that the lock delay is waited out once, however many calls try meanwhile.
struct seen_death {
  std::int64_t czxid = 0;     ///< of the record
  std::int32_t version = -1;  ///< of the record
  time_point since{};
};

/// An entry that is granted once `<path>/robust-owner` names it: a record that goes together with the node of an owner who
/// unlocks, and stays behind otherwise.
///
/// | state    | event                                    | then                                                         |
/// |----------|------------------------------------------|--------------------------------------------------------------|
/// | over     | start                                    | queueing                                                     |
/// | queueing | the entry is let in                      | taking: creates the record, if the node of the entry is there |
/// | queueing | the entry follows on a former one        | taking, ahead: for the node that it has if none came between |
/// | ahead    | that node is not there, or answer lost   | queueing                                                     |
/// | ahead    | named                                    | waits until the entry is let in                              |
/// | taking   | done                                     | named                                                        |
/// | taking   | there is a record                        | reading                                                      |
/// | reading  | it names this entry                      | named                                                        |
/// | reading  | the reaper is deleting its entry         | pausing, then taking                                         |
/// | reading  | its owner wanted a lock delay            | pausing, then replacing; tells its line, which refuses tries |
/// | reading  | otherwise                                | replacing: sets the record, if it is what was read           |
/// | reading  | it has gone                              | taking                                                       |
/// | replacing| done                                     | named                                                        |
/// | replacing| another record, or none                  | reading                                                      |
/// | these    | answer lost                              | reading, with the next connection; refused if it tries once  |
/// | these    | the node of the entry is not there       | the entry is lost                                            |
/// | named    |                                          | granted, after a proof if none is fresh                      |
/// | named    | the entry is let in with another node    | taking; its own former record is replaced without a word     |
/// | named    | the entry stands again and is left       | over; the record, which may be another's by now, stays       |
/// | any      | the entry is lost, refused or fails      | over; if a record of ours may be on its way, as for "leave", |
/// |          |                                          | and the node of the entry is left to the place               |
/// | any      | leave                                    | over; if a record of ours may be on its way, when that is    |
/// |          |                                          | known: until then the place keeps itself                     |
class robust_place final : public place, public place_listener, public conversation<robust_place> {
 public:
  /// @param path absolute path of the lock
  /// @param lock_delay of its record
  /// @param seen by earlier places of the same object
  robust_place(std::shared_ptr<client_core> core, const std::shared_ptr<const std::string>& path, const rule& kind,
               place_listener& listener, std::chrono::milliseconds lock_delay, std::shared_ptr<seen_death> seen);

  void start(patience how, std::unique_ptr<kept_node> former = {}) override;
  void leave(bool closed = false) override;
  std::unique_ptr<kept_node> leave_for_another(std::uint32_t turn, bool closed = false) override;
  void goes(way_out how) noexcept { way_out_ = how; }
  bool refresh(time_point now) override { return entry_->refresh(now); }
  void stop_proving() override { entry_->stop_proving(); }
  void set_patience(patience how) noexcept override { entry_->set_patience(how_ = how); }
  bool waited() const noexcept override { return waited_ || entry_->waited(); }
  const std::string& node() const noexcept override { return entry_->node(); }
  fencing_token fence(std::uint32_t turn) const noexcept override { return entry_->fence(turn); }
  std::uint32_t first_turn() const noexcept override { return entry_->first_turn(); }

  /// @pre granted. @returns who did not unlock; nothing once that is in order.
  const std::optional<dead_owner>& before() const noexcept { return record_.before; }
  void recovered() noexcept { record_.before.reset(); }
  /// @returns whether it waits for a time to pass, as for a lock delay.
  bool delays() const noexcept { return state_ == state::pausing; }

 private:
  enum class state : std::uint8_t { over, queueing, taking, reading, pausing, replacing, named };
  /// It may be left, be lost, or fail, in every state.
  // clang-format off
  // to:                 over  queueing  taking  reading  pausing  replacing  named
  static constexpr transitions<7> may_follow{{
      /* over      */ {true, true,     false,  false,   false,   false,     false},
      /* queueing  */ {true, false,    true,   false,   false,   false,     false},
      /* taking    */ {true, true,     false,  true,    false,   false,     true},
      /* reading   */ {true, true,     true,   true,    true,    true,      true},
      /* pausing   */ {true, false,    true,   true,    false,   true,      false},
      /* replacing */ {true, false,    false,  true,    false,   false,     true},
      /* named     */ {true, false,    true,   false,   false,   false,     false},
  }};
  // clang-format on

  void on_following(const kept_node& former, const std::string& node) override;
  void on_granted() override;
  void on_delayed() override {
    if (!left_) listener_->on_delayed();
  }
  void on_refused() override;
  void on_suspect() override {
    if (!left_) listener_->on_suspect();
  }
  void on_lost(loss_reason why) override;
  void on_failed(const failure& why) override;
  void on_asked_to_release() override;
  std::vector<step> last_words() const override;
  std::string spared_node() const override { return uncertain_ ? record_.node : std::string{}; }
  bool may_release() const noexcept override { return false; }
  pace* queue_pace() noexcept override { return listener_->queue_pace(); }
  std::string record(std::string_view label, const rule& kind) const override { return listener_->record(label, kind); }

  /// @returns the path of an entry of its lock.
  std::string node_named(std::string_view name) const { return join(parent_of(path_), name); }
  void become(state next);
  void take(std::string_view node, fencing_token fence);
  void write(state how);
  void on_written(const reply& written);
  void read();
  void on_read(const reply& read);
  void on_other(const robust_record& found, const node_stat& of);
  void replace(std::optional<dead_owner> before, std::int32_t version);
  void read_again();
  void be_named();
  void await_entry();
  void grant();
  void refuse();
  void fail(reply_code code);
  void leave_at_last();
  bool on_entry_over();
  bool end();

  const std::shared_ptr<client_core> core_;
  const std::string path_;  // of the record
  const std::shared_ptr<queue_entry> entry_;
  const std::shared_ptr<seen_death> seen_;
  patience how_ = patience::wait;
  way_out way_out_ = way_out::unlocked;
  checked_state<state, may_follow> state_ = state::over;
  robust_record record_;                 // of this owner
  std::optional<robust_record> former_;  // of an earlier node of the entry
  std::int32_t version_ = 0;             // of the record that is replaced
  bool uncertain_ = false;               // the record may be of this owner
  bool created_ = false;                 // the record was, rather than set
  bool ahead_ = false;   // the record is written for a node with which the entry has not been let in yet
  bool waited_ = false;  // for a lock delay
  bool closed_ = false;
  bool asked_to_release_ = false;
  std::uint64_t connecting_ = 0;        // see `client_core::when_connected`
  std::shared_ptr<robust_place> left_;  // itself, if the line has let go of it
};

}  // namespace latchkey::detail
