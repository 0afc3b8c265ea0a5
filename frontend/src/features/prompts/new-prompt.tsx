import "./workspace.css";

import { useState } from "react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { Field, Input } from "@/components/field";
import { Page } from "@/components/page";
import { RoleNote } from "@/components/role-note";
import { Segmented } from "@/components/segmented";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { useUrlValue } from "@/hooks/use-url";
import { announce } from "@/lib/announce";
import { ApiError, messageOf } from "@/lib/api/client";
import { promptHref } from "@/lib/api/prompts";

import { useCreatePrompt } from "./api";
import { converted, emptyContent, isBlank, sameContent, type Content } from "./content";
import { Editor } from "./editor";
import { nameProblem } from "./folders";
import { Panes } from "./panes";
import { problemsOf } from "./parameters";
import { Preview } from "./preview";
import { useDraft } from "./use-draft";

const TYPES = [
  { value: "chat", label: "Chat" },
  { value: "text", label: "Text" },
] as const;

/** A prompt that does not exist yet; what is typed is kept like any draft. */
export function NewPrompt({ onClose }: { onClose: () => void }) {
  const { slug } = useProject();
  const may = useMay("member");
  const form = useForm();
  const { content, name, setName, setContent, problem, nameError, create, creating, submit } = form;
  useHotkey("mod+Enter", "Create the prompt", submit, { inFields: true, enabled: may });
  useHotkey("Escape", "Back to the list", onClose);
  const left = (
    <div className="p-editor-pane">
      <div className="new-prompt">
        <Field label="Name" error={nameError} hint="Slashes make folders: support/answer">
          <Input autoFocus maxLength={200} className="mono" value={name} placeholder="support/answer" onChange={(event) => setName(event.target.value)} />
        </Field>
        <Segmented label="Type" options={TYPES} value={content.type} onChange={(type) => setContent(converted(content, type))} />
      </div>
      <Editor key={content.type} content={content} onChange={setContent} readOnly={!may} />
      {may ? (
        <footer className="p-save-bar">
          {create && (
            <p className="field-error" role="alert">
              Not created: {messageOf(create)} Your text is kept.
            </p>
          )}
          <div className="p-save-row">
            <span className="muted p-save-note">{problem}</span>
            <Button onClick={onClose}>Cancel</Button>
            <Button variant="primary" keys="mod+Enter" busy={creating} disabled={problem !== null} onClick={submit}>
              Create prompt
            </Button>
          </div>
        </footer>
      ) : (
        <RoleNote needs="member" what="Writing prompts" />
      )}
    </div>
  );
  return (
    <Page title="New prompt" path={[{ title: "Prompts", href: `/p/${slug}/prompts` }]}>
      <Panes left={left} tabs={[{ id: "preview", label: "Preview", content: <Preview scope={`${slug}. new`} name={name || "new"} content={content} onChange={setContent} /> }]} />
    </Page>
  );
}

function useForm() {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [asked] = useUrlValue("name");
  const { draft, change, discard } = useDraft(slug, null);
  const [name, setName] = useState(asked ?? "");
  const create = useCreatePrompt();
  const content = draft?.content ?? emptyContent("chat");
  const refused = create.error instanceof ApiError && create.error.field === "name" ? create.error.message : null;
  const badName = nameProblem(name.trimEnd());
  const problem = whyNot(name, badName, content);

  const submit = () => {
    if (problem !== null || create.isPending) return;
    create.mutate(
      { name: name.trimEnd(), content, message: "" },
      {
        onSuccess: () => {
          discard();
          announce(`${name.trimEnd()} created`);
          go(promptHref(slug, name.trimEnd()), { replace: true });
        },
      },
    );
  };
  return {
    content,
    name,
    setName: (next: string) => {
      setName(next.trimStart());
      create.reset();
    },
    setContent: (next: Content) => (sameContent(next, emptyContent("chat")) ? discard() : change(next, null, null)),
    problem,
    nameError: badName ?? refused,
    create: refused ? null : create.error,
    creating: create.isPending,
    submit,
  };
}

function whyNot(name: string, badName: string | null, content: Content): string | null {
  if (badName !== null) return "The name needs a change.";
  if (!name) return "It needs a name.";
  if (isBlank(content)) return "It needs some text.";
  const problems = problemsOf(content.config);
  return problems.length > 0 ? `${problems.join("; ")}.` : null;
}
