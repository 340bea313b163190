// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The number of permits that the users of a semaphore agree on.

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/repetition.hpp"
#include "session/conversation.hpp"

namespace latchkey::detail {

/// Which of the numbers that have been at a path: the later, the larger.
struct permit_edition {
  std::int64_t czxid = 0;
  std::int32_t version = -1;

  auto operator<=>(const permit_edition&) const = default;
};

/// @returns the data of the path of a semaphore: `{"permits":3}`.
std::string permit_record(std::uint32_t permits);

/// @returns the number in such data; nothing if it is other data.
std::optional<std::uint32_t> read_permit_record(std::string_view data);

/// The record at the path of a semaphore. The first client writes it; one that has another number fails. Later changes
/// are adopted: a watch reports them before the answer to any later list (Z4). With the monitor held.
///
/// | state   | event                      | then                                        |
/// |---------|----------------------------|---------------------------------------------|
/// | unknown | ask                        | asked: reads the record, with a watch       |
/// | asked   | no data                    | writes it, at the version that was read     |
/// | asked   | the ensemble refuses       | failed; unknown                             |
/// | asked   | the same number            | agreed                                      |
/// | asked   | another number             | agreed if it was agreed before; else asked  |
/// |         |                            | after a `sync`, and then failed             |
/// | asked   | no path, or no answer      | unknown                                     |
/// | any     | changed, written           | asked                                       |
/// | any     | the session is over        | unknown                                     |
class permit_contract : public conversation<permit_contract> {
 public:
  /// @param path of the semaphore, below the chroot
  /// @param recorded whether there is a record; without one it is always agreed
  /// @param on_known runs when it is agreed, or has failed
  permit_contract(client_core& core, const std::string& path, std::uint32_t permits, bool recorded,
                  std::function<void(const std::optional<failure>&)> on_known);

  std::uint32_t permits() const noexcept { return permits_; }
  /// @returns that of `permits()`; always the same if there is no record.
  const permit_edition& edition() const noexcept { return edition_; }
  bool recorded() const noexcept { return recorded_; }
  /// @returns whether it has been agreed at some time.
  bool met() const noexcept { return met_; }
  bool agreed() const noexcept { return state_ == state::agreed; }

  /// Reads the record unless it is known. Does nothing without a connection.
  void ask();
  /// The session is over, and its watches are.
  void forget();
  /// The record has just been written by this client, or read: later than the watch may have told.
  void learn(std::uint32_t permits, const node_stat& of);

 private:
  enum class state : std::uint8_t { unknown, asked, agreed };

  void ask_again();
  void read_record(bool synced);
  void on_read(const reply& read, bool synced);
  void write(std::int32_t version);
  void send(std::int32_t version);
  void on_number(std::uint32_t found, const node_stat& of, bool synced);
  void fail(failure why);

  const std::string path_;
  const std::string absolute_;
  const bool recorded_;
  const std::function<void(const std::optional<failure>&)> on_known_;
  std::uint32_t permits_;
  permit_edition edition_;
  bool met_ = false;  // it has been agreed before
  state state_;
  repetition writes_;
};

}  // namespace latchkey::detail
