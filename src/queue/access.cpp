// SPDX-License-Identifier: Apache-2.0
#include <latchkey/access.hpp>

#include <latchkey/client.hpp>

#include "base/deadline.hpp"
#include "base/path.hpp"
#include "queue/inquiry.hpp"

namespace latchkey {

std::optional<std::string> permissions_of_anyone(client& through, const std::string& path,
                                                 saturating<std::chrono::nanoseconds> timeout) {
  detail::validate_path(path);
  auto& core = *through.core();
  auto answers = detail::inquire(core, path, {{.kind = detail::operation::get_acl, .path = core.absolute(path)}},
                                 detail::time_to_answer(timeout));
  auto& found = answers.front();
  if (found.code != detail::reply_code::ok) return std::nullopt;
  return std::move(found.data);
}

}  // namespace latchkey
