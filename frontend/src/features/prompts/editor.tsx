import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { useId, useMemo, useRef, useState } from "react";

import { Button, IconButton } from "@/components/button";
import { Select } from "@/components/field";
import { JsonTree } from "@/components/json-tree";
import { DeclaredContext, Includes, PromptArea, PromptText } from "@/components/prompt-area";
import type { Message } from "@/lib/api/types";

import { ConfigForm } from "./config-form";
import { isPlain, moved, nextRole, ROLES, type Content } from "./content";
import { declaredIn } from "./declared";

interface EditorProps {
  content: Content;
  onChange: (content: Content) => void;
  readOnly: boolean;
}

export function Editor({ content, onChange, readOnly }: EditorProps) {
  const declared = useMemo(() => declaredIn(content.inputs), [content.inputs]);
  return (
    <DeclaredContext value={declared}>
      <div className="p-editor">
        <ConfigForm config={content.config} onChange={(config) => onChange({ ...content, config })} readOnly={readOnly} />
        {typeof content.prompt === "string" ? (
          <TextBody text={content.prompt} readOnly={readOnly} onChange={(prompt) => onChange({ ...content, prompt })} />
        ) : (
          <ChatBody messages={content.prompt} readOnly={readOnly} onChange={(prompt) => onChange({ ...content, prompt })} />
        )}
      </div>
    </DeclaredContext>
  );
}

function TextBody({ text, onChange, readOnly }: { text: string; onChange: (text: string) => void; readOnly: boolean }) {
  return (
    <section className="p-message p-message-text" aria-label="Text">
      {readOnly ? <PromptText text={text} /> : <PromptArea aria-label="Text of the prompt" placeholder="Write the prompt. {{name}} is filled in by the caller." value={text} onChange={(event) => onChange(event.target.value)} />}
      {!readOnly && <Includes text={text} />}
    </section>
  );
}

/** Each message keeps its key while others move around it, so that the focus and the undo history stay. */
function useKeysOf(count: number) {
  const prefix = useId();
  const next = useRef(count);
  const [keys, setKeys] = useState(() => Array.from({ length: count }, (_, i) => `${prefix}${i}`));
  const shown = Array.from({ length: count }, (_, i) => keys[i] ?? `${prefix}extra${i}`);
  return {
    keys: shown,
    setKeys,
    fresh: () => `${prefix}${next.current++}`,
  };
}

function ChatBody({ messages, onChange, readOnly }: { messages: Message[]; onChange: (messages: Message[]) => void; readOnly: boolean }) {
  const { keys, setKeys, fresh } = useKeysOf(messages.length);
  const add = () => {
    setKeys([...keys, fresh()]);
    onChange([...messages, { role: nextRole(messages), content: "" }]);
  };
  const move = (from: number, to: number) => {
    setKeys(moved(keys, from, to));
    onChange(moved(messages, from, to));
  };
  const remove = (index: number) => {
    setKeys(keys.filter((_, i) => i !== index));
    onChange(messages.filter((_, i) => i !== index));
  };
  return (
    <>
      {messages.map((message, index) => (
        <MessageEditor
          key={keys[index]}
          message={message}
          place={{ index, count: messages.length }}
          readOnly={readOnly}
          onChange={(next) => onChange(messages.map((m, i) => (i === index ? next : m)))}
          onMove={(to) => move(index, to)}
          onRemove={() => remove(index)}
        />
      ))}
      {!readOnly && (
        <div className="p-message-add">
          <Button variant="quiet" size="small" icon={<Plus size={14} />} onClick={add}>
            Add {nextRole(messages)} message
          </Button>
        </div>
      )}
    </>
  );
}

interface MessageProps {
  message: Message;
  place: { index: number; count: number };
  readOnly: boolean;
  onChange: (message: Message) => void;
  onMove: (to: number) => void;
  onRemove: () => void;
}

function MessageEditor({ message, place: { index, count }, readOnly, onChange, onMove, onRemove }: MessageProps) {
  const label = `${message.role} message, ${index + 1} of ${count}`;
  const roles = ROLES.some((role) => role === message.role) ? ROLES : [...ROLES, message.role];
  if (readOnly || !isPlain(message)) {
    return (
      <section className="p-message" data-role={message.role} aria-label={label}>
        <header>
          <span className="p-message-role">{message.role}</span>
          {!isPlain(message) && <span className="faint">Parts other than text are kept as they are</span>}
        </header>
        {isPlain(message) ? <PromptText text={message.content} /> : <JsonTree value={message} />}
      </section>
    );
  }
  return (
    <section className="p-message" data-role={message.role} aria-label={label}>
      <header>
        <Select aria-label={`Role of message ${index + 1}`} value={message.role} onChange={(event) => onChange({ ...message, role: event.target.value })}>
          {roles.map((role) => (
            <option key={role}>{role}</option>
          ))}
        </Select>
        <span className="p-message-actions">
          <IconButton label={`Move message ${index + 1} up`} icon={<ArrowUp size={14} />} disabled={index === 0} onClick={() => onMove(index - 1)} />
          <IconButton label={`Move message ${index + 1} down`} icon={<ArrowDown size={14} />} disabled={index === count - 1} onClick={() => onMove(index + 1)} />
          <IconButton label={`Remove message ${index + 1}`} icon={<X size={14} />} disabled={count === 1} onClick={onRemove} />
        </span>
      </header>
      <PromptArea aria-label={label} placeholder={PLACEHOLDERS[message.role] ?? "What this message says"} value={message.content} onChange={(event) => onChange({ ...message, content: event.target.value })} />
      <Includes text={message.content} />
    </section>
  );
}

const PLACEHOLDERS: Record<string, string> = {
  system: "What the model is, what it must and must not do",
  user: "What is asked. {{name}} is filled in by the caller.",
  assistant: "An answer as an example",
};
