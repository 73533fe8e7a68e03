// SPDX-License-Identifier: Apache-2.0
#include "object/s3_sweep.h"

#include "base/clock.h"
#include "object/s3_store.h"

namespace loam::object {

Result<SweptUploads> sweep_uploads(ObjectStore& store, const std::string& prefix,
                                   std::chrono::milliseconds age, bool abort) {
  SweptUploads out;
  MultipartUploads* uploads = store.multipart();
  if (uploads == nullptr) return out;
  const auto pending = TRY(uploads->list_uploads(prefix));
  const auto* s3 = dynamic_cast<S3Store*>(&store);
  const std::int64_t now_ms =
      s3 != nullptr ? s3->endpoint().server_now_ms() : SystemClock().wall_ms();
  for (const PendingUpload& upload : pending) {
    if (now_ms - upload.started_ms < age.count()) {
      ++out.younger;
      continue;
    }
    out.old.push_back(upload);
    if (!abort) continue;
    TRY_VOID(uploads->abort_upload(upload.key, upload.upload_id));
    ++out.aborted;
  }
  return out;
}

}  // namespace loam::object
