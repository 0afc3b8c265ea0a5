import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Input } from "@/components/field";
import { useProject } from "@/hooks/use-project";
import { api, inProject, messageOf } from "@/lib/api/client";
import { promptsQuery } from "@/lib/api/queries";
import type { PromptVersion } from "@/lib/api/types";
import { announce } from "@/lib/announce";

import { numbersOf, plain, type Draft } from "./draft";
import { structureOf } from "./structure";

interface SaveProps {
  draft: Draft;
  onClose: () => void;
}

/** Saves what is here, with the first column's settings, as the next version of a prompt or as a new one. */
export default function SaveDialog({ draft, onClose }: SaveProps) {
  const { slug } = useProject();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [name, setName] = useState(draft.source?.name ?? "");
  const [message, setMessage] = useState("");
  const prompts = useQuery(promptsQuery(slug)).data ?? [];
  const existing = prompts.find((prompt) => prompt.name === name.trim());

  const save = useMutation({
    mutationFn: () => store(slug, draft, { name: name.trim(), exists: existing !== undefined, type: existing?.type, message }),
    onSuccess: async (version) => {
      await queries.invalidateQueries({ queryKey: ["project", slug, "prompts"] });
      announce(`Saved ${name.trim()} v${version}`);
      onClose();
      go(`/p/${slug}/playground?${new URLSearchParams({ prompt: name.trim(), version: String(version) })}`);
    },
  });
  return (
    <Dialog title={existing ? "Save as a new version" : "Save as a prompt"} onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Field label="Name" hint={existing ? `Becomes version ${existing.latest_version + 1}` : "A slash makes a folder: support/summary"} error={save.error ? messageOf(save.error) : null}>
          <Input value={name} required autoFocus={!draft.source} list="prompt-names" onChange={(event) => setName(event.target.value)} />
        </Field>
        <datalist id="prompt-names">
          {prompts.map((prompt) => (
            <option key={prompt.name} value={prompt.name} />
          ))}
        </datalist>
        <Field label="What changed" hint="Helps whoever reads the versions later">
          <Input value={message} autoFocus={draft.source !== null} onChange={(event) => setMessage(event.target.value)} />
        </Field>
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={save.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface Target {
  name: string;
  exists: boolean;
  type?: "text" | "chat";
  message: string;
}

async function store(project: string, draft: Draft, { name, exists, type = "chat", message }: Target): Promise<number> {
  const { model, parameters } = draft.columns[0]!;
  const config = { ...(model && { model }), ...numbersOf(parameters), ...structureOf(draft).request };
  const messages = plain(draft.messages);
  const prompt = type === "text" && messages.length === 1 ? messages[0]!.content : messages;
  const body = { prompt, config, message };
  if (exists) return (await api.post<PromptVersion>(inProject(project, "prompts", name, "versions"), body)).version;
  await api.post(inProject(project, "prompts"), { ...body, name, type, labels: [], tags: [] });
  return 1;
}
