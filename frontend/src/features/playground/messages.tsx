import { Plus, Trash2 } from "lucide-react";

import { Button, IconButton } from "@/components/button";
import { Select } from "@/components/field";
import { JsonTree } from "@/components/json-tree";
import { Includes, PromptArea } from "@/components/prompt-area";

import { keyed, type DraftMessage } from "./draft";

const ROLES = ["system", "user", "assistant"];

interface MessagesProps {
  messages: DraftMessage[];
  onChange: (messages: DraftMessage[]) => void;
}

export function Messages({ messages, onChange }: MessagesProps) {
  const change = (key: number, changes: Partial<DraftMessage>) => onChange(messages.map((m) => (m.key === key ? { ...m, ...changes } : m)));
  const add = () => onChange([...messages, keyed({ role: messages.at(-1)?.role === "user" ? "assistant" : "user", content: "" })]);
  return (
    <div className="messages">
      {messages.map((message, index) => (
        <section key={message.key} className="message" aria-label={`Message ${index + 1}`}>
          <header>
            <Select aria-label={`Role of message ${index + 1}`} value={message.role} onChange={(event) => change(message.key, { role: event.target.value })}>
              {[...new Set([...ROLES, message.role])].map((role) => (
                <option key={role}>{role}</option>
              ))}
            </Select>
            <IconButton label={`Remove message ${index + 1}`} icon={<Trash2 size={14} />} disabled={messages.length === 1} onClick={() => onChange(messages.filter((m) => m.key !== message.key))} />
          </header>
          {message.rest && <Rest rest={message.rest} />}
          <PromptArea aria-label={`Text of message ${index + 1}`} placeholder="Write the message; {{name}} makes a variable" value={message.content} onChange={(event) => change(message.key, { content: event.target.value })} />
          <Includes text={message.content} />
        </section>
      ))}
      <Button variant="quiet" size="small" className="message-add" icon={<Plus size={14} />} onClick={add}>
        Add message
      </Button>
    </div>
  );
}

/** What is sent along with the text: which tools were called, or which call this answers. */
function Rest({ rest }: { rest: Record<string, unknown> }) {
  return (
    <div className="message-rest">
      <JsonTree value={rest} open={1} />
    </div>
  );
}
