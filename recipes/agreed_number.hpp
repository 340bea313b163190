// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A number that all users of a path agree on.

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/checked_state.hpp"
#include "base/repetition.hpp"
#include "session/conversation.hpp"

namespace latchkey::detail {

/// What they agree on, and by what record in the data of the node at the path: `{"permits":3}`.
struct agreement {
  std::string_view name;         ///< of the number
  std::uint32_t least;           ///< that it may be
  bool may_change;               ///< then a watch tells, and the path has been created by others
  std::string_view way_out;      ///< for a user of another number
  std::string_view of_others;    ///< why there may be other data
  std::string_view permissions;  ///< that the record needs

  std::string record(std::uint32_t number) const;
  /// @returns the number in such a record; nothing if it is other data.
  std::optional<std::uint32_t> read(std::string_view record) const;
};

inline constexpr agreement permits_agreement{
    .name = "permits",
    .least = 1,
    .may_change = true,
    .way_out = "use the same number, change it for all with resize(), or set semaphore_options::contract to false",
    .of_others =
        "no semaphore has written that: use one recipe for each path, or, if the data is your own, set "
        "semaphore_options::contract to false",
    .permissions = "the permissions r and w, or set semaphore_options::contract to false"};

inline constexpr agreement stripes_agreement{
    .name = "stripes",
    .least = 0,
    .may_change = false,
    .way_out = "use the same number everywhere, or another path",
    .of_others = "no keyed_mutex has written that: use one recipe for each path",
    .permissions = "the permissions c, r and w"};

/// Which of the numbers that have been at a path: the later, the larger.
struct edition {
  std::int64_t czxid = 0;
  std::int32_t version = -1;

  auto operator<=>(const edition&) const = default;
};

/// The first client writes the record; one that has another number fails. Later changes are adopted if there may be any:
/// a watch reports them before the answer to any later list (Z4).
///
/// | state   | event                      | then                                                          |
/// |---------|----------------------------|---------------------------------------------------------------|
/// | unknown | ask                        | asked: reads the record                                       |
/// | asked   | no data                    | writes it, at the version that was read; asked                |
/// | asked   | no path                    | unknown if the number may change; else creates it, and asked  |
/// | asked   | the ensemble refuses       | failed; unknown                                               |
/// | asked   | the same number            | agreed                                                        |
/// | asked   | another number             | agreed if it was agreed before; else asked after a `sync`,    |
/// |         |                            | and then failed                                               |
/// | asked   | no answer                  | unknown                                                       |
/// | any     | changed                    | asked                                                         |
/// | any     | the session is over        | unknown                                                       |
///
/// A number that does not change is kept by a persistent node. One that exists already may be a container (its stat does
/// not tell), which the leader would delete once it has no children: so it gets a persistent child.
class agreed_number : public conversation<agreed_number> {
 public:
  /// @param path as the user calls it; below the chroot
  /// @param recorded whether there is a record; without one it is always agreed
  /// @param on_known runs when it is agreed, or has failed
  agreed_number(client_core& core, const std::string& path, const agreement& what, std::uint32_t number, bool recorded,
                std::function<void(const std::optional<failure>&)> on_known);

  std::uint32_t number() const noexcept { return number_; }
  /// @returns that of `number()`; always the same if there is no record.
  const detail::edition& edition() const noexcept { return edition_; }
  bool recorded() const noexcept { return recorded_; }
  /// @returns whether it has been agreed at some time.
  bool met() const noexcept { return met_; }
  bool agreed() const noexcept { return state_ == state::agreed; }

  /// Reads the record unless it is known. Does nothing without a connection.
  void ask();
  /// The session is over, and its watches are.
  void forget();
  /// The record has just been written by this client, or read: later than the watch may have told.
  void learn(std::uint32_t number, const node_stat& of);

 private:
  enum class state : std::uint8_t { unknown, asked, agreed };
  /// It is forgotten before it is asked for again.
  // clang-format off
  // to:               unknown  asked  agreed
  static constexpr transitions<3> may_follow{{
      /* unknown */ {true,    true,  false},
      /* asked   */ {true,    false, true},
      /* agreed  */ {true,    false, false},
  }};
  // clang-format on
  using version = std::optional<std::int32_t>;  ///< of the data; none: the node is missing

  void read_record(bool behind_barrier);
  void on_read(const reply& read, bool behind_barrier);
  void on_none(version at);
  void write(version at);
  void make_node();
  void send(request what);
  void on_number(const reply& read, bool behind_barrier);
  void fail(failure why);

  const std::string path_;
  const std::string absolute_;
  const agreement& what_;
  const bool recorded_;
  const std::function<void(const std::optional<failure>&)> on_known_;
  std::uint32_t number_;
  detail::edition edition_;
  bool met_ = false;  // it has been agreed before
  checked_state<state, may_follow> state_;
  repetition writes_;
  bool written_ = false;            // before the last read
  std::optional<failure> refused_;  // the last write
};

}  // namespace latchkey::detail
