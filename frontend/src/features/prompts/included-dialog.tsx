import { Archive } from "lucide-react";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Link } from "@/components/link";
import { useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf, type ApiError } from "@/lib/api/client";
import { promptHref } from "@/lib/api/prompts";

import { useArchive } from "./api";

interface IncludedProps {
  name: string;
  error: ApiError;
  /** The label that was to be taken off; without it the prompt was to be deleted. */
  label?: string;
  onClose: () => void;
}

const PROMPT_KEPT = "Without it they could not be given out, so it was not deleted. Archived it leaves the lists, is written to no more, and is still served to them.";
const LABEL_KEPT = "Without the label they would say something else, or could not be given out, so it stays. Move it to another version, or take it out of what includes it first.";

interface Includer {
  name: string;
  versions: number[];
}

/** Why a prompt cannot be deleted or a label taken off: who includes it. Archived a prompt is still served to them. */
export default function IncludedDialog({ name, error, label, onClose }: IncludedProps) {
  const { slug } = useProject();
  const archive = useArchive(name);
  const { included_by: by = [] } = error.told as { included_by?: Includer[] };
  const putAway = () =>
    archive.mutate(true, {
      onSuccess: () => {
        announce(`${name} archived; those who include it still get it`);
        onClose();
      },
      onError: (problem) => announce(`Not archived: ${messageOf(problem)}`, "error"),
    });
  return (
    <Dialog title={`${label ? `${name}@${label}` : name} is included by others`} description={label ? LABEL_KEPT : PROMPT_KEPT} onClose={onClose}>
      <ul className="p-included" aria-label="Included by">
        {by.map(({ name: other, versions }) => (
          <li key={other}>
            <Link className="ellipsis" href={`${promptHref(slug, other)}?v=${versions.at(-1)}`}>
              {other}
            </Link>
            <span className="faint num">{versions.map((number) => `v${number}`).join(", ")}</span>
          </li>
        ))}
      </ul>
      <div className="form-actions">
        <Button onClick={onClose}>Close</Button>
        {!label && (
          <Button variant="primary" icon={<Archive size={14} />} busy={archive.isPending} onClick={putAway}>
            Archive instead
          </Button>
        )}
      </div>
    </Dialog>
  );
}
