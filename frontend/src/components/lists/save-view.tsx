import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Input } from "@/components/field";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { api, inProject, messageOf } from "@/lib/api/client";
import type { SavedView } from "@/lib/api/types";

import type { ListPage } from "./list-tabs";

/** Names the filters, range and columns of a list. */
export default function SaveView({ page, search, onClose }: { page: ListPage; search: string; onClose: () => void }) {
  const { slug } = useProject();
  const queries = useQueryClient();
  const mayShare = useMay("member");
  const [name, setName] = useState("");
  const [shared, setShared] = useState(false);
  const save = useMutation({
    mutationFn: () => api.post<SavedView>(inProject(slug, "views"), { page, name: name.trim(), search, shared }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["project", slug, "views", page] });
      announce("View saved");
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim()) save.mutate();
  };
  return (
    <Dialog title="Save this view" description="Filters, range and columns under a name." onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="Name" error={save.error ? messageOf(save.error) : null}>
          <Input value={name} maxLength={100} autoFocus onChange={(event) => setName(event.target.value)} />
        </Field>
        {mayShare && (
          <label className="check">
            <input type="checkbox" checked={shared} onChange={(event) => setShared(event.target.checked)} /> Everybody in the project sees it
          </label>
        )}
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={save.isPending} disabled={!name.trim()}>
            Save view
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
