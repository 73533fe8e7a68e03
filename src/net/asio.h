// SPDX-License-Identifier: Apache-2.0
#pragma once

// The parts of Boost.Asio that this folder uses; included only by its private headers and sources.

#if defined(__SANITIZE_THREAD__)
// gcc's thread sanitizer does not know fences and says so as an error. Nothing here relies on
// Asio's: what passes between threads passes through the loops' queues, under their mutexes.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK 1
#endif

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
