// SPDX-License-Identifier: Apache-2.0
#include "agent/watchdog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "agent/attempt.h"
#include "agent/control_channel.h"
#include "agent/log_spool.h"
#include "agent/process_tree.h"
#include "agent/progress.h"
#include "base/log.h"

namespace loam::agent {

namespace {

// How often the progress file is read; a step in it is seen at most this much late.
constexpr std::int64_t kProgressPollUs = 100'000;
// The longest sleep without any deadline.
constexpr std::int64_t kTickUs = 500'000;

class Watchdog {
 public:
  Watchdog(io::Fd control, WatchdogOrder order, StepMatcher matcher, LogSpoolWriter spool,
           io::Fd signals, const Clock& clock)
      : control_(std::move(control)),
        order_(std::move(order)),
        clock_(clock),
        attempt_(order_, clock),
        matcher_(std::move(matcher)),
        spool_(std::move(spool)),
        signals_(std::move(signals)),
        progress_file_(order_.spec.progress_file) {}

  int run();

 private:
  void wait();
  void read_commands();
  void obey(const ProcessCommand& command);
  void read_start();
  bool read_output();
  void drain_output();
  void follow_progress();
  void report(bool at_once);
  void send(const ProcessEvent& event);
  void send_last(const ProcessEvent& event);
  StepMatcher::OnStep on_step();

