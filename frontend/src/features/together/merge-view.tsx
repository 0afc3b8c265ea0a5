import { useQuery } from "@tanstack/react-query";
import { GitMerge, X } from "lucide-react";
import { useState } from "react";

import { Badge } from "@/components/badge";
import { Button } from "@/components/button";
import { Failure, Loaded } from "@/components/states";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import type { Draft, Merge, MergeChoice } from "@/lib/api/types";
import { diffWords } from "@/lib/diff";

import { ConflictBox, type Names } from "./merge-conflict";
import { mergeQuery, useMerge, type MergeWith } from "./review-api";
import type { Room } from "./room";

interface MergeViewProps {
  draft: Pick<Draft, "id" | "name">;
  source: MergeWith;
  room: Room;
  onClose: () => void;
}

type Choices = Record<string, MergeChoice>;

/** Another draft or version and this one as one text: what each side changed, and what must be decided. */
export default function MergeView({ draft, source, room, onClose }: MergeViewProps) {
  const { slug } = useProject();
  const merge = useQuery(mergeQuery(slug, draft.id, source));
  useHotkey("Escape", "Back to the draft", onClose);
  return (
    <div className="mg">
      <Loaded query={merge} what="The merge">
        {(found) => <Merging merge={found} draft={draft} source={source} room={room} refresh={() => void merge.refetch()} onClose={onClose} />}
      </Loaded>
    </div>
  );
}

