// SPDX-License-Identifier: Apache-2.0
#include "session/peer_message.hpp"

#include <algorithm>
#include <cstddef>

#include <sodium.h>
#include <nlohmann/json.hpp>

namespace latchkey::detail {
namespace {

// The format: version, verb, nonce, two names with their lengths, tag.
constexpr char version = 1;
constexpr std::size_t head = 2 + std::tuple_size_v<peer_nonce>;
constexpr std::size_t tag_size = crypto_shorthash_siphashx24_BYTES;
static_assert(std::tuple_size_v<peer_key> == crypto_shorthash_siphashx24_KEYBYTES);

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::array<unsigned char, tag_size> tag_of(std::string_view text, const peer_key& key) noexcept {
  std::array<unsigned char, tag_size> tag{};
  crypto_shorthash_siphashx24(tag.data(), bytes_of(text), text.size(), key.data());
  return tag;
}

void append(std::string& to, std::string_view name) {
  to += static_cast<char>(name.size());
  to += name;
}

/// @returns the name at the beginning of `rest`, taken off; nothing if it is not whole.
std::optional<std::string_view> take_name(std::string_view& rest) noexcept {
  if (rest.empty()) return std::nullopt;
  const std::size_t size = static_cast<unsigned char>(rest.front());
  if (rest.size() < 1 + size) return std::nullopt;
  const auto name = rest.substr(1, size);
  rest.remove_prefix(1 + size);
  return name;
}

constexpr auto variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

}  // namespace

std::string encode(const peer_message& what, const peer_key& key) {
  std::string bytes{version, static_cast<char>(what.what)};
  bytes.append(what.nonce.begin(), what.nonce.end());
  append(bytes, what.ahead);
  append(bytes, what.behind);
  const auto tag = tag_of(bytes, key);
  bytes.append(tag.begin(), tag.end());
  return bytes;
}

std::optional<peer_message> decode(std::string_view bytes) noexcept {
  if (bytes.size() < head + tag_size || bytes[0] != version) return std::nullopt;
  peer_message found;
  found.what = static_cast<peer_message::verb>(bytes[1]);
  if (found.what < peer_message::verb::subscribe || found.what > peer_message::verb::ask) return std::nullopt;
  std::copy_n(bytes_of(bytes) + 2, found.nonce.size(), found.nonce.begin());
  auto rest = bytes.substr(head, bytes.size() - head - tag_size);
  const auto ahead = take_name(rest);
  const auto behind = ahead ? take_name(rest) : std::nullopt;
  if (!behind || !rest.empty()) return std::nullopt;
  found.ahead = *ahead;
  found.behind = *behind;
  return found;
}

bool is_genuine(std::string_view bytes, const peer_key& key) noexcept {
  const auto tag = tag_of(bytes.substr(0, bytes.size() - tag_size), key);
  return sodium_memcmp(tag.data(), bytes_of(bytes) + bytes.size() - tag_size, tag_size) == 0;
}

std::string with_advert(std::string record, const peer_advert& what) {
  auto object = nlohmann::json::parse(record, nullptr, false);
  if (!object.is_object()) return record;
  std::string key(sodium_base64_ENCODED_LEN(std::tuple_size_v<peer_key>, variant), '\0');
  sodium_bin2base64(key.data(), key.size(), what.key.data(), what.key.size(), variant);
  key.pop_back();  // its zero
  object["peer"] = what.address;
  object["key"] = key;
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<peer_advert> read_advert(std::string_view record) {
  const auto object = nlohmann::json::parse(record, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  const auto peer = object.find("peer");
  const auto key = object.find("key");
  if (peer == object.end() || key == object.end() || !peer->is_string() || !key->is_string()) return std::nullopt;
  const auto text = key->get<std::string>();
  peer_advert found{.address = peer->get<std::string>()};
  std::size_t size = 0;
  if (sodium_base642bin(found.key.data(), found.key.size(), text.data(), text.size(), nullptr, &size, nullptr,
                        variant) != 0 ||
      size != found.key.size()) {
    return std::nullopt;
  }
  return found;
}

}  // namespace latchkey::detail
