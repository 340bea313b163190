// SPDX-License-Identifier: Apache-2.0
#include "session/session_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <latchkey/error.hpp>

#include "base/escape.hpp"
#include "base/log.hpp"

namespace latchkey::detail {
namespace {

/// Of a file that is read at all: a session needs some 200.
constexpr std::size_t most_bytes = std::size_t{1} << 20;

constexpr std::chrono::seconds patience_with_others{2};
constexpr std::chrono::milliseconds between_looks{5};

/// File systems that other hosts share, or that answer for a server: a lock there may be that of another host, or be
/// lost with a server while its owner lives. Not all have a name in the kernel's header.
constexpr std::array<std::uint32_t, 14> shared_file_systems{
    NFS_SUPER_MAGIC,       SMB_SUPER_MAGIC,         CIFS_SUPER_MAGIC,      SMB2_SUPER_MAGIC, V9FS_MAGIC,
    FUSE_SUPER_MAGIC,      CEPH_SUPER_MAGIC,        AFS_SUPER_MAGIC,       CODA_SUPER_MAGIC, OCFS2_SUPER_MAGIC,
    0x01161970 /* GFS2 */, 0x0bd00bd0 /* Lustre */, 0x47504653 /* GPFS */, 0x786f4256 /* VirtualBox */};

[[noreturn]] void refuse(errc code, const std::string& path, const std::string& what) {
  throw error{code, fmt::format("the session file \"{}\" {}", escaped(path), what)};
}

[[noreturn]] void refuse_call(const std::string& path, std::string_view call) {
  refuse(errc::bad_option, path, fmt::format("cannot be {} ({})", call, std::generic_category().message(errno)));
}

std::string text_of(const char* path) {
  std::ifstream file{path};
  std::string text;
  std::getline(file, text);
  return text;
}

struct process_state {
  char state = 0;
  std::int64_t start = 0;
};

/// @returns nothing if there is no such process.
std::optional<process_state> state_of(const std::string& pid) {
  const auto text = text_of(("/proc/" + pid + "/stat").c_str());
  const auto name_ends = text.rfind(')');  // a name may hold spaces
  if (name_ends == text.npos) return std::nullopt;
  std::istringstream rest{text.substr(name_ends + 1)};
  const std::vector<std::string> fields{std::istream_iterator<std::string>{rest}, {}};
  constexpr std::size_t start = 19;  // proc(5), counted from the state
  if (fields.size() <= start) return std::nullopt;
  return process_state{fields[0].front(), std::atoll(fields[start].c_str())};
}

/// The first one of a process may end before the others.
bool has_other_threads(const std::string& pid) {
  std::error_code none;
  const std::filesystem::directory_iterator threads{"/proc/" + pid + "/task", none};
  return std::distance(begin(threads), end(threads)) > 1;
}

std::string own_pid_namespace() {
  std::array<char, 64> text{};
  const auto size = ::readlink("/proc/self/ns/pid", text.data(), text.size());
  return size > 0 ? std::string{text.data(), static_cast<std::size_t>(size)} : std::string{};
}

void require_trusted(const std::string& path, int descriptor) {
  struct stat file {};
  struct statfs system {};
  if (::fstat(descriptor, &file) != 0 || ::fstatfs(descriptor, &system) != 0) refuse_call(path, "looked at");
  if (!S_ISREG(file.st_mode)) refuse(errc::bad_option, path, "is no regular file");
  if (file.st_uid != ::geteuid()) {
    refuse(
        errc::bad_option, path,
        fmt::format("is owned by user {}; it is read by user {} only if it is that user's", file.st_uid, ::geteuid()));
  }
  if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0) refuse(errc::bad_option, path, "may be written by others: chmod 0600");
  const auto type = static_cast<std::uint32_t>(system.f_type);
  if (std::find(shared_file_systems.begin(), shared_file_systems.end(), type) != shared_file_systems.end()) {
    refuse(errc::bad_option, path,
           "is on a network file system, where a lock does not tell whether a process lives; use a local one, as /run");
  }
}

/// @returns whether `path` still names it: its former owner may have removed it meanwhile.
bool is_there(const std::string& path, int descriptor) {
  struct stat named {};
  struct stat opened {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(descriptor, &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

std::string read_all(const std::string& path, int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const auto size = ::pread(descriptor, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) refuse_call(path, "read");
    if (size == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(size));
    if (text.size() > most_bytes) refuse(errc::bad_option, path, "is no session file: it is too long");
  }
}

/// Who has it locked while its process is dead is about to end the sessions that are left, or a child that closes it.
/// @returns whether it is locked now
bool lock_file(const std::string& path, const unshared_file& file) {
  const auto end = std::chrono::steady_clock::now() + patience_with_others;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) refuse_call(path, "locked");
    const auto owner = read_session_records(read_all(path, file.get())).owner;
    if (owner.pid == 0 || is_alive(owner) || std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(between_looks);
  }
  return true;
}

unshared_file open_and_lock(const std::string& path, session_file::purpose what_for) {
  if (path.find('\0') != path.npos) refuse(errc::bad_option, path, "has a byte 0 in its name");
  const int create = what_for == session_file::purpose::keep ? O_CREAT : 0;
  for (;;) {
    unshared_file file{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | create, 0600)};
    if (file.get() < 0 && errno == ELOOP) refuse(errc::bad_option, path, "is a symbolic link; name the file itself");
    if (file.get() < 0) refuse_call(path, "opened");
    require_trusted(path, file.get());
    if (!file.take()) {
      refuse(errc::session_file_in_use, path, "is that of another client of this process; give each client its own");
    }
    if (!lock_file(path, file)) {
      const auto owner = read_session_records(read_all(path, file.get())).owner;
      refuse(errc::session_file_in_use, path,
             fmt::format("is in use: {} still runs, or a child that it has forked without the handlers of fork(); give "
                         "each process its own",
                         owner.pid != 0 ? fmt::format("the process {}", owner.pid) : "its process"));
    }
    if (is_there(path, file.get())) return file;
  }
}

}  // namespace

