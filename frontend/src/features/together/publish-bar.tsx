import { useState } from "react";

import { Button } from "@/components/button";
import { Input } from "@/components/field";
import { useHotkey } from "@/hooks/use-hotkey";
import { useUrl } from "@/hooks/use-url";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";

import { usePublish } from "./api";
import { newerIn } from "./review-api";

/** Makes a version of what everybody wrote; the draft goes on from it. */
export function PublishBar({ draft, ready }: { draft: string; ready: boolean }) {
  const [message, setMessage] = useState("");
  const publish = usePublish(draft);
  const save = () => {
    if (!ready || publish.isPending) return;
    publish.mutate(
      { message },
      {
        onSuccess: ({ version }) => {
          setMessage("");
          announce(`Version ${version} published`);
        },
      },
    );
  };
  useHotkey("mod+Enter", "Publish a version", save, { inFields: true });
  return (
    <footer className="t-publish">
      {publish.error && <Refused reason={messageOf(publish.error)} onMerge={publish.reset} />}
      <div>
        <Input aria-label="What changed" placeholder="What changed, and why" maxLength={500} value={message} onChange={(event) => setMessage(event.target.value)} />
        <Button variant="primary" keys="mod+Enter" busy={publish.isPending} disabled={!ready} onClick={save}>
          Publish version
        </Button>
      </div>
    </footer>
  );
}

/** Why nothing was published; a draft that is behind is brought up to date. */
function Refused({ reason, onMerge }: { reason: string; onMerge: () => void }) {
  const [, change] = useUrl();
  const newer = newerIn(reason);
  const merge = () => {
    onMerge();
    change({ merge: `version:${newer}` }, true);
  };
  return (
    <p className="field-error" role="alert">
      {newer ? `Not published: version ${newer} came after this draft was begun. ` : `Not published: ${reason}`}
      {newer && (
        <Button size="small" onClick={merge}>
          Merge version {newer}
        </Button>
      )}
    </p>
  );
}
