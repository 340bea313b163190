// SPDX-License-Identifier: Apache-2.0
#include "recorder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace chaos {

recorder::recorder(const std::filesystem::path& file)
    : file_{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)} {
  if (file_ < 0) throw std::system_error{errno, std::generic_category(), file.string()};
}

recorder::~recorder() { ::close(file_); }

void recorder::append(std::string line) noexcept {
  line += '\n';
  if (::write(file_, line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
  std::perror("chaos: a record is lost");  // a history with holes proves nothing
  std::_Exit(EXIT_FAILURE);
}

}  // namespace chaos