  io::Fd control_;
  WatchdogOrder order_;
  const Clock& clock_;
  Attempt attempt_;
  StepMatcher matcher_;
  LogSpoolWriter spool_;
  io::Fd signals_;
  ProgressFile progress_file_;
  std::int64_t progress_read_us_ = 0;
  ProgressReporter progress_;
  std::int64_t gap_bytes_ = 0;  // dropped and not yet told to the agent
  StartingChild child_;
  std::optional<StartFailedEvent> start_error_;
};

StepMatcher::OnStep Watchdog::on_step() {
  return [this](std::int64_t step) { progress_.add_step(step, clock_.boot_us()); };
}

// Sleeps until something happens or is due.
void Watchdog::wait() {
  const std::int64_t now = clock_.boot_us();
  std::int64_t until = std::min(now + kTickUs, attempt_.next_deadline_us());
  if (progress_file_.watched()) until = std::min(until, progress_read_us_ + kProgressPollUs);
  // A full socket must not make this spin: what is overdue is tried again with the next tick.
  if (const auto due = progress_.due_us(); due && *due > now) until = std::min(until, *due);
  const auto ms = std::clamp<std::int64_t>((until - now + 999) / 1'000, 0, kTickUs / 1'000);
  // poll skips negative descriptors, so whatever has ended may stay in its place.
  std::array<pollfd, 4> fds{{{control_.get(), POLLIN, 0},
                             {signals_.get(), POLLIN, 0},
                             {child_.output.get(), POLLIN, 0},
                             {child_.status.get(), POLLIN, 0}}};
  if (poll(fds.data(), fds.size(), static_cast<int>(ms)) < 0 && errno != EINTR) {
    LOG_ERROR("poll failed (errno {})", errno);
  }
  // The signal only wakes up; waitpid knows the rest.
  signalfd_siginfo info;
  constexpr int kMaxSignals = 16;
  for (int i = 0; i < kMaxSignals; ++i) {
    if (read(signals_.get(), &info, sizeof info) <= 0) break;
  }
}

void Watchdog::obey(const ProcessCommand& command) {
  if (const auto* alive = std::get_if<AliveCommand>(&command)) {
    attempt_.set_kill_at(alive->kill_at_boot_us);
  } else if (const auto* terminate = std::get_if<TerminateCommand>(&command)) {
    attempt_.terminate(std::chrono::milliseconds(terminate->grace_ms), terminate->reason);
  } else {
    attempt_.terminate(std::chrono::milliseconds(0), kReasonKilled);
  }
}

void Watchdog::read_commands() {
  constexpr int kMaxPerRound = 64;
  for (int i = 0; control_ && i < kMaxPerRound; ++i) {
    const auto message = receive_control(control_.get());
    if (!message && message.error().code == ErrorCode::kInvalidArgument) {
      LOG_ERROR("ignored: {}", message.error().message);
      continue;
    }
    if (message && message->kind == ControlMessage::Kind::kNothing) return;
    if (!message || message->kind == ControlMessage::Kind::kClosed) {
      LOG_WARN("the agent is gone; the program has {} ms to end", order_.spec.grace.count());
      control_.reset();
      attempt_.terminate(order_.spec.grace, kReasonAgentDied);
      return;
    }
    if (const auto command = process_command_from_json(message->body)) {
      obey(*command);
    } else {
      LOG_ERROR("ignored: {}", command.error().message);
    }
  }
}

void Watchdog::read_start() {
  if (!child_.status) return;
  StartStatus status = read_start_status(child_.status.get(), order_.spec);
  if (!status.decided) return;
  child_.status.reset();
  if (status.error) {
    start_error_ = std::move(status.error);
  } else {
    send(StartedEvent{child_.pid});
  }
}

// Reads at most a megabyte, so that a flood cannot keep commands waiting; true if there may be
// more.
bool Watchdog::read_output() {
  constexpr int kMaxPerRound = 16;
  static std::array<char, kMaxSpoolPayload> buffer;
  for (int i = 0; child_.output && i < kMaxPerRound; ++i) {
    const ssize_t length = read(child_.output.get(), buffer.data(), buffer.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == EAGAIN) return false;
    if (length <= 0) {
      child_.output.reset();
      return false;
    }
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(length));
    matcher_.feed(bytes, on_step());
    spool_.append(bytes);
  }
  return static_cast<bool>(child_.output);
}

// For when nothing of the attempt is left: what is in the pipe is all that will ever be. The bound
// is far above the size of a pipe; a process that could not be killed may go on writing.
void Watchdog::drain_output() {
  constexpr int kMaxRounds = 64;
  for (int i = 0; i < kMaxRounds && read_output(); ++i)
    continue;
  child_.output.reset();
  matcher_.finish(on_step());
}

void Watchdog::follow_progress() {
  const std::int64_t now = clock_.boot_us();
  if (!progress_file_.watched() || now - progress_read_us_ < kProgressPollUs) return;
  progress_read_us_ = now;
  if (const auto report = progress_file_.poll()) progress_.add_report(*report, now);
}

// Sends what has gathered, unless the agent does not read: then it gathers on.
void Watchdog::report(bool at_once) {
  gap_bytes_ += spool_.tick();
  const std::int64_t now = clock_.boot_us();
  if (!control_ || !has_room_to_send(control_.get())) return;
  if (gap_bytes_ > 0) send(OutputGapEvent{std::exchange(gap_bytes_, 0)});
  const auto due = progress_.due_us();
  if (!due || (*due > now && !at_once)) return;
  send(progress_.pending(now));
  progress_.sent(now);
}

void Watchdog::send(const ProcessEvent& event) {
  if (!control_) return;
  if (const Status sent = send_control(control_.get(), to_json(event)); !sent) {
    LOG_WARN("an event is lost: {}", sent.error().message);
  }
}

// The last event may not be lost, so a frozen agent is waited for; but not for ever.
void Watchdog::send_last(const ProcessEvent& event) {
  constexpr int kTries = 600;
  for (int i = 0; control_ && i < kTries; ++i) {
    const Status sent = send_control(control_.get(), to_json(event));
    if (sent || sent.error().code != ErrorCode::kResourceExhausted) return;
    pollfd fd{control_.get(), POLLOUT, 0};
    poll(&fd, 1, 100);
  }
}

int Watchdog::run() {
  auto started = attempt_.start();
  if (!started) {
    const StartFailedEvent event{started.error().message, 0};
    spool_.finish(to_json(ProcessEvent(event)));
    send_last(event);
    return 0;
  }
  child_ = std::move(*started);
  // Every round ends something or sleeps; the attempt's deadlines end the loop.
  while (attempt_.reap() && attempt_.worth_waiting()) {
    wait();
    read_start();
    read_commands();
    read_output();
    follow_progress();
    report(/*at_once=*/false);
    attempt_.enforce();
  }
  read_start();
  drain_output();
  progress_read_us_ = 0;
  follow_progress();
  const ExitedEvent exited = attempt_.finish();
  const ProcessEvent last = start_error_ ? ProcessEvent(*start_error_) : ProcessEvent(exited);
  gap_bytes_ += spool_.finish(to_json(last));
  report(/*at_once=*/true);
  send_last(last);
  return exited.leftover == 0 ? 0 : 1;
}

// From here on, what the watchdog and its libraries print goes to a file: a pipe that nobody reads
// must not be able to stop it.
void redirect_messages(const std::string& spool_dir) {
  const std::string path = spool_dir + "/watchdog.log";
  const io::Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file || dup2(file.get(), 1) < 0 || dup2(file.get(), 2) < 0) return;
}

