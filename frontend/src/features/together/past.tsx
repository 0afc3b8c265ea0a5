import { useQuery } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { useMemo } from "react";

import { Button } from "@/components/button";
import { Loaded } from "@/components/states";
import { Ago } from "@/components/time";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { DraftHistory } from "@/lib/api/types";

import { historyQuery, stateQuery, useRestore } from "./api";
import { pastOf, type Past, type Piece } from "./attribution";
import type { Person } from "./room";
import { pointAt, pointsOf } from "./timeline";

type Writers = Map<number, Person>;

interface PastProps {
  draft: string;
  seq: number;
  onLeave: () => void;
}

/** The draft as it was at a number: only to read, each letter in the color of who wrote it. */
export function PastState({ draft, seq, onLeave }: PastProps) {
  const { slug } = useProject();
  const may = useMay("member");
  const history = useQuery(historyQuery(slug, draft));
  const state = useQuery(stateQuery(slug, draft, seq));
  const restore = useRestore(draft);
  const point = history.data && pointAt(pointsOf(history.data), seq);
  useHotkey("Escape", "Back to now", onLeave);
  const back = () =>
    restore.mutate(seq, {
      onSuccess: () => {
        announce("Restored, as an edit of now");
        onLeave();
      },
      onError: (error) => announce(`Not restored: ${messageOf(error)}`, "error"),
    });
  return (
    <>
      <div className="t-past-bar" role="status">
        <strong>An earlier state</strong>
        {point && (
          <span className="muted">
            <Ago at={point.at} />
          </span>
        )}
        <span className="t-past-actions">
          <Button size="small" keys="Escape" onClick={onLeave}>
            Back to now
          </Button>
          {may && (
            <Button size="small" icon={<RotateCcw size={14} />} busy={restore.isPending} onClick={back}>
              Restore
            </Button>
          )}
        </span>
      </div>
      <Loaded query={state} what="That state">
        {(encoded) => <Written state={encoded} history={history.data} />}
      </Loaded>
    </>
  );
}

function Written({ state, history }: { state: string; history: DraftHistory | undefined }) {
  const writers: Writers = useMemo(() => new Map(history?.writers.map(({ client, person }) => [client, person])), [history]);
  const past = useMemo(() => {
    const same = (a: number, b: number) => a === b || (writers.get(a)?.id ?? a) === (writers.get(b)?.id ?? b);
    return pastOf(state, same);
  }, [state, writers]);
  const config = Object.entries(past.config);
  return (
    <div className="t-past">
      <Legend past={past} writers={writers} />
      {past.messages.map(({ role, pieces }, index) => (
        <section key={index} className="t-message" aria-label={past.isChat ? `${role} message, ${index + 1}` : "Text"}>
          {past.isChat && (
            <header>
              <span className="t-role">{role}</span>
            </header>
          )}
          <p className="t-past-text">
            {pieces.map((piece, at) => (
              <Letters key={at} piece={piece} person={writers.get(piece.client)} />
            ))}
          </p>
        </section>
      ))}
      {config.length > 0 && (
        <dl className="t-past-config">
          {config.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd className="mono">{typeof value === "string" ? value : JSON.stringify(value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}

function Letters({ piece, person }: { piece: Piece; person: Person | undefined }) {
  if (!person) return piece.text;
  return (
    <span className="t-wrote" style={{ "--who": person.color } as React.CSSProperties} title={person.name}>
      {piece.text}
    </span>
  );
}

/** Who wrote how much of what is there. */
function Legend({ past, writers }: { past: Past; writers: Writers }) {
  const counts = new Map<string, { person: Person; letters: number }>();
  let letters = 0;
  for (const { client, text } of past.messages.flatMap((message) => message.pieces)) {
    letters += text.length;
    const person = writers.get(client);
    if (!person) continue;
    const known = counts.get(person.id) ?? { person, letters: 0 };
    counts.set(person.id, { person, letters: known.letters + text.length });
  }
  const written = [...counts.values()].sort((a, b) => b.letters - a.letters);
  const rest = letters - written.reduce((sum, entry) => sum + entry.letters, 0);
  return (
    <ul className="t-legend" aria-label="Who wrote it">
      {written.map(({ person, letters: own }) => (
        <li key={person.id}>
          <i style={{ background: person.color }} aria-hidden="true" />
          {person.name} <span className="faint num">{share(own, letters)}</span>
        </li>
      ))}
      {rest > 0 && (
        <li>
          <i aria-hidden="true" />
          Before the draft <span className="faint num">{share(rest, letters)}</span>
        </li>
      )}
    </ul>
  );
}

const share = (part: number, whole: number): string => `${Math.round((100 * part) / whole)}%`;
