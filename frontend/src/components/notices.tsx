import "./notices.css";

import { CircleAlert } from "lucide-react";
import { useSyncExternalStore } from "react";

import { currentNotices, dismiss, onNotices } from "@/lib/announce";

export function Notices() {
  const notices = useSyncExternalStore(onNotices, currentNotices);
  return (
    <div className="notices" role="status" aria-live="polite">
      {notices.map((notice) => (
        <button key={notice.id} type="button" className={`notice notice-${notice.tone}`} onClick={() => dismiss(notice.id)}>
          {notice.tone === "error" && <CircleAlert size={15} aria-hidden="true" />}
          {notice.text}
        </button>
      ))}
    </div>
  );
}
