import "./retention.css";

import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Field, Input } from "@/components/field";
import { RoleNote } from "@/components/role-note";
import { Loaded } from "@/components/states";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import { plural } from "@/lib/format";

import { dayOf, daysOf, firstGoes } from "./erasing";
import { Erasures } from "./erasures";
import { olderQuery, retentionQuery, useSetRetention, type Older, type Retention as Kept } from "./retention-api";
import { SectionHead } from "./section-head";

const Confirm = lazy(() => import("@/components/confirm"));

/** For how long the project keeps its traces, and what is being erased. */
export default function Retention() {
  const { slug } = useProject();
  const may = useMay("admin");
  const query = useQuery({ ...retentionQuery(slug), enabled: may });
  return (
    <>
      <section className="section">
        <SectionHead
          title="Retention"
          text="A trace goes when its newest observation is older than the project keeps it: with inputs and outputs, scores, comments, files, search words and figures. It cannot be brought back. Prompts, datasets and the items made from traces stay."
        />
        {may ? (
          <Loaded query={query} what="The retention">
            {(kept) => <Days key={String(kept.days)} kept={kept} />}
          </Loaded>
        ) : (
          <RoleNote needs="admin" what="Seeing and changing this" />
        )}
      </section>
      {may && <Erasures />}
    </>
  );
}

function Days({ kept }: { kept: Kept }) {
  const { typed, setTyped, asking, problem, days, older, ready, submit, put, busy, stop } = useDays(kept);
  return (
    <form className="retention" onSubmit={submit}>
      <Field label="Keep traces for" error={problem} hint="Days; empty keeps them for ever">
        <Input className="num" inputMode="numeric" placeholder="for ever" maxLength={6} value={typed} onChange={(event) => setTyped(event.target.value)} />
      </Field>
      <Button variant="primary" type="submit" busy={busy} disabled={!ready}>
        Save
      </Button>
      <p className="retention-effect" aria-live="polite">
        {problem === null && <Effect kept={kept} days={days} older={older} />}
      </p>
      {kept.server_days !== null && <p className="muted">This server keeps nothing longer than {plural(kept.server_days, "day")}, whatever is set here.</p>}
      <Suspense>
        {asking && older && (
          <Confirm
            title={`Erase ${countOf(older)} now?`}
            description={`All from before ${dayOf(older.before)} (UTC) goes, ${plural(older.observation_count, "observation")} with all that belongs to it, and cannot be brought back. From then on what becomes older than ${plural(older.days, "day")} goes each night.`}
            action="Erase and keep it so"
            busy={busy}
            onConfirm={put}
            onClose={stop}
          />
        )}
      </Suspense>
    </form>
  );
}

/** What is typed, what it would erase, and how it is saved: with a question where something would go at once. */
function useDays(kept: Kept) {
  const { slug } = useProject();
  const [typed, setTyped] = useState(kept.days === null ? "" : String(kept.days));
  const [asking, setAsking] = useState(false);
  const { days, problem } = daysOf(typed, kept.most_days);
  const found = useQuery(olderQuery(slug, days)).data;
  const older = found?.days === days ? found : undefined;
  const save = useSetRetention();
  const stop = () => setAsking(false);
  const put = () =>
    save.mutate(days, {
      onSuccess: () => announce(days === null ? "Traces are kept for ever" : `Traces are kept for ${plural(days, "day")}`),
      onError: (error) => announce(`Not changed: ${messageOf(error)}`, "error"),
      onSettled: stop,
    });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (older && older.trace_count > 0) setAsking(true);
    else put();
  };
  const ready = problem === null && days !== kept.days && (days === null || older !== undefined);
  return { typed, setTyped, asking, problem, days, older, ready, submit, put, busy: save.isPending, stop };
}

const countOf = ({ trace_count: count }: Older) => plural(count, "trace");

/** What is erased, and from when on. */
function Effect({ kept, days, older }: { kept: Kept; days: number | null; older: Older | undefined }) {
  if (days === null) return kept.days === null ? "Nothing is erased for its age." : "Saving this: nothing is erased for its age any more.";
  if (!older) return null;
  if (days === kept.days) return `What is older than ${plural(days, "day")} goes each night (UTC). Set by ${kept.author ?? "somebody"}.`;
  if (older.trace_count === 0) return `Saving this erases nothing now. ${older.first_at === null ? "There are no traces yet." : `The first traces go on ${firstGoes(older.first_at, days)}.`}`;
  return (
    <>
      Saving this erases <strong>{countOf(older)}</strong> from before {dayOf(older.before)} (UTC) at once, and each night what has become older than {plural(days, "day")}.
    </>
  );
}
