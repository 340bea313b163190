// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include <latchkey/error.hpp>
#include <latchkey/log.hpp>
#include <latchkey/settings.hpp>

#include "exit_code.hpp"
#include "show.hpp"

namespace command {
namespace {

/// @returns the text of the file; nothing if it `may_be_missing`, and is.
std::optional<std::string> read_file(const std::string& file, bool may_be_missing) {
  constexpr off_t most_bytes = 64 * 1024;
  const auto cannot_read = [&](std::string_view why) {
    return usage_error{fmt::format("cannot read {}: {}", printable(file), why)};
  };
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0) {
    if (may_be_missing && (errno == ENOENT || errno == EACCES)) return std::nullopt;
    throw cannot_read(std::strerror(errno));
  }
  if (!S_ISREG(about.st_mode)) throw cannot_read("it is no regular file");
  if (about.st_size > most_bytes) throw cannot_read("it is larger than 64 KiB");
  std::ifstream open{file};
  if (!open) {
    if (may_be_missing && errno == EACCES) return std::nullopt;
    throw cannot_read(std::strerror(errno));
  }
  return std::string{std::istreambuf_iterator<char>{open}, {}};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r";
  const auto first = text.find_first_not_of(space);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

void accept(std::string_view) {}
void check_duration(std::string_view text) { static_cast<void>(latchkey::parse_duration(text)); }
void check_acl(std::string_view text) { static_cast<void>(latchkey::parse_acl(text)); }
void check_tls(std::string_view text) {
  if (std::count(text.begin(), text.end(), ',') > 2)
    throw usage_error{"give three files; a key with a password is not supported, as others could see it here"};
}

/// A setting that comes from an option, the environment or the file.
struct setting {
  std::string settings::*member;
  const char* variable;
  std::string_view key;
  void (*check)(std::string_view);  ///< throws std::invalid_argument
};

constexpr std::array all_settings{
    setting{&settings::connect, "LATCHKEY_CONNECT", "connect", accept},
    setting{&settings::auth_file, "LATCHKEY_AUTH_FILE", "auth-file", accept},
    setting{&settings::session_timeout, "LATCHKEY_SESSION_TIMEOUT", "session-timeout", check_duration},
    setting{&settings::label, "LATCHKEY_LABEL", "label", accept},
    setting{&settings::acl, "LATCHKEY_ACL", "acl", check_acl},
    setting{&settings::tls, "LATCHKEY_TLS", "tls", check_tls}};

/// @param where it stands. @throws usage_error
void check(const setting& what, std::string_view value, std::string_view where) try {
  if (!value.empty()) what.check(value);
} catch (const std::invalid_argument& wrong) {
  throw usage_error{fmt::format("{}: {}", where, wrong.what())};
}

void fill_in_from_file(settings& given) {
  const bool by_default = given.config.empty();
  const auto file = by_default ? std::string{default_config_file} : given.config;
  const auto text = read_file(file, by_default);
  if (!text) return;
  std::set<std::string> said;  // the keys
  std::istringstream lines{*text};
  std::string whole;
  for (std::size_t number = 1; std::getline(lines, whole); ++number) {
    const auto line = trimmed(whole);
    if (line.empty() || line.front() == '#') continue;
    const auto equals = line.find('=');
    const auto key = trimmed(line.substr(0, equals));
    const auto* const known =
        std::find_if(all_settings.begin(), all_settings.end(), [&](const auto& each) { return each.key == key; });
    if (equals == line.npos || known == all_settings.end()) {
      throw usage_error{
          fmt::format("line {} of {} is no setting; write connect=, auth-file=, session-timeout=, label=, "
                      "acl= or tls=, or # in front of a comment",
                      number, printable(file))};
    }
    const auto where = fmt::format("line {} of {}", number, printable(file));
    const auto value = trimmed(line.substr(equals + 1));
    if (value.empty()) throw usage_error{fmt::format("{} has no value; leave it out, or write one", where)};
    if (!said.insert(std::string{key}).second) throw usage_error{fmt::format("{} sets {} once more", where, key)};
    auto& member = given.*known->member;
    if (!member.empty()) continue;
    member = value;
    check(*known, member, where);
  }
}

/// The log of the library, in terms of the command line.
void send_log(bool verbose, purpose what) {
  if (!verbose && what == purpose::look) return latchkey::set_log_sink({});
  const auto least = verbose ? latchkey::log_level::info : latchkey::log_level::warning;
  latchkey::set_log_sink([least](latchkey::log_level level, std::string_view line) {
    if (level < least) return;
    const auto text = fmt::format("latchkey: {}: {}\n", to_string(level), in_terms_of_options(std::string{line}));
    std::fputs(text.c_str(), stderr);
  });
}

}  // namespace

latchkey::peer_options parse_peers(std::string_view text) {
  latchkey::peer_options all;
  const auto comma = std::min(text.find(','), text.size());
  if (comma > 0) all.listen = text.substr(0, comma);
  if (comma < text.size()) all.advertise = text.substr(comma + 1);
  if (all.advertise.find(',') != all.advertise.npos)
    throw usage_error{"--peers takes the address to listen at, and the one that others send to: two at most"};
  return all;
}

void fill_in(settings& given, const std::function<const char*(const char*)>& environment) {
  for (const auto& each : all_settings) {
    const auto* const value = environment(each.variable);
    auto& member = given.*each.member;
    check(each, member, fmt::format("--{}", each.key));
    if (!member.empty() || value == nullptr) continue;
    member = value;
    check(each, member, each.variable);
  }
  fill_in_from_file(given);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::chrono::nanoseconds budget::left() const {
  return std::max<std::chrono::nanoseconds>(end_ - std::chrono::steady_clock::now(), std::chrono::nanoseconds::zero());
}

std::unique_ptr<latchkey::client> make_client(const settings& with, purpose what) {
  if (with.connect.empty()) {
    throw usage_error{
        fmt::format("no ensemble is named; give its servers with -c, as zk1:2181,zk2:2181, in LATCHKEY_CONNECT, or as "
                    "connect= in {}",
                    default_config_file)};
  }
  latchkey::client_options options;
  if (!with.session_timeout.empty()) options.session_timeout = latchkey::parse_duration(with.session_timeout);
  if (!with.auth_file.empty()) options.authentication = latchkey::read_credentials(with.auth_file);
  options.label = with.label;
  if (what == purpose::hold) options.session_file = with.session_file;
  options.acl = latchkey::parse_acl(with.acl);
  const bool names_us =
      std::any_of(options.acl.begin(), options.acl.end(), [](const auto& each) { return each.scheme == "auth"; });
  if (names_us && options.authentication.empty() && with.tls.empty())
    throw usage_error{"the entry auth of --acl names the credentials of this client, which has none; give --auth-file"};
  options.tls = with.tls;
  options.connect_timeout =
      std::clamp<std::chrono::milliseconds>(with.timeout, std::chrono::milliseconds{1}, options.connect_timeout);
  if (what == purpose::look) {
    options.close_timeout = std::chrono::seconds{1};  // it has nothing to delete
    options.keep_lease_ready = false;
  }
  if (with.peers && what == purpose::hold) options.peers = parse_peers(*with.peers);
  send_log(with.verbose, what);
  return std::make_unique<latchkey::client>(with.connect, std::move(options));
}

std::unique_ptr<latchkey::client> connect(const settings& with, const budget& time, purpose what,
                                          const std::function<bool()>& given_up) {
  constexpr std::chrono::nanoseconds between_questions = std::chrono::milliseconds{50};
  auto client = make_client(with, what);
  while (!client->wait_for_connection(std::min(time.left(), between_questions)) && !given_up()) {
    if (time.left() != std::chrono::nanoseconds::zero()) continue;
    if (const auto why = client->why_not_connected(); !why.empty())
      throw latchkey::error{latchkey::errc::unreachable, why};
  }
  return client;
}

}  // namespace command
