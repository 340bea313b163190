// SPDX-License-Identifier: Apache-2.0
#include "find_command.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "show.hpp"

namespace command {

not_executable no_command(const std::string& name, int why) {
  return {why == ENOENT || why == ENOTDIR ? exit_code::not_found : exit_code::not_executable,
          fmt::format("cannot execute {}: {}", printable(name), std::strerror(why))};
}

std::string find_command(const std::string& name) {
  const auto why_not = [](const std::string& file) {
    struct stat about {};
    if (::stat(file.c_str(), &about) != 0) return errno;
    if (!S_ISREG(about.st_mode)) return EACCES;
    return ::access(file.c_str(), X_OK) == 0 ? 0 : errno;
  };
  int why = ENOENT;
  if (name.find('/') != name.npos) {
    why = why_not(name);
    if (why == 0) return name;
  } else {
    const auto* const path = std::getenv("PATH");
    std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
    for (bool more = !name.empty(); more;) {
      const auto colon = rest.find(':');
      const auto folder = rest.substr(0, colon);
      const auto file = (folder.empty() ? std::string{"."} : std::string{folder}) + "/" + name;
      const int here = why_not(file);
      if (here == 0) return file;
      if (here == EACCES) why = EACCES;
      more = colon != rest.npos;
      if (more) rest.remove_prefix(colon + 1);
    }
  }
  throw no_command(name, why);
}

}  // namespace command
