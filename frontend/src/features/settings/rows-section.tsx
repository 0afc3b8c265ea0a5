import type { UseQueryResult } from "@tanstack/react-query";
import { Pencil, Plus, Trash2 } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";

import { Button, IconButton } from "@/components/button";
import { Empty, Loaded } from "@/components/states";
import { useHotkey } from "@/hooks/use-hotkey";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";

import { SectionHead } from "./section-head";

const Confirm = lazy(() => import("@/components/confirm"));

interface Named {
  id: string;
  name: string;
}

/** What is open over the list: the form of a row or of a new one, or the question whether a row may go. */
export type Open<Row, Form> = { form: Form } | { deleted: Row } | null;

interface SectionProps<Row extends Named, Form> {
  title: string;
  text: string;
  /** What one row is called: "mask". */
  noun: string;
  may: boolean;
  query: UseQueryResult<Row[]>;
  empty: { icon: ReactNode; title: string; text: string };
  /** The form of a new row. */
  blank: () => Form;
  table: (rows: Row[], open: (what: Open<Row, Form>) => void) => ReactNode;
  form: (form: Form, close: () => void) => ReactNode;
  /** What deleting takes and leaves. */
  afterwards: string;
  remove: { mutate: (id: string, options: { onSuccess: () => void; onError: (error: Error) => void; onSettled: () => void }) => void; isPending: boolean };
  /** Between the head and the list; it may open the form too. */
  children?: (open: (what: Open<Row, Form>) => void) => ReactNode;
  /** False where the list may not even be seen. */
  isShown?: boolean;
}

/** A list of a project's settings of one sort, with its head, its form and the question before one is deleted. */
export function RowsSection<Row extends Named, Form>(props: SectionProps<Row, Form>) {
  const { noun, may, isShown = true, empty, remove } = props;
  const [open, setOpen] = useState<Open<Row, Form>>(null);
  const close = () => setOpen(null);
  const create = () => setOpen({ form: props.blank() });
  useHotkey("n", `New ${noun}`, create, { enabled: may });
  const deleted = (row: Row) =>
    remove.mutate(row.id, {
      onSuccess: () => announce(`${row.name} is deleted`),
      onError: (error) => announce(`Not deleted: ${messageOf(error)}`, "error"),
      onSettled: close,
    });
  const action = may && (
    <Button variant="primary" icon={<Plus size={15} />} keys="n" onClick={create}>
      New {noun}
    </Button>
  );
  return (
    <section className="section">
      <SectionHead title={props.title} text={props.text} action={action} />
      {props.children?.(setOpen)}
      {isShown && (
        <Loaded query={props.query} what={`The ${noun}s`}>
          {(rows) =>
            rows.length > 0 ? (
              props.table(rows, setOpen)
            ) : (
              <Empty icon={empty.icon} title={empty.title}>
                <p>{empty.text}</p>
              </Empty>
            )
          }
        </Loaded>
      )}
      <Suspense>
        {open && "form" in open && props.form(open.form, close)}
        {open && "deleted" in open && (
          <Confirm title={`Delete ${open.deleted.name}?`} description={props.afterwards} action={`Delete ${noun}`} busy={remove.isPending} onConfirm={() => deleted(open.deleted)} onClose={close} />
        )}
      </Suspense>
    </section>
  );
}

interface TableProps {
  label: string;
  /** The heads of the columns after the name's. */
  heads: ReactNode;
  /** Whether the rows end with buttons. */
  may: boolean;
  children: ReactNode;
}

/** The table of such a list; its rows begin with `NameCell` and end with `RowActions` where one may change them. */
export function RowsTable({ label, heads, may, children }: TableProps) {
  return (
    <div className="table-scroll settings-table" tabIndex={0} role="group" aria-label={label}>
      <table className="table">
        <thead>
          <tr>
            <th>Name</th>
            {heads}
            {may && (
              <th>
                <span className="sr-only">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

export function NameCell({ row }: { row: { name: string; author: string } }) {
  return (
    <td className="settings-name" title={`Set by ${row.author}`}>
      {row.name}
    </td>
  );
}

export function RowActions({ name, onEdit, onDelete }: { name: string; onEdit: () => void; onDelete: () => void }) {
  return (
    <td className="num intake-actions">
      <IconButton label={`Edit ${name}`} icon={<Pencil size={14} />} onClick={onEdit} />
      <IconButton label={`Delete ${name}`} icon={<Trash2 size={14} />} onClick={onDelete} />
    </td>
  );
}