function Merging({ merge, draft, source, room, refresh, onClose }: MergeViewProps & { merge: Merge; refresh: () => void }) {
  const may = useMay("member");
  const apply = useMerge(draft.id, room);
  const [choices, setChoices] = useState<Choices>({});
  const decided = merge.conflicts.filter(({ id }) => choices[id]).length;
  const ready = may && merge.is_changed && decided === merge.conflicts.length;
  const submit = () => {
    if (!ready || apply.isPending) return;
    const known = Object.fromEntries(merge.conflicts.map(({ id }) => [id, choices[id]!]));
    apply.mutate(
      { source, choices: known },
      {
        onSuccess: () => {
          announce(`${capital(merge.source)} merged; undo takes it back`);
          onClose();
        },
        onError: refresh,
      },
    );
  };
  useHotkey("mod+Enter", "Apply the merge", submit, { inFields: true });
  const choose = (id: string, choice: MergeChoice) => setChoices((before) => ({ ...before, [id]: choice }));
  return (
    <>
      <header className="mg-head">
        <GitMerge size={16} aria-hidden="true" />
        <h2>
          {capital(merge.source)} into {draft.name}
        </h2>
        <span className="faint">{summary(merge, decided)}</span>
        <span className="mg-room" />
        <Button size="small" icon={<X size={14} />} keys="Escape" onClick={onClose}>
          Cancel
        </Button>
        <Button size="small" variant="primary" keys="mod+Enter" busy={apply.isPending} disabled={!ready} title={why(may, merge, decided)} onClick={submit}>
          Apply
        </Button>
      </header>
      {apply.error && <Failure what="Not merged" error={apply.error} kept="Your decisions stay where their text is still the same." />}
      <div className="mg-body" tabIndex={0} role="region" aria-label="Merged text">
        {!merge.is_changed && <p className="mg-same muted">This draft has everything that {merge.source} says. There is nothing to merge.</p>}
        <Body merge={merge} names={{ mine: `This draft, ${draft.name}`, theirs: capital(merge.source) }} choices={choices} choose={choose} />
      </div>
    </>
  );
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

function summary(merge: Merge, decided: number): string {
  const count = merge.conflicts.length;
  if (!merge.is_changed) return "";
  if (count === 0) return "no conflicts";
  return `${decided} of ${count} decided`;
}

function why(may: boolean, merge: Merge, decided: number): string | undefined {
  if (!may) return "Merging needs the role member";
  return decided < merge.conflicts.length ? "Decide every conflict first" : undefined;
}

interface BodyProps {
  merge: Merge;
  names: Names;
  choices: Choices;
  choose: (id: string, choice: MergeChoice) => void;
}

function Body({ merge, names, choices, choose }: BodyProps) {
  const box = (id: string) => {
    const conflict = merge.conflicts.find((one) => one.id === id)!;
    return <ConflictBox key={id} conflict={conflict} messages={merge.messages} names={names} choice={choices[id]} onChoose={(choice) => choose(id, choice)} />;
  };
  const order = merge.conflicts.find(({ kind }) => kind === "order");
  return (
    <>
      {order && box(order.id)}
      {merge.settings.length > 0 && <Settings merge={merge} box={box} />}
      {merge.type === "text" && merge.is_changed && (
        <section className="mg-message" aria-label="Text">
          <Stretches content={merge.text} box={box} />
        </section>
      )}
      {merge.is_changed && merge.messages.map((message, index) => <Message key={index} message={message} box={box} />)}
      {merge.removed.map((message, index) => (
        <section key={index} className="mg-message" aria-label={`${message.role}, removed`}>
          <header>
            <span className="rv-role">{message.role}</span>
            <Badge tone="error">removed there</Badge>
          </header>
          <p className="mg-text">
            <del>{message.content.map(({ text }) => text).join("")}</del>
          </p>
        </section>
      ))}
    </>
  );
}

type Box = (id: string) => React.ReactNode;

function Message({ message, box }: { message: Merge["messages"][number]; box: Box }) {
  const note = { same: null, edited: null, inserted: "added there", conflict: "edited and removed" }[message.state];
  return (
    <section className="mg-message" aria-label={`${message.role}, ${message.state}`}>
      <header>
        <span className="rv-role">{message.role}</span>
        {note && <Badge tone={message.state === "conflict" ? "warning" : "success"}>{note}</Badge>}
      </header>
      {message.conflict ? box(message.conflict) : <Stretches content={message.content} box={box} />}
    </section>
  );
}

/** Around what changed so much of the text is shown; the rest on demand. */
const LONG = 700;
const AROUND = 240;

function Stretches({ content, box }: { content: Merge["text"]; box: Box }) {
  return (
    <div className="mg-text">
      {content.map((stretch, index) => (
        <Stretch key={index} stretch={stretch} box={box} />
      ))}
    </div>
  );
}

function Stretch({ stretch, box }: { stretch: Merge["text"][number]; box: Box }) {
  const [open, setOpen] = useState(false);
  if (stretch.conflict) return box(stretch.conflict);
  if (stretch.kind === "mine" || stretch.kind === "both") return <span className="mg-mine">{stretch.text}</span>;
  if (stretch.kind === "theirs") {
    return diffWords(stretch.mine, stretch.theirs).map(({ kind, text }, index) => (kind === "same" ? text : kind === "add" ? <ins key={index}>{text}</ins> : <del key={index}>{text}</del>));
  }
  if (open || stretch.text.length < LONG) return stretch.text;
  return (
    <>
      {stretch.text.slice(0, AROUND)}
      <button type="button" className="mg-more" onClick={() => setOpen(true)}>
        {(stretch.text.length - 2 * AROUND).toLocaleString("en-US")} unchanged characters
      </button>
      {stretch.text.slice(-AROUND)}
    </>
  );
}

const shown = (value: unknown): string => (value === null || value === undefined ? "—" : typeof value === "string" ? value : JSON.stringify(value));

function Settings({ merge, box }: { merge: Merge; box: Box }) {
  return (
    <dl className="mg-settings">
      {merge.settings.map((setting) => (
        <div key={setting.path}>
          <dt>{setting.path}</dt>
          <dd>
            {setting.conflict ? (
              box(setting.conflict)
            ) : setting.kind === "theirs" ? (
              <>
                <del>{shown(setting.mine)}</del> <ins>{shown(setting.theirs)}</ins>
              </>
            ) : (
              <span className="mg-mine">{shown(setting.mine)}</span>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

