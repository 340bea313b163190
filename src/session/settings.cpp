// SPDX-License-Identifier: Apache-2.0
#include <latchkey/settings.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <latchkey/client.hpp>
#include <latchkey/error.hpp>

#include "base/characters.hpp"
#include "base/escape.hpp"
#include "base/secrets.hpp"

namespace latchkey {
namespace {

using detail::escaped;

struct unit {
  std::string_view name;
  std::int64_t milliseconds;
};

/// Larger ones first.
constexpr std::array units{unit{"d", 86'400'000}, unit{"h", 3'600'000}, unit{"m", 60'000},
                           unit{"s", 1000},       unit{"", 1000},       unit{"ms", 1}};

std::string text_of(std::chrono::milliseconds time) {
  const auto* const whole =
      std::find_if(units.begin(), units.end(), [&](const auto& each) { return time.count() % each.milliseconds == 0; });
  return fmt::format("{}{}", time.count() / whole->milliseconds, whole->name);
}

/// @returns what is before the first `end`, without the space around it, and takes it away from `text`.
std::string_view next_part(std::string_view& text, char end) {
  const auto size = std::min(text.find(end), text.size());
  const auto part = detail::trimmed(text.substr(0, size), " \t\r");
  text.remove_prefix(std::min(size + 1, text.size()));
  return part;
}

/// What has a colon and no slash is not repeated: it may be the credentials themselves.
[[noreturn]] void refuse(const std::string& file, std::string_view what) {
  const bool is_path = file.find('/') != std::string::npos || file.find(':') == std::string::npos;
  throw error{errc::bad_option, fmt::format("the file of credentials {}{}{}", is_path ? escaped(file) + " " : "", what,
                                            is_path ? "" : "; give its path, not the credentials")};
}

[[noreturn]] void refuse_call(const std::string& file) {
  refuse(file, fmt::format("cannot be read ({})", std::generic_category().message(errno)));
}

/// An open file, and what has been read of it, which is overwritten at the end.
class secret_file {
 public:
  /// A pipe without a writer keeps no one.
  explicit secret_file(const std::string& name)
      : descriptor_{::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)} {
    if (descriptor_ < 0) refuse_call(name);
  }
  ~secret_file() {
    ::close(descriptor_);
    detail::wipe(text_);
  }
  secret_file(const secret_file&) = delete;
  secret_file& operator=(const secret_file&) = delete;

  std::string_view read(const std::string& name) {
    struct stat about {};
    if (::fstat(descriptor_, &about) != 0) refuse_call(name);
    if (!S_ISREG(about.st_mode)) refuse(name, "is no regular file");
    const auto mode = static_cast<unsigned>(about.st_mode & 07777);
    if (mode != 0600 && mode != 0400) {
      refuse(name, fmt::format("has the mode {:04o}; give it the mode 0600, as with chmod 600, and change the "
                               "credentials if others may have read them",
                               mode));
    }
    constexpr std::size_t most_bytes = 64 * 1024;
    text_.resize(most_bytes + 1);
    std::size_t size = 0;
    while (size < text_.size()) {
      const auto got = ::read(descriptor_, text_.data() + size, text_.size() - size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse_call(name);
      if (got == 0) break;
      size += static_cast<std::size_t>(got);
    }
    if (size > most_bytes) refuse(name, "is larger than 64 KiB");
    return std::string_view{text_}.substr(0, size);
  }

 private:
  const int descriptor_;
  std::string text_;
};

/// @returns the variable, empty if it is not set.
std::string_view variable(const char* name) {
  const auto* const value = std::getenv(name);
  return value != nullptr ? value : std::string_view{};
}

/// Gives `option` what `read` makes of the variable, if that says something.
template <class Option, class Read>
void take(const char* name, Option& option, Read read) try {
  if (const auto value = variable(name); !value.empty()) option = read(value);
} catch (const std::invalid_argument& wrong) {
  throw error{errc::bad_option, fmt::format("the environment variable {}: {}", name, wrong.what())};
}

}  // namespace

std::chrono::milliseconds parse_duration(given_text<std::string_view> given, std::chrono::milliseconds most) {
  const auto text = *given;
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const auto name = text.substr(static_cast<std::size_t>(end - text.data()));
  const auto* const found =
      std::find_if(units.begin(), units.end(), [&](const auto& each) { return each.name == name; });
  const bool valid = code == std::errc{} && found != units.end() && number >= 0;
  if (!valid || number * static_cast<double>(found->milliseconds) > static_cast<double>(most.count())) {
    throw std::invalid_argument{fmt::format(
        "\"{}\" is no duration of at most {}; write it as 500ms, 10s, 5m, 1.5h or 1d", escaped(text), text_of(most))};
  }
  return std::chrono::milliseconds{
      static_cast<std::int64_t>(std::ceil(number * static_cast<double>(found->milliseconds)))};
}

std::vector<acl_entry> parse_acl(given_text<std::string_view> given) {
  std::vector<acl_entry> all;
  for (auto text = *given; !text.empty();) {
    const auto entry = next_part(text, ',');
    const auto first = entry.find(':');
    const auto last = entry.rfind(':');
    const bool whole = first != entry.npos && first != last && first != 0;
    const auto permissions = whole ? entry.substr(last + 1) : std::string_view{};
    if (permissions.empty() || permissions.find_first_not_of("cdrwa") != permissions.npos) {
      throw std::invalid_argument{
          fmt::format("entry {} of the access control list is none; write it as auth::cdrwa, or world:anyone:r, with "
                      "commas between entries",
                      all.size() + 1)};
    }
    all.push_back({std::string{entry.substr(0, first)}, std::string{entry.substr(first + 1, last - first - 1)},
                   std::string{permissions}});
  }
  return all;
}

std::vector<credentials> read_credentials(given_text<std::string> name) {
  const auto& file = *name;
  secret_file open{file};
  auto text = open.read(file);
  std::vector<credentials> all;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto line = next_part(text, '\n');
    if (line.empty() || line.front() == '#') continue;
    const auto colon = line.find(':');
    if (colon == line.npos || colon == 0)  // the line itself may be a password
      refuse(file, fmt::format("has no scheme in line {}; write it as digest:user:password", number));
    all.push_back({std::string{line.substr(0, colon)}, std::string{line.substr(colon + 1)}});
  }
  if (all.empty()) refuse(file, "has no credentials; write a line as digest:user:password");
  return all;
}

client client::from_environment(client_options others) {
  const auto servers = variable("LATCHKEY_CONNECT");
  if (servers.empty()) {
    throw error{errc::bad_connect_string,
                "the environment variable LATCHKEY_CONNECT names no servers; set it, as to zk1:2181,zk2:2181"};
  }
  const auto as_text = [](std::string_view text) { return std::string{text}; };
  take("LATCHKEY_AUTH_FILE", others.authentication, [](std::string_view file) { return read_credentials(file); });
  take("LATCHKEY_SESSION_TIMEOUT", others.session_timeout, [](std::string_view text) { return parse_duration(text); });
  take("LATCHKEY_LABEL", others.label, as_text);
  take("LATCHKEY_ACL", others.acl, [](std::string_view text) { return parse_acl(text); });
  take("LATCHKEY_TLS", others.tls, as_text);
  return client{servers, std::move(others)};
}

}  // namespace latchkey
