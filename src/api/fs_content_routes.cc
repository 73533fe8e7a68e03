// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "api/fs_body.h"
#include "api/object_body.h"
#include "api/respond.h"
#include "api/routes.h"
#include "base/log.h"
#include "control/content_reader.h"
#include "control/file_content.h"
#include "meta/content.h"

namespace loam::api {

namespace {

std::string etag_of(const meta::Attributes& file) {
  return fmt::format("\"{}\"", file.generation);
}

Status check_match(const net::HttpRequest& request, const meta::Attributes& file) {
  const auto wanted = request.headers.get("If-Match");
  if (!wanted || *wanted == "*" || *wanted == etag_of(file)) return {};
  return fail(ErrorCode::kPreconditionFailed,
              fmt::format("the file has generation {}", file.generation));
}

Result<meta::OpenFile> open(const ApiContext& context, const net::HttpRequest& request) {
  const FsCaller caller = TRY(FsCaller::of(context, request));
  const std::string path = TRY(path_of_query(request));
  return context.services.read([&](db::Session& session) -> Result<meta::OpenFile> {
    const auto found = TRY(caller.readable(session, path, control::LastLink::kFollow));
    return meta::open_file(session, found.attributes->inode);
  });
}

std::vector<meta::ObjectId> ids_of(const meta::OpenFile& file) {
  std::vector<meta::ObjectId> out;
  for (const meta::OpenObject& one : file.objects)
    out.push_back(one.object.id);
  return out;
}

void get(const ApiContext& context, const net::HttpRequest& request,
         const net::ResponderPtr& responder) {
  auto file = open(context, request);
  if (!file) return responder->send(net::error_response(file.error()));
  const control::ServerSession::Hold hold(context.session, ids_of(*file));
  const meta::Attributes attributes = file->attributes;
  const auto asked = parse_range(request.headers.get("Range"));
  object::ByteRange range;
  auto reader = [&]() -> Result<control::ContentReader> {
    TRY_VOID(check_match(request, attributes));
    range = TRY(object::resolve_range(asked.value_or(object::ByteRange{}), attributes.size));
    return control::ContentReader::open(context.services.store, std::move(*file), range);
  }();
  if (!reader) return responder->send(net::error_response(reader.error()));
  send_stream(
      responder, content_head(asked, range.length, attributes.size, etag_of(attributes)),
      range.length, [&](std::span<std::byte> out) { return reader->read(out); },
      fmt::format("inode {}", attributes.inode));
}

Result<control::PutContent> put_request(const ApiContext& context, const net::HttpRequest& request,
                                        const net::BodyReader& body) {
  control::PutContent out;
  out.may_write = [caller = TRY(FsCaller::of(context, request))](const std::string& path) {
    return caller.may_write(path);
  };
  out.path = TRY(path_of_query(request));
  if (request.query_value("if_generation")) {
    out.if_generation = TRY(query_int(request, "if_generation", 0, 0, INT64_MAX));
  }
  out.exclusive = TRY(query_flag(request, "exclusive"));
  out.parents = TRY(query_flag(request, "parents"));
  out.inode.mode = TRY(query_int(request, "mode", 0644, 0, 07777));
  if (request.query_value("mtime_ns")) {
    out.mtime_ns = TRY(query_int(request, "mtime_ns", 0, 0, INT64_MAX));
  }
  out.length = body.length();
  out.crc32c = request.headers.get("Loam-Crc32c");
  return out;
}

void put(const ApiContext& context, const net::HttpRequest& request, net::BodyReader& body,
         const net::ResponderPtr& responder) {
  const auto done = [&]() -> Result<control::PutDone> {
    const control::PutContent wanted = TRY(put_request(context, request, body));
    return control::put_content(context.services, context.session, wanted,
                                [&body](std::span<std::byte> out) { return body.read(out); });
  }();
  if (!done) return responder->send(net::error_response(done.error()));
  const meta::Attributes& file = done->attributes;
  net::HttpResponse response =
      net::json_response(done->created ? 201 : 200, dump_json({{"inode", file.inode},
                                                               {"size", file.size},
                                                               {"generation", file.generation},
                                                               {"created", done->created}}));
  response.headers.set("ETag", etag_of(file));
  responder->send(std::move(response));
}

}  // namespace

void add_fs_content_routes(net::Router& router, const ApiContext& context) {
  router.add("GET", "/v1/fs/content", {.lane = net::Lane::kTransfer},
             [&context](const net::HttpRequest& request, const net::ResponderPtr& responder) {
               get(context, request, responder);
             });
  router.add_stream(
      "PUT", "/v1/fs/content",
      {.lane = net::Lane::kTransfer, .max_body_bytes = meta::kMaxFileBytes},
      [&context](const net::HttpRequest& request, net::BodyReader& body,
                 const net::ResponderPtr& responder) { put(context, request, body, responder); });
}

}  // namespace loam::api
