// SPDX-License-Identifier: Apache-2.0
#include "recipes/permit_contract.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "queue/refusal.hpp"

namespace latchkey::detail {
namespace {

constexpr std::string_view record_head = R"({"permits":)";

}  // namespace

std::string permit_record(std::uint32_t permits) { return fmt::format("{}{}}}", record_head, permits); }

std::optional<std::uint32_t> read_permit_record(std::string_view data) {
  if (!data.starts_with(record_head) || !data.ends_with('}')) return std::nullopt;
  const auto digits = data.substr(record_head.size(), data.size() - record_head.size() - 1);
  std::uint32_t found = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), found);
  if (error != std::errc{} || end != digits.data() + digits.size() || found == 0) return std::nullopt;
  return found;
}

permit_contract::permit_contract(client_core& core, const std::string& path, std::uint32_t permits, bool recorded,
                                 std::function<void(const std::optional<failure>&)> on_known)
    : conversation{core},
      path_{path},
      absolute_{core.absolute(path)},
      recorded_{recorded},
      on_known_{std::move(on_known)},
      permits_{permits},
      state_{recorded ? state::unknown : state::agreed} {}

void permit_contract::forget() {
  if (!recorded_) return;
  anew();
  state_ = state::unknown;
}

void permit_contract::ask() {
  if (state_ == state::unknown && connected()) read_record(false);
}

void permit_contract::ask_again() {
  forget();
  ask();
}

void permit_contract::read_record(bool synced) {
  forget();
  state_ = state::asked;
  watch({.kind = operation::get, .path = absolute_},
        [synced](permit_contract& self, const reply& read) { self.on_read(read, synced); },
        [](permit_contract& self) { self.ask_again(); });
}

void permit_contract::on_read(const reply& read, bool synced) {
  if (read.code == reply_code::ok) {
    if (read.data_size == 0) return write(read.stat.version);
    if (const auto found = read_permit_record(read.data)) return on_number(*found, read.stat, synced);
    return fail(
        {errc::contract_mismatch,
         "the data of the path is no number of permits; choose another path, or set semaphore_options::contract "
         "to false",
         {}});
  }
  forget();
  if (read.code == reply_code::no_node || is_lost(read.code)) return;
  fail(refusal(read.code, "the permission r"));
}

/// Another client may write at the same moment: the watch tells of either.
void permit_contract::write(std::int32_t version) {
  const auto pause = writes_.next();
  if (!pause) {
    return fail({errc::refused,
                 fmt::format("its data were emptied after each of {} attempts to write the number of permits; stop the "
                             "process that does that",
                             repetition::most_attempts),
                 {}});
  }
  if (*pause == duration::zero()) return send(version);
  after(*pause, [version](permit_contract& self) { self.connected() ? self.send(version) : self.forget(); });
}

void permit_contract::send(std::int32_t version) {
  conversation::ask({.kind = operation::transact,
                     .steps = {{.what = step::operation::set,
                                .path = absolute_,
                                .data = permit_record(permits_),
                                .version = version}}},
                    [](permit_contract& self, const reply& written) {
                      const auto code = written.code;
                      if (code == reply_code::ok) return;
                      const bool raced = code == reply_code::bad_version || code == reply_code::no_node;
                      if (raced || is_lost(code)) return self.ask_again();
                      self.fail(refusal(code, "the permission w, or set semaphore_options::contract to false"));
                    });
}

/// The number may have been changed before the call began, and the server of this client may not know yet.
void permit_contract::on_number(std::uint32_t found, const node_stat& of, bool synced) {
  if (found != permits_ && !met_) {
    if (!synced) {
      core().session().submit({.kind = operation::sync, .path = absolute_}, [](const reply&) {});
      return read_record(true);
    }
    return fail({errc::contract_mismatch,
                 fmt::format("the semaphore has {} permits, and this object was made for {}; use the same number, or "
                             "change it for all with resize()",
                             found, permits_),
                 {}});
  }
  learn(found, of);
  met_ = true;
  writes_.end();
  state_ = state::agreed;
  on_known_(std::nullopt);
}

void permit_contract::learn(std::uint32_t permits, const node_stat& of) {
  const permit_edition found{of.czxid, of.version};
  if (found < edition_) return;
  edition_ = found;
  permits_ = permits;
}

void permit_contract::fail(failure why) {
  forget();
  writes_.end();
  on_known_(why.at(path_));
}

}  // namespace latchkey::detail
