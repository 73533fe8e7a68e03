// SPDX-License-Identifier: Apache-2.0
#include "agent/supervised.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "agent/attempt_cgroup.h"
#include "agent/control_channel.h"
#include "agent/orphans.h"
#include "agent/process_tree.h"
#include "agent/watchdog.h"
#include "base/log.h"
#include "base/random.h"

namespace loam::agent {

namespace {

using std::chrono::milliseconds;

// The order may be large and holds secrets, so it is passed as memory, not as a message or a file.
Result<io::Fd> memory_file(std::string_view content) {
  io::Fd file(memfd_create("loam-order", MFD_CLOEXEC));
  if (!file) return fail(io::error_from_errno(errno, "make a memory file"));
  TRY_VOID(io::write_all(file.get(), std::as_bytes(std::span(content.data(), content.size()))));
  return file;
}

// The watchdog needs nothing of the agent's environment but what makes its binary run.
std::vector<std::string> watchdog_environment() {
  std::vector<std::string> out;
  for (const char* name :
       {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) out.push_back(fmt::format("{}={}", name, value));
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// posix_spawn, because the agent has many threads and may be large.
class Spawner {
 public:
  Spawner() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~Spawner() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Spawner(const Spawner&) = delete;
  Spawner& operator=(const Spawner&) = delete;

  Result<pid_t> spawn(const WatchdogProgram& program, int control_fd) {
    posix_spawn_file_actions_adddup2(&actions_, control_fd, kWatchdogControlFd);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions_, kWatchdogControlFd + 1);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    std::vector<std::string> arguments = program.arguments;
    std::vector<std::string> environment = watchdog_environment();
    pid_t pid = 0;
    const int error = posix_spawn(&pid, program.executable.c_str(), &actions_, &attributes_,
                                  pointers(arguments).data(), pointers(environment).data());
    if (error == 0) return pid;
    return fail(io::error_from_errno(error, "start the watchdog " + program.executable));
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::string new_cgroup_name() {
  SystemRandom random;
  return fmt::format("loam-{}-{}", getpid(), random_token(random, 8));
}

}  // namespace

SupervisedProcess::SupervisedProcess(io::Fd socket, pid_t watchdog, std::string cgroup_name)
    : socket_(std::move(socket)),
      watchdog_(watchdog),
      watchdog_handle_(static_cast<int>(syscall(SYS_pidfd_open, watchdog, 0))),
      cgroup_name_(std::move(cgroup_name)) {
  if (const auto info = read_process(watchdog)) watchdog_start_ = info->start_ticks;
}

Result<std::unique_ptr<SupervisedProcess>> SupervisedProcess::start(
    const ProcessSpec& spec, const WatchdogProgram& program) {
  TRY_VOID(check_process_spec(spec));
  WatchdogOrder order{spec, spec.use_cgroup ? new_cgroup_name() : std::string()};
  const std::string text = dump_json(to_json(order));
  const io::Fd order_file = TRY(memory_file(text));
  auto [ours, theirs] = TRY(make_control_pair());

  Spawner spawner;
  const pid_t pid = TRY(WatchdogRegistry::instance().start(
      [&, &watchdog_end = theirs] { return spawner.spawn(program, watchdog_end.get()); }));
  theirs.reset();
  std::unique_ptr<SupervisedProcess> process(
      new SupervisedProcess(std::move(ours), pid, std::move(order.cgroup_name)));
  TRY_VOID(
      send_control(process->socket_.get(), Json{{"spec_bytes", text.size()}}, order_file.get()));
  return process;
}

SupervisedProcess::~SupervisedProcess() {
  kill();
  // The watchdog kills within milliseconds; one that cannot is stopped or hangs.
  constexpr milliseconds kPatience{3'000};
  if (!over_ && !wait_for_watchdog(kPatience)) {
    LOG_WARN("watchdog {} does not end; killing it and its tree", watchdog_);
  }
  clean_up_after_watchdog();
}

Status SupervisedProcess::command(const ProcessCommand& command) {
  if (over_) return {};
  Status sent = send_control(socket_.get(), to_json(command));
  if (!sent && sent.error().code == ErrorCode::kResourceExhausted) {
    LOG_WARN("watchdog {} does not read its orders", watchdog_);
  }
  return sent;
}

void SupervisedProcess::alive(std::int64_t kill_at_boot_us) {
  // Without effect on a watchdog that is gone or stuck: next_event() notices the one, and the other
  // must not be told that all is well.
  if (const Status sent = command(AliveCommand{kill_at_boot_us}); !sent) return;
}

void SupervisedProcess::terminate(milliseconds grace, const std::string& reason) {
  const Status sent = command(TerminateCommand{grace.count(), reason});
  // A watchdog that does not read will not keep its promise either.
  if (!sent && sent.error().code == ErrorCode::kResourceExhausted) kill_watchdog();
}

void SupervisedProcess::kill() {
  const Status sent = command(KillCommand{});
  if (!sent && sent.error().code == ErrorCode::kResourceExhausted) kill_watchdog();
}

// next_event() sees the socket end and cleans up.
void SupervisedProcess::kill_watchdog() {
  const std::lock_guard lock(reap_mutex_);
  if (!reaped_) ::kill(watchdog_, SIGKILL);
}

bool SupervisedProcess::wait_for_watchdog(milliseconds timeout) {
  pollfd fd{watchdog_handle_.get(), POLLIN, 0};
  return poll(&fd, 1, static_cast<int>(timeout.count())) == 1;
}

// Leaves nothing: the watchdog is waited for (killed, if it has not ended by itself by now), then
// whatever it left to this process is killed. Waiting comes first, because children change their
// parent before their old one can be waited for, but after its sockets are closed.
void SupervisedProcess::clean_up_after_watchdog() {
  constexpr milliseconds kExitPatience{1'000};
  constexpr milliseconds kKillPatience{10'000};
  int status = 0;
  {
    const std::lock_guard lock(reap_mutex_);
    if (reaped_) return;
    if (!wait_for_watchdog(kExitPatience)) ::kill(watchdog_, SIGKILL);
    while (waitpid(watchdog_, &status, 0) < 0 && errno == EINTR)
      continue;
    reaped_ = true;
  }
  WatchdogRegistry& registry = WatchdogRegistry::instance();
  registry.forget(watchdog_);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  AttemptCgroup group = AttemptCgroup::find(cgroup_name_);
  group.kill_all();
  const std::size_t left = registry.kill_orphans(watchdog_start_, kKillPatience);
  if (left > 0) LOG_ERROR("{} processes of a dead watchdog cannot be killed", left);
  group.remove();
}

Result<std::optional<ProcessEvent>> SupervisedProcess::next_event(milliseconds timeout) {
  if (over_) return std::nullopt;
  ControlMessage message = TRY(receive_control(socket_.get()));
  if (message.kind == ControlMessage::Kind::kNothing) {
    pollfd fd{socket_.get(), POLLIN, 0};
    if (poll(&fd, 1, static_cast<int>(timeout.count())) <= 0) return std::nullopt;
    message = TRY(receive_control(socket_.get()));
    if (message.kind == ControlMessage::Kind::kNothing) return std::nullopt;
  }
  ProcessEvent event;
  if (message.kind == ControlMessage::Kind::kClosed) {
    LOG_WARN("watchdog {} has died; killing what it watched", watchdog_);
    ExitedEvent exited;
    exited.reason = kReasonWatchdogDied;
    exited.boot_us = SystemClock().boot_us();
    event = exited;
  } else {
    event = TRY(process_event_from_json(message.body));
  }
  if (std::holds_alternative<ExitedEvent>(event) ||
      std::holds_alternative<StartFailedEvent>(event)) {
    clean_up_after_watchdog();
    over_ = true;
  }
  return event;
}

}  // namespace loam::agent
