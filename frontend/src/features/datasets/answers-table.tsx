import "@/components/table.css";

import type { UseInfiniteQueryResult, InfiniteData } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { Button } from "@/components/button";
import { Failure, Skeleton } from "@/components/states";
import type { Execution, Page } from "@/lib/api/types";

import { Answer, Text } from "./executions";

export interface AnswersRow {
  key: string;
  input: unknown;
  expected: unknown;
  /** One list a column; an empty one was not run. */
  answers: Execution[][];
}

interface TableProps<Item> {
  label: string;
  query: UseInfiniteQueryResult<InfiniteData<Page<Item>>>;
  /** What is told when it fails. */
  failure: string;
  more: string;
  columns: { id: string; head: ReactNode }[];
  rowOf: (item: Item) => AnswersRow;
}

/** Items with what was expected and what was answered, page by page. */
export function AnswersTable<Item>({ label, query, failure, more, columns, rowOf }: TableProps<Item>) {
  const rows = (query.data?.pages ?? []).flatMap((page) => page.data.map(rowOf));
  if (query.isPending) return <Skeleton rows={8} height={72} />;
  if (query.isError && rows.length === 0) return <Failure what={failure} error={query.error} retry={() => void query.refetch()} />;
  return (
    <div className="table-scroll ds-scroll" tabIndex={0} role="region" aria-label={label}>
      <table className="table ds-compare">
        <thead>
          <tr>
            <th scope="col">Input</th>
            <th scope="col">Expected output</th>
            {columns.map(({ id, head }) => (
              <th key={id} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={row.key} row={row} />
          ))}
        </tbody>
      </table>
      {query.hasNextPage && (
        <div className="ds-more">
          <Button busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {more}
          </Button>
        </div>
      )}
    </div>
  );
}

function Row({ row }: { row: AnswersRow }) {
  return (
    <tr>
      <td>
        <Text value={row.input} />
      </td>
      <td>
        <Text value={row.expected} />
      </td>
      {row.answers.map((executions, column) => (
        <td key={column}>
          {executions.length === 0 && <span className="faint">not run</span>}
          {executions.map((one) => (
            <Answer key={`${one.trace_id}${one.observation_id ?? ""}`} execution={one} />
          ))}
        </td>
      ))}
    </tr>
  );
}