Result<io::Fd> prepare_process() {
  setsid();
  TRY_VOID(become_subreaper());
  // Signals that a service manager or a terminal sends to everybody are the agent's business.
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2}) {
    signal(number, SIG_IGN);
  }
  // Lowering the score needs a privilege; without it the watchdog stays as it is.
  const io::Fd score(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (score && write(score.get(), "-900", 4) < 0) LOG_DEBUG("oom_score_adj stays as it is");
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  io::Fd signals(signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals) return fail(io::error_from_errno(errno, "make a signalfd"));
  return signals;
}

// The order is in a passed memory file because it may be larger than a message.
Result<WatchdogOrder> receive_order(int control_fd) {
  constexpr int kTimeoutMs = 10'000;
  constexpr std::int64_t kMaxOrderBytes = 16 * kMiB;
  pollfd fd{control_fd, POLLIN, 0};
  if (poll(&fd, 1, kTimeoutMs) != 1) {
    return fail(ErrorCode::kDeadlineExceeded, "the agent sent no order");
  }
  const ControlMessage message = TRY(receive_control(control_fd));
  if (message.kind != ControlMessage::Kind::kMessage || !message.passed) {
    return fail(ErrorCode::kUnavailable, "the agent went away before it sent an order");
  }
  const std::int64_t length = TRY(json_int(message.body, "spec_bytes"));
  if (length < 0 || length > kMaxOrderBytes) {
    return fail(ErrorCode::kTooLarge, fmt::format("an order of {} bytes", length));
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  const std::size_t got =
      TRY(io::read_at(message.passed.get(), std::as_writable_bytes(std::span(text)), 0));
  if (got != text.size()) return fail(ErrorCode::kDataCorrupt, "the order is cut off");
  return watchdog_order_from_json(TRY(parse_json(text)));
}

// Takes `control` away once there is somebody else to report to the agent.
Result<int> run_watchdog(io::Fd& control, const Clock& clock) {
  WatchdogOrder order = TRY(receive_order(control.get()));
  redirect_messages(order.spec.spool_dir);
  io::Fd signals = TRY(prepare_process());
  StepMatcher matcher = TRY(StepMatcher::create(order.spec.progress_pattern));
  LogSpoolWriter spool =
      TRY(LogSpoolWriter::create(order.spec.spool_dir, order.spec.log_limits, clock));
  Watchdog watchdog(std::move(control), std::move(order), std::move(matcher), std::move(spool),
                    std::move(signals), clock);
  return watchdog.run();
}

}  // namespace

int watchdog_main(int control_fd) {
  const SystemClock clock;
  io::Fd control(control_fd);
  fcntl(control_fd, F_SETFD, FD_CLOEXEC);
  const auto result = run_watchdog(control, clock);
  if (result) return *result;
  LOG_ERROR("the watchdog cannot start its program: {}", result.error().message);
  const Status sent = send_control(
      control.get(), to_json(ProcessEvent(StartFailedEvent{result.error().message, 0})));
  if (!sent) LOG_ERROR("and cannot say so: {}", sent.error().message);
  return 1;
}

}  // namespace loam::agent
