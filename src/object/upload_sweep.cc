// SPDX-License-Identifier: Apache-2.0
#include "object/upload_sweep.h"

namespace loam::object {

Result<SweptUploads> sweep_uploads(ObjectStore& store, const std::string& prefix,
                                   std::chrono::milliseconds age, bool abort) {
  SweptUploads out;
  MultipartUploads* uploads = store.multipart();
  if (uploads == nullptr) return out;
  const auto pending = TRY(uploads->list_uploads(prefix));
  const std::int64_t now_ms = uploads->service_now_ms();
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