process_mark this_process() {
  const auto own = state_of("self");
  return {::getpid(), own ? own->start : 0, text_of("/proc/sys/kernel/random/boot_id"), own_pid_namespace()};
}

bool is_alive(const process_mark& process) {
  const auto here = this_process();
  if (process.pid == 0 || process.boot != here.boot || process.pid_namespace != here.pid_namespace) return false;
  const auto number = fmt::to_string(process.pid);
  const auto found = state_of(number);
  if (!found || found->start != process.start) return false;
  return (found->state != 'Z' && found->state != 'X') || has_other_threads(number);
}

session_file::session_file(const std::string& path, purpose what_for)
    : path_{path}, file_{open_and_lock(path, what_for)} {
  const auto text = read_all(path_, file_.get());
  auto records = read_session_records(text);
  if (records.is_foreign) refuse(errc::bad_option, path_, "is no session file, and is left as it is");
  if (records.owner.pid != ::getpid() && is_alive(records.owner)) {
    refuse(errc::session_file_in_use, path_,
           fmt::format("is in use: the process {} still runs, though it has closed the file, which it did not open",
                       records.owner.pid));
  }
  left_by_ = records.owner.pid;
  sessions_ = std::move(records.sessions);
  is_own_ = what_for == purpose::keep;
  owner_ = is_own_ ? this_process() : std::move(records.owner);
  if (is_own_) write();
}

session_file::~session_file() {
  if (!is_own_ || file_.get() < 0) return;
  owner_.start = process_mark::has_closed;
  try {
    write();
  } catch (const std::exception&) {  // no memory or room: it is free when this process ends
  }
}

void session_file::add(recorded_session session) {
  sessions_.push_back(std::move(session));
  write_or_say();
}

void session_file::end(std::int64_t session) {
  std::erase_if(sessions_, [&](const recorded_session& each) { return each.id == session; });
  write_or_say();
}

/// What the file has said before is behind what is written, until it is cut off: it says nothing new.
void session_file::write() {
  auto text = line_of(owner_);
  for (const auto& each : sessions_) text += line_of(each);
  for (std::size_t done = 0; done < text.size();) {
    const auto size = ::pwrite(file_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) refuse_call(path_, "written");
    done += static_cast<std::size_t>(size);
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(text.size())) != 0) refuse_call(path_, "written");
}

void session_file::write_or_say() try { write(); } catch (const error& failure) {
  if (std::exchange(said_, true)) return;
  log(log_level::warning,
      "a session is not recorded; if this process dies, its locks are free only after the session timeout",
      {{"cause", failure.what()}});
}

}  // namespace latchkey::detail
