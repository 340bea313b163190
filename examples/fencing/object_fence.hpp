// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Fencing in an object store with conditional writes, such as S3. The ETag makes check and write one step; the token
/// only says who gives up.

#include <optional>
#include <string>

#include <latchkey/fencing_token.hpp>

namespace fencing {

/// An object with its metadata.
struct object {
  std::string body;
  std::string fence;  ///< metadata of ours: the largest token; empty if there was none
  std::string etag;   ///< given by the store; empty if the object does not exist
};

/// Reads an object, and writes it if the token permits: with `value`, or as it was. The latter is the seal.
/// @tparam Store has `object get(key)`, and `bool put(key, object)`, which sends If-Match with the ETag of the object
/// (If-None-Match: * if it has none) and returns false for 412 Precondition Failed
/// @returns the body that the object has then; nothing if a larger token has been here.
template <class Store>
std::optional<std::string> put_fenced(Store& in, const std::string& key, latchkey::fencing_token token,
                                      const std::optional<std::string>& value) {
  const auto fence = to_string(token);
  if (token == latchkey::fencing_token{}) return std::nullopt;  // an empty guard
  while (true) {
    auto now = in.get(key);
    if (fence < now.fence) return std::nullopt;
    if (!value && fence == now.fence) return now.body;  // has been sealed
    now.fence = fence;
    if (value) now.body = *value;
    if (in.put(key, now)) return now.body;
  }  // another write came between: look again
}

/// Seals an object, and reads it. @returns its body; nothing if a larger token has been here.
template <class Store>
std::optional<std::string> read_object(Store& from, const std::string& key, latchkey::fencing_token token) {
  return put_fenced(from, key, token, std::nullopt);
}

/// @returns whether the body was written; not if a larger token has been here.
template <class Store>
bool write_object(Store& to, const std::string& key, latchkey::fencing_token token, const std::string& body) {
  return put_fenced(to, key, token, body).has_value();
}

}  // namespace fencing
