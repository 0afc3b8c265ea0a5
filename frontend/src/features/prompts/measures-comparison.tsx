import { useQuery } from "@tanstack/react-query";

import { Select } from "@/components/field";
import { Loaded, Skeleton } from "@/components/states";
import { useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import type { PromptCompared } from "@/lib/api/types";

import { formatP, measureOf, signed, testOf, usualPair, verdictOf } from "./measures";
import { comparisonQuery } from "./measures-api";
import type { Workspace } from "./use-workspace";

interface ComparisonProps {
  name: string;
  work: Workspace;
  days: number;
  /** Versions with calls. */
  called: number[];
}

/** Two versions, measure by measure, with what chance alone would explain. */
export function Comparison({ name, work, days, called }: ComparisonProps) {
  const { slug } = useProject();
  const [params, change] = useUrl();
  const production = work.versions.find((v) => v.labels.includes("production"))?.version;
  const usual = usualPair(called, production)!;
  const asked = [Number(params.get("ma")), Number(params.get("mb"))].map((n, i) => (called.includes(n) ? n : usual[i]!)) as [number, number];
  const [a, b] = asked[0] === asked[1] ? usual : asked;
  const query = useQuery(comparisonQuery(slug, name, days, a, b));
  const choose = (side: "ma" | "mb", label: string, value: number, other: number) => (
    <Select aria-label={label} value={String(value)} onChange={(event) => change({ [side]: event.target.value })}>
      {called.map((version) => (
        <option key={version} value={version} disabled={version === other}>
          Version {version}
        </option>
      ))}
    </Select>
  );
  return (
    <section className="pm-compare" aria-label="Two versions compared">
      <div className="pm-compare-head">
        <h3>Compare</h3>
        {choose("ma", "From version", a, b)}
        <span className="faint">with</span>
        {choose("mb", "To version", b, a)}
      </div>
      <Loaded query={query} what="The comparison" skeleton={<Skeleton rows={6} height={28} />}>
        {({ rows }) => <Rows rows={rows} a={a} b={b} />}
      </Loaded>
    </section>
  );
}

function Rows({ rows, a, b }: { rows: PromptCompared[]; a: number; b: number }) {
  const tested = rows.filter((row) => row.test).length;
  return (
    <>
      <div className="pm-table-frame" tabIndex={0} role="region" aria-label="Table of the comparison">
        <table className="pm-table">
          <thead>
            <tr>
              <th scope="col">Measure</th>
              <th scope="col" className="num">v{a}</th>
              <th scope="col" className="num">v{b}</th>
              <th scope="col" className="num">Difference, 95 %</th>
              <th scope="col" className="num">p</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.measure} row={row} />
            ))}
          </tbody>
        </table>
      </div>
      <p className="pm-note faint">
        p is adjusted for {tested} tests at once (Holm); each row names its test on hover. Users were dealt at random only where a label is split: between other versions, time and traffic differ, too.
      </p>
    </>
  );
}

function Row({ row }: { row: PromptCompared }) {
  const { title, format } = measureOf(row);
  const { test } = row;
  const verdict = verdictOf(row);
  return (
    <tr data-verdict={verdict}>
      <th scope="row">{title}</th>
      <td className="num" title={`n = ${row.n_a.toLocaleString("en-US")}`}>{format(row.a)}</td>
      <td className="num" title={`n = ${row.n_b.toLocaleString("en-US")}`}>{format(row.b)}</td>
      <td className="num">
        {test ? (
          <>
            {signed(format, test.difference)} <span className="faint">{`${signed(format, test.low)} … ${signed(format, test.high)}`.replace(" points …", " …")}</span>
          </>
        ) : (
          <span className="faint" title="A side has too few values to tell">—</span>
        )}
      </td>
      <td className="num" title={test ? `${testOf(test.name)}; p = ${test.p.toPrecision(3)} before the adjustment` : undefined}>
        {row.p_adjusted === null ? "—" : formatP(row.p_adjusted)}
      </td>
    </tr>
  );
}
