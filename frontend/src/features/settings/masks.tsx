import "./intake.css";

import { useQuery } from "@tanstack/react-query";
import { EyeOff, Pencil, Plus, Trash2 } from "lucide-react";
import { lazy, Suspense, useState } from "react";

import { Button, IconButton } from "@/components/button";
import { RoleNote } from "@/components/role-note";
import { Empty, Loaded } from "@/components/states";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";

import { masksQuery, useDeleteMask, useSaveMask, type Mask } from "./intake-api";
import { SectionHead } from "./section-head";

const Confirm = lazy(() => import("@/components/confirm"));
const MaskDialog = lazy(() => import("./mask-dialog"));

type Open = { what: "form"; mask: Mask | null } | { what: "delete"; mask: Mask } | null;

/** What is taken out of everything that comes in, before it is stored. */
export function Masks() {
  const { slug } = useProject();
  const may = useMay("admin");
  const query = useQuery({ ...masksQuery(slug), enabled: may });
  const [open, setOpen] = useState<Open>(null);
  const create = () => setOpen({ what: "form", mask: null });
  useHotkey("n", "New mask", create, { enabled: may });
  return (
    <section className="section">
      <SectionHead
        title="Masks"
        text="What a mask finds is replaced before anything is stored or shown: in inputs and outputs, names, metadata, attributes, users and sessions. It cannot be brought back, and what is stored already stays as it is."
        action={
          may && (
            <Button variant="primary" icon={<Plus size={15} />} keys="n" onClick={create}>
              New mask
            </Button>
          )
        }
      />
      {!may && <RoleNote needs="admin" what="Seeing and changing masks" />}
      {may && (
        <Loaded query={query} what="The masks">
          {(masks) =>
            masks.length === 0 ? (
              <Empty icon={<EyeOff size={24} />} title="Nothing is masked">
                <p>A mask is a pattern, such as one of keys or card numbers, and what takes its place.</p>
              </Empty>
            ) : (
              <MaskTable masks={masks} onEdit={(mask) => setOpen({ what: "form", mask })} onDelete={(mask) => setOpen({ what: "delete", mask })} />
            )
          }
        </Loaded>
      )}
      <Suspense>
        {open?.what === "form" && <MaskDialog mask={open.mask} onClose={() => setOpen(null)} />}
        {open?.what === "delete" && <DeleteMask mask={open.mask} onClose={() => setOpen(null)} />}
      </Suspense>
    </section>
  );
}

interface TableProps {
  masks: Mask[];
  onEdit: (mask: Mask) => void;
  onDelete: (mask: Mask) => void;
}

function MaskTable({ masks, onEdit, onDelete }: TableProps) {
  return (
    <div className="table-scroll settings-table" tabIndex={0} role="group" aria-label="Masks">
      <table className="table">
        <thead>
          <tr>
            <th>Name</th>
            <th>Pattern</th>
            <th>Replaced by</th>
            <th>In force</th>
            <th>
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {masks.map((mask) => (
            <tr key={mask.id} data-off={!mask.is_enabled}>
              <td className="settings-name" title={`Set by ${mask.author}`}>
                {mask.name}
              </td>
              <td>
                <code className="intake-pattern">{mask.pattern}</code>
              </td>
              <td>
                <code>{mask.replacement || "nothing"}</code>
              </td>
              <td>
                <InForce mask={mask} />
              </td>
              <td className="num intake-actions">
                <IconButton label={`Edit ${mask.name}`} icon={<Pencil size={14} />} onClick={() => onEdit(mask)} />
                <IconButton label={`Delete ${mask.name}`} icon={<Trash2 size={14} />} onClick={() => onDelete(mask)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function InForce({ mask }: { mask: Mask }) {
  const save = useSaveMask(mask.id);
  const [asked, setAsked] = useState<boolean | null>(null);
  const shown = asked ?? mask.is_enabled;
  const change = (is_enabled: boolean) => {
    setAsked(is_enabled);
    save.mutate(
      { is_enabled },
      {
        onSuccess: () => announce(`${mask.name} is ${is_enabled ? "in force" : "switched off"}`),
        onError: (error) => announce(`Not changed: ${messageOf(error)}`, "error"),
        onSettled: () => setAsked(null),
      },
    );
  };
  return (
    <label className="check">
      <input type="checkbox" aria-label={`${mask.name} is in force`} checked={shown} onChange={(event) => change(event.target.checked)} /> {shown ? "On" : "Off"}
    </label>
  );
}

function DeleteMask({ mask, onClose }: { mask: Mask; onClose: () => void }) {
  const remove = useDeleteMask();
  const confirmed = () =>
    remove.mutate(mask.id, {
      onSuccess: () => announce(`${mask.name} is deleted`),
      onError: (error) => announce(`Not deleted: ${messageOf(error)}`, "error"),
      onSettled: onClose,
    });
  return <Confirm title={`Delete ${mask.name}?`} description="What it finds is stored as it is from now on. What it masked stays masked." action="Delete mask" busy={remove.isPending} onConfirm={confirmed} onClose={onClose} />;
}
