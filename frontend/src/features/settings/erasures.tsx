import { useQuery } from "@tanstack/react-query";
import { Eraser } from "lucide-react";
import { lazy, Suspense, useState } from "react";

import { Button } from "@/components/button";
import { Progress } from "@/components/progress";
import { Loaded } from "@/components/states";
import { Ago } from "@/components/time";
import { useNow } from "@/hooks/use-now";
import { useProject } from "@/hooks/use-project";

import { isOpen, outcomeOf, paceOf, shareOf, whatOf } from "./erasing";
import { erasuresQuery, type Erasure } from "./retention-api";
import { SectionHead } from "./section-head";

const EraseDialog = lazy(() => import("./erase-dialog"));

/** What was erased or is being erased, the newest first. */
export function Erasures() {
  const { slug } = useProject();
  const query = useQuery(erasuresQuery(slug));
  const [asking, setAsking] = useState(false);
  return (
    <section className="section">
      <SectionHead
        title="Erasing"
        text="Everything of one user, or all traces, taken out for good. It runs beside everything else, goes on where it was when a worker or the database dies, and says here when it is done."
        action={
          <Button variant="danger" icon={<Eraser size={15} />} onClick={() => setAsking(true)}>
            Erase…
          </Button>
        }
      />
      <Loaded query={query} what="The erasures">
        {(rows) => (rows.length === 0 ? <p className="settings-none muted">Nothing was erased so far.</p> : <Table rows={rows} />)}
      </Loaded>
      <Suspense>{asking && <EraseDialog onClose={() => setAsking(false)} />}</Suspense>
    </section>
  );
}

function Table({ rows }: { rows: Erasure[] }) {
  return (
    <div className="table-scroll settings-table" tabIndex={0} role="group" aria-label="Erasures">
      <table className="table">
        <thead>
          <tr>
            <th>What</th>
            <th>How far</th>
            <th>Asked for by</th>
            <th>When</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <td className="settings-name">{whatOf(row)}</td>
              <td className="erasure-state">{isOpen(row) ? <Pace erasure={row} /> : outcomeOf(row)}</td>
              <td>{row.author}</td>
              <td>
                <Ago at={row.done_at ?? row.created_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Pace({ erasure }: { erasure: Erasure }) {
  const now = useNow(1000);
  const percent = Math.round(100 * shareOf(erasure));
  return (
    <>
      <span>{paceOf(erasure, now)}</span>
      <Progress done={percent} failed={0} total={100} label={`${whatOf(erasure)}: ${percent} % erased`} />
    </>
  );
}
