import "./intake.css";

import { useQuery } from "@tanstack/react-query";
import { EyeOff } from "lucide-react";
import { lazy, useState } from "react";

import { RoleNote } from "@/components/role-note";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";

import { masksQuery, useDeleteMask, useSaveMask, type Mask } from "./intake-api";
import { NameCell, RowActions, RowsSection, RowsTable, type Open } from "./rows-section";

const MaskDialog = lazy(() => import("./mask-dialog"));

type Form = { mask: Mask | null };

/** What is taken out of everything that comes in, before it is stored. */
export function Masks() {
  const { slug } = useProject();
  const may = useMay("admin");
  const sees = useMay("member");
  return (
    <RowsSection<Mask, Form>
      title="Masks"
      text="What a mask finds is replaced before anything is stored or shown: in inputs and outputs, names, metadata, attributes, users and sessions, in scores and comments. It cannot be brought back, and what is stored already stays as it is."
      noun="mask"
      may={may}
      isShown={sees}
      query={useQuery({ ...masksQuery(slug), enabled: sees })}
      empty={{ icon: <EyeOff size={24} />, title: "Nothing is masked", text: "A mask is a pattern, such as one of keys or card numbers, and what takes its place." }}
      blank={() => ({ mask: null })}
      table={(masks, open) => <MaskTable masks={masks} open={may ? open : undefined} />}
      form={({ mask }, close) => <MaskDialog mask={mask} onClose={close} />}
      afterwards="What it finds is stored as it is from now on. What it masked stays masked."
      remove={useDeleteMask()}
    >
      {() => !may && <RoleNote needs={sees ? "admin" : "member"} what={sees ? "Changing masks" : "Seeing the masks"} />}
    </RowsSection>
  );
}

/** Without `open` it is only looked at. */
function MaskTable({ masks, open }: { masks: Mask[]; open?: (what: Open<Mask, Form>) => void }) {
  return (
    <RowsTable
      label="Masks"
      may={open !== undefined}
      heads={
        <>
          <th>Pattern</th>
          <th>Replaced by</th>
          <th>In force</th>
        </>
      }
    >
      {masks.map((mask) => (
        <tr key={mask.id} data-off={!mask.is_enabled}>
          <NameCell row={mask} />
          <td>
            <code className="intake-pattern">{mask.pattern}</code>
          </td>
          <td>
            <code>{mask.replacement || "nothing"}</code>
          </td>
          <td>{open ? <InForce mask={mask} /> : mask.is_enabled ? "On" : "Off"}</td>
          {open && <RowActions name={mask.name} onEdit={() => open({ form: { mask } })} onDelete={() => open({ deleted: mask })} />}
        </tr>
      ))}
    </RowsTable>
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
