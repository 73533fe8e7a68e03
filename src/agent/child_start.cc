// SPDX-License-Identifier: Apache-2.0
#include "agent/child_start.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace loam::agent {

namespace {

enum class Stage : int { kOutput, kWorkDir, kUser, kExec };

// What goes through the status pipe when something fails; execve closes the pipe otherwise.
struct Failure {
  Stage stage;
  int error_number;
};

// The kernel should take a greedy program before the agent or the watchdog.
constexpr std::string_view kChildOomScore = "500";

// Best effort: a container may forbid it, and the program runs all the same.
void write_best_effort(const char* path, std::string_view text) {
  const io::Fd file(open(path, O_WRONLY | O_CLOEXEC));
  if (file && write(file.get(), text.data(), text.size()) < 0) return;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The new process between fork and execve.
class Child {
 public:
  Child(const ProcessSpec& spec, int status_fd) : spec_(spec), status_fd_(status_fd) {
    arguments_.push_back(spec.command);
    arguments_.insert(arguments_.end(), spec.arguments.begin(), spec.arguments.end());
    for (const auto& [name, value] : spec.environment)
      environment_.push_back(name + "=" + value);
  }

  [[noreturn]] void run(int output_fd, pid_t watchdog, const AttemptCgroup& cgroup) {
    reset_signals();
    setsid();
    cgroup.join();
    write_best_effort("/proc/self/oom_score_adj", kChildOomScore);
    redirect(output_fd);
    become_user();
    if (chdir(spec_.work_dir.c_str()) != 0) stop(Stage::kWorkDir);
    umask(022);
    // After the change of user, which clears it. A parent that died just before is noticed by hand.
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != watchdog) _exit(127);
    execute();
  }

 private:
  [[noreturn]] void stop(Stage stage) {
    const Failure failure{stage, errno};
    // Smaller than PIPE_BUF: it arrives whole or, if nobody reads any more, not at all.
    if (write(status_fd_, &failure, sizeof failure) < 0) _exit(126);
    _exit(127);
  }

  // By the system call, because posix_spawn leaves two signals of glibc's ignored, which glibc's
  // own functions refuse to touch. All zeros is SIG_DFL in the kernel's struct sigaction.
  void reset_signals() {
    constexpr std::array<unsigned long, 8> kDefault{};
    constexpr int kMaxSignal = 64;
    for (int number = 1; number <= kMaxSignal; ++number) {
      syscall(SYS_rt_sigaction, number, kDefault.data(), nullptr, sizeof(std::uint64_t));
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
  }

  void redirect(int output_fd) {
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(output_fd, 1) < 0 || dup2(output_fd, 2) < 0) {
      stop(Stage::kOutput);
    }
    // The status pipe must stay open until execve, so all are only marked.
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  }

  void become_user() {
    if (spec_.gid) {
      const gid_t group = *spec_.gid;
      if (setgroups(1, &group) != 0 || setgid(group) != 0) stop(Stage::kUser);
    }
    if (spec_.uid && setuid(*spec_.uid) != 0) stop(Stage::kUser);
  }

  [[noreturn]] void execute() {
    std::vector<char*> arguments = pointers(arguments_);
    std::vector<char*> variables = pointers(environment_);
    // execvp looks into the PATH of the current environment, which is to be the child's.
    environ = variables.data();
    execvp(arguments[0], arguments.data());
    stop(Stage::kExec);
  }

  const ProcessSpec& spec_;
  int status_fd_;
  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
};

struct Pipe {
  io::Fd read_end;
  io::Fd write_end;
};

// Only the reader's end does not block; a program expects its standard output to block.
Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(io::error_from_errno(errno, "make a pipe"));
  Pipe out{io::Fd(ends[0]), io::Fd(ends[1])};
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    return fail(io::error_from_errno(errno, "make a pipe non-blocking"));
  }
  return out;
}

std::string describe(const Failure& failure, const ProcessSpec& spec) {
  const char* reason = std::strerror(failure.error_number);
  switch (failure.stage) {
    case Stage::kOutput:
      return fmt::format("cannot connect the program's output: {}", reason);
    case Stage::kWorkDir:
      return fmt::format("cannot enter the work directory '{}': {}", spec.work_dir, reason);
    case Stage::kUser:
      return fmt::format("cannot become the program's user: {}", reason);
    case Stage::kExec:
      break;
  }
  const auto path = spec.environment.find("PATH");
  const bool searched = spec.command.find('/') == std::string::npos;
  return fmt::format("cannot start '{}': {}{}", spec.command, reason,
                     searched && path != spec.environment.end()
                         ? fmt::format(" (PATH is {})", path->second)
                         : std::string());
}

}  // namespace

Result<StartingChild> start_child(const ProcessSpec& spec, const AttemptCgroup& cgroup) {
  Pipe output = TRY(make_pipe());
  Pipe status = TRY(make_pipe());
  // Room for what a program writes while the watchdog is busy; refused beyond the user's quota.
  constexpr int kPipeBytes = 1024 * 1024;
  fcntl(output.read_end.get(), F_SETPIPE_SZ, kPipeBytes);

  Child child(spec, status.write_end.get());
  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid < 0) return fail(io::error_from_errno(errno, "fork"));
  if (pid == 0) child.run(output.write_end.get(), self, cgroup);
  return StartingChild{pid, std::move(output.read_end), std::move(status.read_end)};
}

StartStatus read_start_status(int status_fd, const ProcessSpec& spec) {
  Failure failure{};
  const ssize_t length = read(status_fd, &failure, sizeof failure);
  if (length < 0) return {};
  if (length < static_cast<ssize_t>(sizeof failure)) return {.decided = true, .error = {}};
  return {.decided = true,
          .error = StartFailedEvent{describe(failure, spec), failure.error_number}};
}

}  // namespace loam::agent
