import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { useProject } from "@/hooks/use-project";
import type { Message, PromptVersion } from "@/lib/api/types";
import { diffMessages, diffWords, type Change } from "@/lib/diff";
import { plural } from "@/lib/format";

import type { PanelProps } from "./panels";
import { useBase, versionQuery } from "./review-api";
import type { Room } from "./room";

const SETTLED_MS = 400;
/** Around a change so much of the text is shown. */
const AROUND = 60;

interface Part {
  role: string | null;
  changes: Change[];
}

/** What the draft says otherwise than the version that it started from, by words. */
export function ReviewChanges({ room, draft, name }: PanelProps) {
  const { slug } = useProject();
  const number = useBase(draft, name);
  const base = useQuery({ ...versionQuery(slug, name, number ?? 0), enabled: number !== null }).data;
  const said = useSaid(room);
  if (number === null) return null;
  const parts = base ? partsOf(base, said) : [];
  const changed = parts.filter(({ changes }) => changes.some(({ kind }) => kind !== "same"));
  return (
    <section className="rv-changes" aria-labelledby="rv-changes">
      <h2 id="rv-changes">Changes to version {number}</h2>
      {base && changed.length === 0 && <p className="faint">The text is that of version {number}.</p>}
      {changed.map((part, index) => (
        <div key={index} className="rv-diff">
          {part.role && <span className="rv-role">{part.role}</span>}
          <p>
            {part.changes.map((change, at) => (
              <Words key={at} change={change} first={at === 0} last={at === part.changes.length - 1} />
            ))}
          </p>
        </div>
      ))}
    </section>
  );
}

function Words({ change: { kind, text }, first, last }: { change: Change; first: boolean; last: boolean }) {
  if (kind === "add") return <ins>{text}</ins>;
  if (kind === "del") return <del>{text}</del>;
  if (text.length <= AROUND * 3) return text;
  const hidden = text.length - (first || last ? AROUND : 2 * AROUND);
  return (
    <>
      {!first && text.slice(0, AROUND)}
      <span className="rv-gap" title={`${plural(hidden, "character")} unchanged`}>
        {" … "}
      </span>
      {!last && text.slice(-AROUND)}
    </>
  );
}

const contentOf = (message: { content?: unknown }): string => (typeof message.content === "string" ? message.content : JSON.stringify(message.content ?? null));

const messagesOf = (list: readonly Record<string, unknown>[]): Message[] => list.map((message) => ({ role: String(message.role ?? message.type ?? ""), content: contentOf(message) }));

function partsOf(base: PromptVersion, said: string | Message[]): Part[] {
  if (typeof base.prompt === "string" || typeof said === "string") {
    const [before, after] = [base.prompt, said].map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
    return [{ role: null, changes: diffWords(before!, after!) }];
  }
  return diffMessages(messagesOf(base.prompt as unknown as Record<string, unknown>[]), said);
}

const read = (room: Room): string | Message[] => (room.state.isChat ? messagesOf(room.messages.toJSON() as Record<string, unknown>[]) : room.text.toString());

/** What the draft says, a moment after the latest edit. */
function useSaid(room: Room): string | Message[] {
  const [said, setSaid] = useState(() => read(room));
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const edited = () => {
      clearTimeout(timer);
      timer = setTimeout(() => setSaid(read(room)), SETTLED_MS);
    };
    edited();
    room.document.on("update", edited);
    return () => {
      clearTimeout(timer);
      room.document.off("update", edited);
    };
  }, [room]);
  return said;
}
