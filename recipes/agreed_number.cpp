// SPDX-License-Identifier: Apache-2.0
#include "recipes/agreed_number.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/path.hpp"
#include "queue/inquiry.hpp"
#include "queue/refusal.hpp"

namespace latchkey::detail {
namespace {

/// Names no key and no contender.
constexpr std::string_view keeper = "%keep";

}  // namespace

std::string agreement::record(std::uint32_t number) const { return fmt::format(R"({{"{}":{}}})", name, number); }

std::optional<std::uint32_t> agreement::read(std::string_view record) const {
  const auto head = fmt::format(R"({{"{}":)", name);
  if (!record.starts_with(head) || !record.ends_with('}')) return std::nullopt;
  const auto digits = record.substr(head.size(), record.size() - head.size() - 1);
  std::uint32_t found = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), found);
  if (error != std::errc{} || end != digits.data() + digits.size() || found < least) return std::nullopt;
  return found;
}

agreed_number::agreed_number(client_core& core, const std::string& path, const agreement& what, std::uint32_t number,
                             bool recorded, std::function<void(const std::optional<failure>&)> on_known)
    : conversation{core},
      path_{path},
      absolute_{core.absolute(path)},
      what_{what},
      recorded_{recorded},
      on_known_{std::move(on_known)},
      number_{number},
      state_{recorded ? state::unknown : state::agreed} {}

void agreed_number::forget() {
  if (!recorded_) return;
  anew();
  state_ = state::unknown;
}

void agreed_number::ask() {
  if (state_ == state::unknown && connected()) read_record(false);
}

void agreed_number::read_record(bool behind_barrier) {
  forget();
  state_ = state::asked;
  request record{.kind = operation::get, .path = absolute_};
  const auto then = [behind_barrier](agreed_number& self, const reply& read) { self.on_read(read, behind_barrier); };
  if (!what_.may_change) return conversation::ask(std::move(record), then);
  watch(std::move(record), then, [](agreed_number& self) {
    self.forget();
    self.ask();
  });
}

void agreed_number::on_read(const reply& read, bool behind_barrier) {
  const bool missing = read.code == reply_code::no_node;
  if (is_lost(read.code)) writes_.end();  // nor is it known what has become of the write
  if (is_lost(read.code) || (missing && what_.may_change)) return forget();
  if (missing) return on_none({});
  if (read.code != reply_code::ok) return fail(refusal(core(), read.code, what_.permissions));
  read.data_size == 0 ? on_none(read.stat.version) : on_number(read, behind_barrier);
}

void agreed_number::on_none(version at) {
  if (const auto why = std::exchange(refused_, std::nullopt)) return fail(*why);
  const auto pause = writes_.next();
  if (!pause) {
    return fail(
        {errc::refused,
         fmt::format("its node was deleted or emptied after each of {} attempts to write the number of {}; stop "
                     "the process that does that",
                     repetition::most_attempts, what_.name),
         {}});
  }
  if (*pause == duration::zero()) return write(at);
  after(*pause, [at](agreed_number& self) { self.connected() ? self.write(at) : self.forget(); });
}

/// What has become of the write is what the next read shows: another client may write at the same moment.
void agreed_number::write(version at) {
  refused_.reset();
  written_ = true;
  if (!at) {
    make_node();
  } else {
    if (!what_.may_change)
      send({.kind = operation::create, .path = join(absolute_, keeper), .mode = create_mode::persistent});
    send({.kind = operation::transact,
          .steps = {{.what = step::operation::set, .path = absolute_, .data = what_.record(number_), .version = *at}}});
  }
  read_record(false);
}

void agreed_number::make_node() {
  create_path(core(), parent_of(absolute_), [weak = weak_from_this()](const failure& why) {
    if (const auto self = weak.lock()) self->refused_ = why;
  });
  send({.kind = operation::create, .path = absolute_, .data = what_.record(number_), .mode = create_mode::persistent});
}

void agreed_number::send(request what) {
  auto created = what.kind == operation::create ? what.path : std::string{};
  core().session().submit(
      std::move(what), [weak = weak_from_this(), created = std::move(created)](const reply& answer) {
        using enum reply_code;
        const auto code = answer.code;
        const bool raced = code == ok || code == node_exists || code == bad_version || code == no_node;
        const auto self = weak.lock();
        if (!self || raced || is_lost(code)) return;
        self->refused_ = created.empty() ? refusal(self->core(), code, self->what_.permissions)
                                         : refusal_to_create(self->core(), created, code);
      });
}

/// The node may have been changed before the call began, and the server of this client may not know yet.
void agreed_number::on_number(const reply& read, bool behind_barrier) {
  const auto found = what_.read(read.data);
  const bool fits = found && (*found == number_ || (met_ && what_.may_change));
  if (!fits && !behind_barrier) {
    core().session().submit(barrier(absolute_), [](const reply&) {});
    return read_record(true);
  }
  if (!fits) {
    return fail({errc::contract_mismatch,
                 fmt::format("its node says {}, and this object was made with {}; {}", escaped(read.data.substr(0, 64)),
                             what_.record(number_), found ? what_.way_out : what_.of_others),
                 {}});
  }
  learn(*found, read.stat);
  if (!std::exchange(written_, false)) writes_.end();  // otherwise another client may empty it again at once
  state_ = state::agreed;
  on_known_(std::nullopt);
}

void agreed_number::learn(std::uint32_t number, const node_stat& of) {
  const detail::edition found{of.czxid, of.version};
  if (found < edition_) return;
  edition_ = found;
  number_ = number;
  met_ = true;
}

void agreed_number::fail(failure why) {
  forget();
  writes_.end();
  written_ = false;
  on_known_(why.at(path_));
}

}  // namespace latchkey::detail
