import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";

import { Loaded } from "@/components/states";
import { Ago } from "@/components/time";
import { useHotkey } from "@/hooks/use-hotkey";
import { useProject } from "@/hooks/use-project";
import { useUrlValue } from "@/hooks/use-url";
import type { DraftHistory } from "@/lib/api/types";

import { historyQuery } from "./api";
import type { PanelProps } from "./panels";
import { pointAt, pointsOf, seqsOf, type Point } from "./timeline";

const MANY = 40;
const PAUSE_MS = 60;

/** What was kept of the draft: a line to move along, and who wrote when. */
export function HistoryPanel({ draft }: PanelProps) {
  const { slug } = useProject();
  const history = useQuery(historyQuery(slug, draft.id));
  return (
    <section className="t-history" aria-labelledby="t-history">
      <h2 id="t-history" className="sr-only">
        History
      </h2>
      <Loaded query={history} what="The history">
        {(found) => <Timeline history={found} />}
      </Loaded>
    </section>
  );
}

function Timeline({ history }: { history: DraftHistory }) {
  const points = useMemo(() => pointsOf(history), [history]);
  const seqs = useMemo(() => seqsOf(history), [history]);
  const [shown, setShown] = useUrlValue("at");
  const at = shown === null ? null : Number(shown);
  const look = (seq: number | null) => setShown(seq === null || seq >= history.seq ? null : String(seq));
  if (points.length === 0) return <p className="faint">Everything that is written is kept from the first letter on.</p>;
  return (
    <>
      <Scrubber seqs={seqs} points={points} at={at} latest={history.seq} onLook={look} />
      <Moments points={points} at={at} latest={history.seq} onLook={look} />
    </>
  );
}

interface ScrubberProps {
  seqs: readonly number[];
  points: readonly Point[];
  at: number | null;
  latest: number;
  onLook: (seq: number | null) => void;
}

/** A line over everything that can be looked at; the page follows when the hand pauses. */
function Scrubber({ seqs, points, at, latest, onLook }: ScrubberProps) {
  const end = seqs.length - 1;
  const [held, setHeld] = useState<number | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const place = held ?? (at === null ? end : nearest(seqs, at));
  const seq = seqs[place] ?? latest;
  const move = (to: number) => {
    const next = Math.min(end, Math.max(0, to));
    setHeld(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setHeld(null);
      onLook(next === end ? null : (seqs[next] ?? null));
    }, PAUSE_MS);
  };
  useHotkey(",", "Earlier state", () => move(place - 1));
  useHotkey(".", "Later state", () => move(place + 1));
  const point = pointAt(points, seq);
  const said = place === end ? "Now" : `${point ? who(point) : ""}, edit ${seq}`;
  return (
    <div className="t-scrubber">
      <input type="range" aria-label="State of the draft" aria-valuetext={said} min={0} max={end} value={place} onChange={(event) => move(Number(event.target.value))} />
      <p className="t-scrubbed">
        <span>{place === end ? "Now" : point && <Ago at={point.at} />}</span>
        <span className="faint num">
          {place + 1} of {seqs.length}
        </span>
      </p>
    </div>
  );
}

function nearest(seqs: readonly number[], seq: number): number {
  const found = seqs.findIndex((each) => each >= seq);
  return found < 0 ? seqs.length - 1 : found;
}

const who = ({ seq, people, version }: Point): string => {
  if (version !== null) return `Version ${version}`;
  return people.map(({ name }) => name).join(", ") || (seq === 0 ? "The draft begins" : "Edits");
};

function Moments({ points, at, latest, onLook }: { points: readonly Point[]; at: number | null; latest: number; onLook: (seq: number | null) => void }) {
  const [all, setAll] = useState(false);
  const current = at === null ? latest : pointAt(points, at)?.seq;
  const list = points.toReversed();
  return (
    <>
      <ol>
        {(all ? list : list.slice(0, MANY)).map((point) => (
          <li key={point.seq}>
            <button type="button" data-published={point.version !== null} aria-current={point.seq === current || undefined} onClick={() => onLook(point.seq)}>
              <i style={{ background: point.people[0]?.color ?? undefined }} aria-hidden="true" />
              <span className="ellipsis">{who(point)}</span>
              <span className="faint">
                <Ago at={point.at} />
              </span>
            </button>
          </li>
        ))}
      </ol>
      {!all && list.length > MANY && (
        <button type="button" className="t-more" onClick={() => setAll(true)}>
          All {list.length}
        </button>
      )}
    </>
  );
}
