// SPDX-License-Identifier: Apache-2.0
#include <latchkey/sequencer.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/characters.hpp"
#include "base/escape.hpp"
#include "base/path.hpp"
#include "queue/grant_state.hpp"
#include "queue/inquiry.hpp"
#include "recipes/rules.hpp"
#include "recipes/sequencer/watched_nodes.hpp"

namespace latchkey {
namespace {

constexpr std::string_view version = "lk1:";
constexpr std::size_t token_digits = 24;
constexpr std::size_t before_node = version.size() + token_digits + 1;
constexpr std::size_t longest = before_node + 3 * detail::most_path_bytes;

std::optional<detail::position> position_of(std::string_view node) noexcept {
  return detail::parse_contender(detail::last_component(node));
}

bool is_node_of_queue(std::string_view node) {
  return detail::path_fault(node).empty() && detail::parent_of(node).size() > 1 && position_of(node);
}

bool is_plain(char byte) noexcept {
  return detail::is_letter_or_digit(byte) || std::string_view{"-._~/"}.find(byte) != std::string_view::npos;
}

/// Takes what is no escape as it is: `parse_sequencer` refuses what `to_string` would have written in another way.
std::string unescaped(std::string_view text) {
  std::string bytes;
  for (; !text.empty(); text.remove_prefix(1)) {
    unsigned char byte = 0;
    if (text.front() == '%' && text.size() > 2 &&
        std::from_chars(&text[1], &text[1] + 2, byte, 16).ptr == &text[1] + 2) {
      bytes += static_cast<char>(byte);
      text.remove_prefix(2);
    } else {
      bytes += text.front();
    }
  }
  return bytes;
}

void validate_node_of_queue(const std::string& node) {
  if (is_node_of_queue(node)) return;
  throw error{errc::bad_path,
              fmt::format("\"{}\" is not the path of a contender's node; take the sequencer from sequencer_of() or "
                          "parse_sequencer()",
                          detail::escaped(std::string_view{node}.substr(0, 128)))};
}

}  // namespace

sequencer sequencer_of(const grant& held) {
  if (const auto& state = detail::grant_state::of(held)) state->give_out();
  if (held) return {detail::grant_state::of(held)->node(), held.fence()};
  throw error{errc::lock_lost, "the grant has ended; take the lock, and make the sequencer while it is held"};
}

bool is_exclusive(const sequencer& what) noexcept {
  const auto position = position_of(what.node);
  return position && detail::rule_of(position->kind).exclusive();
}

std::string to_string(const sequencer& what) {
  auto text = fmt::format("{}{}:", version, to_string(what.token));
  for (const char byte : what.node) {
    if (is_plain(byte)) {
      text += byte;
    } else {
      fmt::format_to(std::back_inserter(text), "%{:02X}", static_cast<unsigned char>(byte));
    }
  }
  return text;
}

sequencer parse_sequencer(std::string_view text) {
  const auto token = text.substr(std::min(text.size(), version.size()), token_digits);
  if (text.size() > before_node && text.size() <= longest &&
      token.find_first_not_of("0123456789abcdef") == std::string_view::npos) {
    sequencer found{unescaped(text.substr(before_node)), parse_fencing_token(token)};
    if (is_node_of_queue(found.node) && to_string(found) == text) return found;
  }
  throw std::invalid_argument{fmt::format("\"{}\" is not a sequencer; pass the text that to_string() returned",
                                          detail::escaped(text.substr(0, 128)))};
}

bool check_sequencer(client& through, const sequencer& what, saturating<std::chrono::nanoseconds> timeout) {
  return await(detail::asynchronous::begin_to_check(through, what, timeout));
}

std::shared_ptr<detail::pending<bool>> detail::asynchronous::begin_to_check(client& through, const sequencer& what,
                                                                            std::chrono::nanoseconds timeout) {
  validate_node_of_queue(what.node);
  return begin_inquiry<bool>(through.core(), what.node, {question_about(what.node)}, time_to_answer(timeout),
                             [](const std::vector<reply>& answers) { return answers.front().code == reply_code::ok; });
}

sequencer_cache::sequencer_cache(client& through) : places_{std::make_shared<detail::watched_nodes>(through.core())} {}

sequencer_cache::~sequencer_cache() {
  auto& monitor = places_->core().monitor();
  if (monitor.forked()) {
    detail::keep_for_ever(places_);
  } else {
    monitor.run([this] { places_->end(); });
  }
}

bool sequencer_cache::looks_valid(const sequencer& what, saturating<std::chrono::nanoseconds> timeout) {
  validate_node_of_queue(what.node);
  auto& monitor = places_->core().monitor();
  std::shared_ptr<detail::watched_nodes::caller> me;
  detail::timer_id timer;
  std::uint64_t failing = 0;
  const auto known = monitor.run([&] {
    const auto answer = places_->known(what.node);
    if (!answer) {
      me = places_->ask(what.node);
      const auto wake = [&monitor, me] { monitor.wake({me, &me->point}); };
      timer = monitor.at(detail::deadline_after(monitor.now(), detail::time_to_answer(timeout)), wake);
      failing = places_->core().when_connected(wake);  // the end of this connection is an answer already
    }
    return answer;
  });
  if (known) return *known;
  me->point.wait();
  return monitor.run([&] {
    monitor.cancel(timer);
    places_->core().forget_connected(failing);
    places_->leave(what.node, me);
    if (me->failed) me->failed->throw_it();
    if (!me->there && places_->core().failed()) places_->core().failed()->at(what.node).throw_it();
    return me->there;
  });
}

}  // namespace latchkey
